"""Traces of a real, if small, training: softmax regression with SGD in numpy, on one or more replicas.

The two worlds' arithmetic is the real one (slices with the remainder on the last replica and an exact mean; an even
split and a mean of means), so what `compare` and `cause` see here is what the mistakes really do.
"""

from __future__ import annotations

import functools
import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np

from tfmigrate.verify.probe import predictions
from tfmigrate.verify.probe.content import fingerprint_of, rows_sketch, sketch_of, values_of
from tfmigrate.verify.run.trace import (
    Compile,
    End,
    Epoch,
    Fit,
    Model,
    Output,
    Prediction,
    Predictor,
    Start,
    Step,
    Trace,
    Weights,
)

FEATURES, CLASSES = 12, 4
CONTENT = "0123456789abcdef"


@dataclass(frozen=True)
class Training:
    """What a script asks for, and how its world works."""

    world: Literal["parallel", "mirrored"] = "parallel"
    replicas: int = 2
    shares_evenly: bool = False
    """The parallel world's remainder batches are cut and weighted as the mirrored world's."""
    samples: int = 256
    batch_size: int = 64
    epochs: int = 3
    asked_epochs: int | None = None
    """What the script asks for, where a limit made it `epochs`."""
    learning_rate: float = 0.5
    step_scale: float = 1.0
    """What a version's arithmetic makes of a step, which no setting shows."""
    idle_weight: float = 0.0
    """Where the last weight, which has no gradient, is left by a version's rounding noise."""
    drop_rate_after: int | None = None
    """Halve the learning rate from this epoch on."""
    watched: tuple[tuple[str, str], ...] = ()
    """Callbacks, each with what it watches."""
    optimizer: str = "sgd"
    config: tuple[tuple[str, object], ...] = ()
    shifted: float = 0.0
    """What another version makes of the data, relative."""
    source: str = ""
    """Of the data; arrays or a dataset where none is given."""
    penalty: float = 0.0
    """On top of every loss, as the regularizer of a frozen layer has it."""
    gradient_scale: float = 1.0
    """As a loss summed over the replicas has it, with the loss itself."""
    class_weight: bool = False
    sample_weight: bool = False
    shuffle: str = "full"
    data_seed: int = 0
    initial_seed: int = 1
    validation_samples: int = 64
    validation_content: str | None = CONTENT
    rounding: float = 0.0
    """Relative noise on each step's loss and gradient."""
    noise_seed: int | None = None
    fixed_seed: int | None = None
    """The script's own, which no run's seed can change."""
    model: int = 0
    """Index of the model, and of its one training call."""
    call: str = "fit"
    loss: str = "categorical_crossentropy"
    frozen: bool = False
    noise: tuple[str, ...] = ()
    regularizers: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ("float32",)
    loaded: bool = False
    adds_losses: bool = False
    moving_averages: bool = False
    """Adds batch norm's non-trainable pair, updated once a replica and once more in the parallel world."""
    momentum: float = 0.9
    """Of the moving averages."""
    keras: str = "2.3.1"
    """Of the parallel world. Before 2.3 it corrects moving averages for beginning at zero."""
    masked: bool = False
    constraints: tuple[str, ...] = ()
    own: tuple[tuple[float, float, bool, float | None] | None, ...] = ()
    at: int | None = None
    """The line of new.py that compiles the model; the next but one trains it."""


@functools.cache
def data(seed: int, shifted: float) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.RandomState(seed)
    truth = random.randn(FEATURES, CLASSES)
    x = random.randn(2048, FEATURES).astype("float32")
    y = np.argmax(x @ truth + 0.3 * random.randn(len(x), CLASSES), axis=1)
    return x * np.float32(1 + shifted), y


@dataclass(frozen=True)
class Content:
    """What is recorded of a batch."""

    fingerprint: str | None
    sketch: tuple[tuple[float, ...], ...]
    file: bytes


@functools.cache
def content(seed: int, shifted: float, first: int, last: int) -> Content:
    """Of these rows of the data."""
    x, y = data(seed, shifted)
    leaves = [[x[first:last]], [y[first:last]]]
    file = io.BytesIO()
    np.savez(file, **{str(i): part for i, part in enumerate(values_of(leaves))})
    return Content(fingerprint_of(leaves), tuple(map(tuple, sketch_of(leaves))), file.getvalue())


