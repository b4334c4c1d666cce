"""Runs that need no TensorFlow: an interpreter that is a shell script, a TensorFlow that has names alone."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tfmigrate.verify.run.runtimes import Runtime

Fake = Callable[[str], Runtime]

TENSORFLOW = """
import sys, types

__version__ = '1.15.0'
__path__ = []


def module(name, **names):
    found = sys.modules[name] = types.ModuleType(name)
    vars(found).update(names, __path__=[])
    parent, _, last = name.rpartition('.')
    setattr(sys.modules[parent], last, found)
    return found


def device(name):
    raise RuntimeError("no script here asks for a device")


class Layer(object):
    def __call__(self, x):
        return x


class Model(Layer):
    def _make_train_function(self):
        pass

    def _make_test_function(self):
        pass

    def fit(self, x=None):
        pass


class BaseSession(object):
    def list_devices(self):
        return []


for name in ('compat', 'compat.v1', 'python', 'python.client', 'python.keras', 'python.keras.engine', 'core',
             'core.protobuf', 'core.protobuf.config_pb2', 'core.framework', 'core.framework.device_attributes_pb2'):
    module(__name__ + '.' + name)
keras = module(__name__ + '.keras', __version__='2.2.4-tf', backend=None)
compat.v1.keras = keras
module(__name__ + '.python.client.session', BaseSession=BaseSession)
module(__name__ + '.python.client.device_lib', list_local_devices=lambda: [])
module(__name__ + '.python.keras.engine.training', Model=Model)
module(__name__ + '.python.keras.engine.base_layer', Layer=Layer)
module(__name__ + '.random', set_seed=lambda seed: None)
module(__name__ + '.nn', dropout=lambda x: x)
"""
"""A package that the probe takes for TensorFlow 1.15, and is there in no time."""


def without_tensorflow(folder: Path, before: str = "") -> tuple[Runtime, dict[str, str]]:
    """This interpreter, as one of TensorFlow 1.15 without Keras, and the environment in which it finds it."""
    packages = folder / "packages"
    packages.mkdir()
    (packages / "tensorflow.py").write_text(before + TENSORFLOW)
    (packages / "keras.py").write_text("raise ImportError\n")
    return Runtime(Path(sys.executable), (3, 12, 0), "1.15.0", None), {"PYTHONPATH": str(packages)}


def executable(path: Path, script: str) -> Path:
    """A shell script that can be run."""
    path.write_text(f"#!/bin/sh\n{script}")
    path.chmod(0o755)
    return path


def dead_soon(pid: int) -> bool:
    return wait_for(lambda: not alive(pid), 5)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A zombie whose parent has not looked is dead all the same.
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().split(")")[1][:3] if Path("/proc").exists() else True


def running(name: str) -> list[int]:
    """Processes with this first word on their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if path.read_bytes().startswith(name.encode() + b"\0"):
                found.append(int(path.parent.name))
    return found


def wait_for(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return condition()
