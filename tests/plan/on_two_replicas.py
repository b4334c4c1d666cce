"""Run by test_on_a_strategy.py with TensorFlow: programs from a file of JSON, what became of each on stdout.

All of them share one strategy, because a second one in a process is what TFM414 says fails; a program that is about
that is `alone`: the classes are TensorFlow's own then, and the last strategy that it made is the one for the rest.
Where TF_CONFIG tells that this is one of several workers, the strategy is theirs.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import time
import types
from typing import Any

import numpy as np
import tensorflow as tf

keras = tf.keras
WORKER = json.loads(os.environ["TF_CONFIG"])["task"]["index"] if "TF_CONFIG" in os.environ else None
Mirrored, MultiWorker = tf.distribute.MirroredStrategy, tf.distribute.MultiWorkerMirroredStrategy
made: list[tf.distribute.Strategy] = []
if WORKER is None:
    (CPU, *_) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(CPU, [tf.config.LogicalDeviceConfiguration()] * 2)
else:
    made.append(MultiWorker())
trainings: list[dict[str, Any]] = []
rows = np.random.default_rng(0)


def strategy(own: bool) -> tf.distribute.Strategy:
    if own or not made:
        made.append(Mirrored(["cpu:0", "cpu:1"]))
    return made[-1]


class Stand(type):
    """A class whose calls answer with the strategy at hand; Keras 3 asks what is an instance of it."""

    def __new__(mcs, name: str, genuine: type, own: bool) -> Stand:
        return super().__new__(mcs, name, (), {"genuine": genuine, "own": own})

    def __init__(cls, name: str, genuine: type, own: bool) -> None:
        super().__init__(name, (), {})

    def __call__(cls, *_: object, **__: object) -> tf.distribute.Strategy:
        return strategy(cls.own)

    def __instancecheck__(cls, one: object) -> bool:
        return isinstance(one, cls.genuine)


def kernel(model: Any) -> list[float] | None:
    """The first weights of a model that is one small layer."""
    weights = model.get_weights() if model.built and model.count_params() < 10 else []
    return weights[0].ravel().tolist() if weights else None


def recorded(name: str) -> None:
    """Model.fit or Model.train_on_batch, with a note of what it did."""
    genuine = getattr(keras.Model, name)

    def training(model: Any, *args: Any, **kwargs: Any) -> Any:
        start = kernel(model)
        result = genuine(model, *args, **kwargs)
        steps = getattr(model.optimizer, "iterations", None)
        trainings.append(
            {
                "call": name,
                "replicas": model.distribute_strategy.num_replicas_in_sync,
                "start": start,
                "end": kernel(model),
                "steps": None if steps is None else int(steps.numpy()),
            }
        )
        return result

    setattr(keras.Model, name, training)


def saved_late() -> None:
    """The chief takes a while to save."""
    genuine = keras.Model.save

    def save(*args: Any, **kwargs: Any) -> None:
        time.sleep(1.0 if WORKER == 0 else 0.0)
        genuine(*args, **kwargs)

    keras.Model.save = save


class Batches(keras.utils.Sequence):  # type: ignore[misc]
    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y

    def __len__(self) -> int:
        return len(self.x) // 8

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        part = slice(8 * index, 8 * index + 8)
        return self.x[part], self.y[part]


def data(program: str) -> dict[str, Any]:
    """What the examples take as given."""
    x = rows.random((80, 4), "float32")
    flat = "Input((2, 2))" not in program
    return {
        "x": x if flat else x.reshape(-1, 2, 2),
        "y": x.sum(1, keepdims=True),
        "sequence": Batches(x, x.sum(1, keepdims=True)),
        "noise": rows.random((80, 2), "float32"),
        "series": rows.random((80, 3, 4), "float32"),
        "targets": np.zeros((80, 1), "float32"),
        "gpus": 2,
        "steps": 2,
    }


def files_at_hand() -> None:
    """What the examples load."""
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
    model.compile(loss=keras.losses.MeanSquaredError(), optimizer="adam")
    model.save("model.keras")
    model.save("model.h5")
    model.save_weights("start.weights.h5")
    keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3)]).save_weights("base.weights.h5")


def outcome(program: str, alone: bool) -> dict[str, Any]:
    """The error that a program raised ("" for none), the data it had, and its trainings."""
    keras.backend.clear_session()
    keras.utils.set_random_seed(WORKER or 0)
    trainings.clear()
    given = data(program)
    tf.distribute.MirroredStrategy = Stand("MirroredStrategy", Mirrored, alone)
    tf.distribute.MultiWorkerMirroredStrategy = Stand("MultiWorkerMirroredStrategy", MultiWorker, False)
    sys.modules["project"] = types.SimpleNamespace(on_all_devices=lambda: strategy(False).scope())  # type: ignore[assignment]
    error = ""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(program, "<example>", "exec"), {"__name__": "__main__", **given})
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
    found = {"error": error, "files": os.listdir(), "trainings": list(trainings)}
    return {**found, "x": given["x"].tolist(), "y": given["y"].tolist()}


if __name__ == "__main__":
    given = json.loads(pathlib.Path(sys.argv[1]).read_text())
    for method in ("fit", "train_on_batch"):
        recorded(method)
    if WORKER is None:
        os.chdir(tempfile.mkdtemp())
        files_at_hand()
    else:
        saved_late()
    for one in given:
        os.chdir(one.get("folder") or ".")
        print(json.dumps({"name": one["name"], **outcome(one["program"], one["alone"])}), flush=True)