def train(folder: Path, how: Training) -> Trace:
    """Trains, writes the snapshots into `folder` and returns the trace."""
    folder.mkdir(parents=True, exist_ok=True)
    x, y = data(how.data_seed, how.shifted)
    if how.fixed_seed is not None:
        how = replace(how, initial_seed=how.fixed_seed, noise_seed=how.fixed_seed)
    start = np.random.RandomState(how.initial_seed)
    weights = [0.1 * start.randn(FEATURES, CLASSES), np.zeros(CLASSES)]
    moving = [np.zeros(FEATURES), np.ones(FEATURES)]
    uncorrected, updates = [np.zeros(FEATURES), np.zeros(FEATURES)], 0
    noise = np.random.RandomState(len(str(folder)) if how.noise_seed is None else how.noise_seed)
    sample_weight = np.where(y == 0, 3.0, 1.0) if how.class_weight or how.sample_weight else np.ones(len(y))

    def save(moment: str) -> Weights:
        file = f"{how.model}-{moment}.npz"
        arrays = [*weights, *moving] if how.moving_averages else weights
        np.savez(folder / file, **{str(i): a.astype("float32") for i, a in enumerate(arrays)})
        return Weights(how.model, how.model, moment, file)  # type: ignore[arg-type]

    def loss_and_gradient(part: slice) -> tuple[float, list[np.ndarray]]:
        logits = x[part] @ weights[0] + weights[1]
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        w = sample_weight[part]
        n = len(p)
        loss = float(np.mean(-w * np.log(p[np.arange(n), y[part]])))
        p[np.arange(n), y[part]] -= 1.0
        p *= w[:, None] / n
        return loss, [x[part].T @ p, p.sum(axis=0)]

    def batch_step(first: int, last: int) -> tuple[float, list[np.ndarray]]:
        if how.world == "parallel" and not how.shares_evenly:
            loss, gradient = loss_and_gradient(slice(first, last))
        else:
            parts = np.array_split(np.arange(first, last), how.replicas)
            found = [loss_and_gradient(slice(p[0], p[-1] + 1)) for p in parts if len(p)]
            sizes = [len(p) for p in parts if len(p)]
            reported = None if how.world == "parallel" else sizes  # Keras reports the mean over the samples
            loss = float(np.average([f[0] for f in found], weights=reported))
            gradient = [np.mean([f[1][i] for f in found], axis=0) for i in range(2)]
        shake = 1.0 + how.rounding * noise.randn()
        return loss * shake * how.gradient_scale + how.penalty, [g * shake * how.gradient_scale for g in gradient]

    snapshots = [save("initial")]
    _, gradient = batch_step(0, min(how.batch_size, how.samples))
    kept = [w.copy() for w in weights]
    weights = [w - 0.01 * g for w, g in zip(weights, gradient)]
    snapshots.append(save("sgd_probe"))
    weights = kept

    steps, epochs = [], []
    for epoch in range(how.epochs):
        rate = how.learning_rate
        if how.drop_rate_after is not None and epoch >= how.drop_rate_after:
            rate /= 2
        losses = []
        for index, first in enumerate(range(0, how.samples, how.batch_size)):
            last = min(first + how.batch_size, how.samples)
            loss, gradient = batch_step(first, last)
            weights = [w - rate * how.step_scale * g for w, g in zip(weights, gradient)]
            seen = x[first:last].mean(axis=0), x[first:last].var(axis=0) / 4
            for _ in range(how.replicas + 1 if how.world == "parallel" else 1):
                if how.world == "parallel" and how.keras < "2.3":
                    uncorrected = [how.momentum * m + (1 - how.momentum) * s for m, s in zip(uncorrected, seen)]
                    updates += 1
                    moving = [m / (1 - how.momentum**updates) for m in uncorrected]
                else:
                    moving = [how.momentum * m + (1 - how.momentum) * s for m, s in zip(moving, seen)]
            if how.moving_averages and not losses and not epoch:
                snapshots.append(save("after_first_update"))
            losses.append((loss, last - first))
            batch = content(how.data_seed, how.shifted, first, last)
            step = Step(how.model, epoch, index, loss, last - first, batch.fingerprint, rate, how.shares_evenly)
            file = f"batch-{how.model}-{epoch}-{index}.npz"
            (folder / file).write_bytes(batch.file)
            steps.append(replace(step, sketch=batch.sketch, values=file))
        mean = sum(loss * n for loss, n in losses) / sum(n for _, n in losses)
        validated = loss_and_gradient(slice(how.samples, how.samples + how.validation_samples))[0] + how.penalty
        if how.moving_averages:
            validated *= 1.0 + float(np.abs(moving[0]).mean())  # inference reads the moving averages
        epochs.append(Epoch(how.model, epoch, {"loss": mean, "val_loss": validated}))
    weights[1][-1] += how.idle_weight
    snapshots.append(save("final"))

    validated_rows = x[how.samples :] * (how.validation_content == CONTENT), y[how.samples :]
    tensors = [("kernel", (FEATURES, CLASSES), not how.frozen), ("bias", (CLASSES,), True)]
    if how.moving_averages:
        tensors += [("bn/moving_mean", (FEATURES,), False), ("bn/moving_variance", (FEATURES,), False)]
    old = how.world == "parallel"
    config = {"lr" if old else "learning_rate": how.learning_rate, "momentum": 0.0, **dict(how.config)}
    return Trace(
        folder=folder,
        start=start_of(how.world, how.replicas, how.keras),
        models=(
            Model(
                how.model,
                "model",
                how.replicas,
                tuple(tensors),
                how.noise,
                how.regularizers,
                how.dtypes,
                how.loaded,
                how.adds_losses,
                how.masked,
                how.constraints,
                how.own,
            ),
        ),
        compiles=(Compile(how.model, how.model, how.optimizer, config, how.loss, ("accuracy",), _line(how.at)),),
        fits=(
            Fit(
                index=how.model,
                model=how.model,
                call=how.call,
                source=how.source or ("arrays" if old else "dataset"),
                epochs=how.asked_epochs or how.epochs,
                global_batch_size=how.batch_size,
                steps_per_epoch=-(-how.samples // how.batch_size),
                samples=how.samples,
                shuffle=how.shuffle,
                validation_samples=how.validation_samples,
                class_weight=how.class_weight,
                sample_weight=how.sample_weight,
                validation_content=how.validation_content and f"{how.validation_content} {how.shifted}",
                validation_sketch=tuple(rows_sketch(validated_rows)),
                watched=how.watched,
                at=_line(how.at, 2),
            ),
        ),
        steps=tuple(steps),
        epochs=tuple(epochs),
        weights=tuple(snapshots),
        end=End(True, None, 10.0, 4.0, 5120.0 if old else 4096.0, 512 * 2**20),
    )


def start_of(world: str, replicas: int, old_keras: str = "2.3.1") -> Start:
    old = world == "parallel"
    return Start(
        python="3.7.16" if old else "3.12.3",
        tensorflow="1.15.0" if old else "2.21.0",
        keras=old_keras if old else "3.15.1",
        flavour="keras" if old else "tf.keras",
        devices=tuple(f"/device:CPU:{i}" for i in range(replicas)),
        device_kind="logical CPU",
        replicas=replicas,
        numpy="1.19.5" if old else "2.3.1",
    )


@dataclass(frozen=True)
class Predicting:
    """What a script asks for that trains nothing, and how its world works."""

    world: Literal["parallel", "mirrored"] = "parallel"
    replicas: int = 2
    rows: tuple[int, ...] = (60, 60, 21)
    """Of each call."""
    call: str = "predict"
    answers: int = 1
    """Each call answers so many times, one after the other."""
    seed: int = 1
    """Of the weights."""
    loaded: bool = True
    turned: bool = False
    """The rows go in the other way round."""
    answered_turned: bool = False
    """They come out the other way round."""
    scale: float = 1.0
    """Of what goes in."""
    heat: float = 1.0
    """Of the softmax, which no setting shows."""
    rounding: float = 0.0
    dtypes: tuple[str, ...] = ("float32",)


def predict(folder: Path, how: Predicting) -> Trace:
    """Predicts, writes the snapshot into `folder` and returns the trace."""
    folder.mkdir(parents=True, exist_ok=True)
    x = np.random.RandomState(0).randn(sum(how.rows), FEATURES).astype("float32") * how.scale
    kernel = np.random.RandomState(how.seed).randn(FEATURES, CLASSES).astype("float32")
    noise = np.random.RandomState(zlib.crc32(str(folder).encode()))
    np.savez(folder / "predictor-0.npz", **{"0": kernel})
    calls, first = [], 0
    for rows in how.rows:
        part = x[first : first + rows][:: -1 if how.turned else 1]
        first += rows
        p = np.exp(how.heat * (part @ kernel))
        p /= p.sum(axis=1, keepdims=True)
        p *= 1.0 + how.rounding * noise.randn(*p.shape)
        p = np.concatenate([p[:: -1 if how.answered_turned else 1]] * how.answers).astype("float32")
        kept = predictions.summary(p, True)
        output = Output(
            tuple(kept["shape"]), kept["largest"], tuple(kept["values"]), tuple(map(tuple, kept["sketches"]))
        )
        fingerprint, sketch = predictions.content([part])
        calls.append(Prediction(0, how.call, (output,), len(p), fingerprint, tuple(map(tuple, sketch))))
    weights = (("kernel", (FEATURES, CLASSES), True),)
    return Trace(
        folder=folder,
        start=start_of(how.world, how.replicas),
        models=(
            Predictor(0, "model", how.replicas, weights, dtypes=how.dtypes, loaded=how.loaded, file="predictor-0.npz"),
        ),
        weights=(Weights(0, 0, "initial", "predictor-0.npz"),),
        end=End(True, None, 10.0, 0.0, 4096.0, 512 * 2**20),
        predictions=tuple(calls),
    )


def train_each(folder: Path, hows: Sequence[Training]) -> Trace:
    """Several models in one script, one after the other."""
    first, *more = [train(folder, replace(how, model=i)) for i, how in enumerate(hows)]
    for other in more:
        parts = {name: (*getattr(first, name), *getattr(other, name)) for name in PARTS}
        first = replace(first, **parts)
    return first


PARTS = ("models", "compiles", "fits", "steps", "epochs", "weights")


def _line(number: int | None, below: int = 0) -> str | None:
    return None if number is None else f"new.py:{number + below}"


How = TypeVar("How", Training, Predicting)


def migrated(how: How) -> How:
    """The same in the new world."""
    return replace(how, world="mirrored")
