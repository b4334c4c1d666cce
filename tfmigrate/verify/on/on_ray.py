"""Runs as tasks of Ray, each of which asks for as many GPUs, or processors, as it has replicas.

A task that is lost with its node is not tried again by Ray, but by `Elsewhere`, whose report says so.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
from dataclasses import dataclass
from typing import Any

from tfmigrate.errors import UserError
from tfmigrate.verify.on import job
from tfmigrate.verify.on.engine import Lost
from tfmigrate.verify.run.world import World

CANCEL_SECONDS = 30
CONNECT_SECONDS = 10


@dataclass(frozen=True)
class RayTask:
    ray: Any
    reference: Any

    def result(self, seconds: float) -> bytes | None:
        try:
            answer: bytes = self.ray.get(self.reference, timeout=seconds)
        except self.ray.exceptions.GetTimeoutError:
            return None
        except self.ray.exceptions.RayTaskError:
            raise  # a defect of ours, for `job.do` answers what users can mend
        except self.ray.exceptions.RayError as error:
            raise Lost(" ".join(str(error).split())[:200]) from None
        return answer

    def cancel(self) -> None:
        """Raises KeyboardInterrupt in the task, which ends the script, and waits for that."""
        self.ray.cancel(self.reference, force=False)
        self.ray.wait([self.reference], timeout=CANCEL_SECONDS)


def _expect_answer(address: str) -> None:
    """Raises UserError where nobody listens at HOST:PORT: Ray would try for many minutes, and Ctrl-C does not end that
    (Ray 2.60, measured). What has another form is left to Ray."""
    parts = re.fullmatch(r"(?:ray://)?\[?([^/]+?)\]?:(\d+)", address)
    if parts is None:
        return
    try:
        socket.create_connection((parts[1], int(parts[2])), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"--on ray: no Ray cluster answers at {address}: {reason}") from None


class OnRay:
    """A cluster. `address`: of a Ray Client server ("HOST:10001"); without it the cluster that RAY_ADDRESS names or
    that runs on this machine, else one that is started here and ends with us. Raises ModuleNotFoundError where there is
    no Ray, and UserError where nobody answers."""

    def __init__(self, address: str | None) -> None:
        import ray

        self.ray = ray
        _expect_answer(address or os.environ.get("RAY_ADDRESS", ""))
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        handler = signal.getsignal(signal.SIGTERM)
        try:
            ray.init(f"ray://{address}" if address else None, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise UserError(f"--on ray: {' '.join(str(error).split())[:300]}") from None
        finally:
            signal.signal(signal.SIGTERM, handler)  # Ray takes it, and ends without a report
        self.task = ray.remote(job.do)

    @property
    def at_once(self) -> int:
        return max(2, int(sum(node.get("CPU", 0) for node in self._nodes())))

    def submit(self, packed: bytes, world: World) -> RayTask:
        asks = self._asks(world)
        return RayTask(self.ray, self.task.options(max_retries=0, **asks).remote(packed))

    def close(self) -> None:
        self.ray.shutdown()

    def _asks(self, world: World) -> dict[str, float]:
        """No more than the largest node has: several replicas can share a GPU, or a processor."""
        nodes = self._nodes()
        gpus = max((node.get("GPU", 0) for node in nodes), default=0)
        if gpus and world.kind != "genuine":
            return {"num_cpus": 1, "num_gpus": min(world.replicas, gpus)}
        return {"num_cpus": min(world.replicas, max((node.get("CPU", 1) for node in nodes), default=1))}

    def _nodes(self) -> list[dict[str, float]]:
        return [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
