"""What one run of a training script recorded.

The probe writes `trace.jsonl` (one JSON object a line, its `event` key naming the class below in lower case) and
weight snapshots as `.npz` beside it; `load` reads them back. A run that died half-way still has a readable trace.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from tfmigrate.printable import uncoloured

Moment = Literal["initial", "after_first_update", "sgd_probe", "final"]


@dataclass(frozen=True)
class Start:
    """The world a run happened in."""

    python: str
    tensorflow: str
    keras: str
    """Version of the Keras the models came from, e.g. "2.3.1", "2.2.4-tf", "3.15.1"."""
    flavour: str
    """"keras" (standalone), "tf.keras" or "tf_keras"."""
    devices: tuple[str, ...]
    """Devices the replicas ran on, as TensorFlow names them."""
    device_kind: str
    """"physical GPU", "logical GPU" or "logical CPU"."""
    replicas: int
    numpy: str = ""


@dataclass(frozen=True)
class Model:
    """One model that was trained, in the order of the first training calls, or, in a script that trains none, one that
    predicted; weights leaf layer by leaf layer, in the order in which the layers were made."""

    index: int
    name: str
    replicas: int
    weights: tuple[tuple[str, tuple[int, ...], bool], ...]
    """(name, shape, trainable)."""
    noise: tuple[str, ...] = ()
    """Dropout and noise that the layers ask for, in the order in which they were made ("Dropout 0.25")."""
    regularizers: tuple[str, ...] = ()
    """In the same order ("kernel l2=0.0001")."""
    dtypes: tuple[str, ...] = ()
    """In which layers with weights compute."""
    loaded: bool = False
    """Its weights, or those of a model in it, came from a file."""
    adds_losses: bool = False
    """A layer of the script's own, or the script, adds to its loss; activity regularizers are in `regularizers`."""
    masked: bool = False
    """A mask reaches its output, and so the loss."""
    constraints: tuple[str, ...] = ()
    """Of weights, in the order of the layers ("kernel max_value=2"): a short run may not come to feel them."""
    own: tuple[tuple[float, float, bool, float | None] | None, ...] = ()
    """What the script itself gave each weight, before it was given the other run's: mean, spread, whether a file gave
    it, and how far it lay from the other run's, over the largest element of that. None where nobody can tell."""
    own_step: str = ""
    """"Net.train_step": what trains it, where that is a method of the script's own."""
    own_batch_norms: tuple[str, ...] = ()
    """Layers that are BatchNormalization with a call() of the script's own, by their names."""
    initializers: tuple[str, ...] = ()
    """"0 dense kernel: GlorotUniform": number and name of the layer, of those with weights, and its part."""


@dataclass(frozen=True)
class Compile:
    """Settings in force when a training call began."""

    model: int
    fit: int
    optimizer: str
    """Class name in lower case, e.g. "adadelta"."""
    config: Mapping[str, Any]
    """get_config() with tensors made floats and old names (lr) kept."""
    loss: str
    metrics: tuple[str, ...]
    at: str | None = None
    """Where the script compiled the model: "train.py:12"."""
    loss_weights: tuple[float, ...] = ()
    """Of each output; empty where all are 1."""
    own_apply: bool = False
    """The script gives its optimizer an apply() of its own, as what adds gradients up before they are clipped does."""


@dataclass(frozen=True)
class Fit:
    """One training call. `epochs` is what the script asks for, whatever the limit. Counts are what happened in the
    first epoch, validation included; None where nothing was counted (`steps_per_epoch` and `samples` of
    "train_on_batch": one Fit stands for all such calls of a model)."""

    index: int
    model: int
    call: str
    """"fit", "fit_generator" or "train_on_batch"."""
    source: str
    """"arrays", "dataset", "generator" or "sequence"."""
    epochs: int
    global_batch_size: int | None
    steps_per_epoch: int | None
    samples: int | None
    shuffle: str
    """"full", "none", "batches" (whole batches reordered), "buffer N" for a tf.data shuffle of N elements, or
    "unknown"."""
    validation_samples: int | None
    class_weight: bool
    sample_weight: bool
    validation_content: str | None = None
    """Hash of the rows that the first epoch validates on, inputs and targets as float32, whatever their order."""
    at: str | None = None
    """Where in the script the call stands; of "train_on_batch" the first of them."""
    validation_sketch: tuple[float, ...] | None = None
    """Sums over the same rows (probe/content, rows_sketch): of each array the squares, the projections and their
    squares, then the products of neighbouring arrays' projections."""
    callbacks: tuple[str, ...] = ()
    """Classes of those that the script gives, in their order."""
    watched: tuple[tuple[str, str], ...] = ()
    """Of those that wait for a value of the logs, ("EarlyStopping", "val_loss")."""
    dropped: tuple[str, ...] = ()
    """"dropout 0.5": what the script's own code asked for by the end of the first epoch, each once."""


Place = tuple[int, int, int]
"""Training call, epoch, and step in it, each from 0."""


@dataclass(frozen=True)
class Step:
    """One optimizer step; `loss` is that batch's own loss, never a running mean."""

    fit: int
    epoch: int
    step: int
    loss: float
    samples: int | None = None
    fingerprint: str | None = None
    """Hash of the batch's inputs and targets as float32, in order: equal batches have equal fingerprints."""
    learning_rate: float | None = None
    shared_evenly: bool = False
    """An old run's batch that was cut and weighted as MirroredStrategy does it (see probe/remainder)."""
    sketch: tuple[tuple[float, float], ...] | None = None
    """(norm, projection on a fixed random direction) of each array; None where one holds texts."""
    values: str | None = None
    """Of the first steps: an .npz of some rows of each array, for batches whose fingerprints differ."""
    weighed: tuple[float, float] | None = None
    """Of the weights w of the samples (sample_weight and class_weight together, of all outputs): the sums of w - 1 and
    of its square, each a mean over the samples; (0, 0) without weights, None where nobody could look."""
    made: bool = False
    """The script predicted before, so that the batch may hold what a model made."""

    @property
    def place(self) -> Place:
        """Which step of which epoch of which training call it is."""
        return self.fit, self.epoch, self.step


@dataclass(frozen=True)
class Epoch:
    """Logs at an epoch's end, keys as that Keras names them, with "loss" the sample-weighted mean of the raw losses."""

    fit: int
    epoch: int
    logs: Mapping[str, float]


@dataclass(frozen=True)
class Weights:
    """A snapshot: `file` is an .npz whose arrays are "0", "1", ... in the order of Model.weights."""

    model: int
    fit: int
    moment: Moment
    file: str


@dataclass(frozen=True)
class Predictor(Model):
    """One model that predicted, in the order of the first predictions; a template and its parallel model are one."""

    file: str = ""
    """Snapshot of its weights at its first prediction."""


@dataclass(frozen=True)
class Output:
    """One array that a call answered, in little."""

    shape: tuple[int, ...]
    largest: float
    """Absolute value; not a number where one value is none."""
    values: tuple[float, ...]
    """Some of the values, in order, spread evenly; all where there are few."""
    sketches: tuple[tuple[float, float], ...]
    """Of each stretch of rows: (norm, projection on a fixed random direction), in which every value has a share."""


@dataclass(frozen=True)
class Prediction:
    """One call that predicted, before anything was trained."""

    model: int
    """Index of the Predictor."""
    call: str
    """"predict", "predict_on_batch" or "predict_generator"."""
    outputs: tuple[Output, ...]
    samples: int | None = None
    """Rows that came out."""
    fingerprint: str | None = None
    """Hash of up to 16,384 of the values that went in, as float32; None where they were no arrays."""
    sketch: tuple[tuple[float, float], ...] | None = None
    """(norm, projection) of the same."""
    at: str | None = None
    """Where in the script the call stands."""


@dataclass(frozen=True)
class End:
    """How the run ended, as the probe saw it."""

    ok: bool
    error: str | None
    """Exception type and message with the script's own line, when it died."""
    seconds: float
    train_seconds: float
    """Wall time of the training steps, the first of each call left out (tracing, allocation)."""
    samples_per_second: float | None
    """Trained, or, in a script that trains nothing, predicted."""
    peak_memory_bytes: int | None
    """Of the host."""
    peak_gpu_memory_bytes: int | None = None
    """Of what the tensors took on all GPUs together; None without GPUs."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Versions of what the program's own files import, by module; of those that were imported and tell one."""


@dataclass(frozen=True)
class Cut:
    """Where the budget of steps ended the run; None stands for what nobody knows, or what has no epochs."""

    fit: int
    """Index of the training call that was ended, or that was not begun (`steps` is then 0)."""
    epochs: int | None
    """As the script asks for them."""
    steps_per_epoch: int | None
    """As the script asks for them."""
    steps: int
    """That this call took."""
    slow: bool = False
    """It was ended in the middle of a training call, because its steps were slow."""


Event = Start | Model | Compile | Fit | Step | Epoch | Weights | Predictor | Prediction | Cut | End
KINDS: dict[str, type[Event]] = {
    kind.__name__.lower(): kind
    for kind in (Start, Model, Compile, Fit, Step, Epoch, Weights, Predictor, Prediction, Cut, End)
}


@dataclass(frozen=True)
class Trace:
    """All that a run recorded, sorted by kind."""

    folder: Path
    start: Start | None = None
    models: tuple[Model, ...] = ()
    compiles: tuple[Compile, ...] = ()
    fits: tuple[Fit, ...] = ()
    steps: tuple[Step, ...] = ()
    epochs: tuple[Epoch, ...] = ()
    weights: tuple[Weights, ...] = ()
    end: End | None = None
    notes: tuple[str, ...] = field(default=())
    """What the probe could not record, in words."""
    predictions: tuple[Prediction, ...] = ()
    """Of a script that trains nothing; `models` are then those that predicted, `weights` what they predicted with."""
    cut: Cut | None = None
    """Set where the budget ended the script before its own end."""
    confined: tuple[str, ...] | None = None
    """What kept the script from what was not its own, by name (see probe/confine.py); None where that is unknown."""

    @property
    def error(self) -> str | None:
        """What the run died of, as the probe saw it."""
        return self.end.error if self.end else None


def minor(version: str) -> tuple[int, ...]:
    """(2, 3) for "2.3.1"; Start has such versions."""
    return tuple(int(part) for part in version.split(".")[:2])


def load(folder: Path) -> Trace:
    """Reads the trace in `folder`. A last line cut short by a killed process is left out and noted.

    Raises FileNotFoundError when the run recorded nothing at all.
    """
    events: dict[str, list[Any]] = {kind: [] for kind in KINDS}
    notes: list[str] = []
    confined: tuple[str, ...] | None = None
    lines = (folder / "trace.jsonl").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        try:
            event = json.loads(line)
        except ValueError:
            where = "last line" if number == len(lines) else f"line {number}"
            notes.append(f"the {where} of the trace was cut short and is left out")
            continue
        kind = event.pop("event")
        if kind == "confined":
            confined = tuple(event["by"])
        elif kind == "note":
            notes.append(event["text"])
        elif kind in KINDS:
            if kind == "end" and event["error"]:
                event["error"] = uncoloured(event["error"])
            events[kind].append(_read(KINDS[kind], event))
    if events["compile"] or events["model"]:  # a training call was begun
        events["prediction"] = []
    else:
        events["model"] = _predictors(events["predictor"])
        events["weights"] += [Weights(predictor.index, 0, "initial", predictor.file) for predictor in events["model"]]
    return Trace(
        folder=folder,
        start=events["start"][0] if events["start"] else None,
        models=tuple(events["model"]),
        compiles=tuple(events["compile"]),
        fits=tuple(sorted(events["fit"], key=lambda fit: fit.index)),
        steps=tuple(events["step"]),
        epochs=tuple(events["epoch"]),
        # A later snapshot of the same model and moment took the place of the earlier one on disk.
        weights=tuple({snapshot.file: snapshot for snapshot in events["weights"]}.values()),
        end=events["end"][0] if events["end"] else None,
        notes=tuple(notes),
        predictions=tuple(events["prediction"]),
        cut=events["cut"][0] if events["cut"] else None,
        confined=confined,
    )


def _predictors(events: Iterable[Predictor]) -> list[Predictor]:
    """Each model once. It is written again for a parallel model of it, which has more replicas."""
    predictors: dict[int, Predictor] = {}
    for event in events:
        first = predictors.setdefault(event.index, event)
        predictors[event.index] = replace(
            first, replicas=max(first.replicas, event.replicas), loaded=first.loaded or event.loaded
        )
    return list(predictors.values())


def _read(kind: type[Event], event: dict[str, Any]) -> Event:
    """JSON knows no tuples; the fields that are lists there are tuples here."""
    known = {name.name for name in fields(kind)}
    values = {key: _tuples(value) if key != "config" else value for key, value in event.items() if key in known}
    if kind is Prediction:
        values["outputs"] = tuple(
            Output(**{key: _tuples(value) for key, value in output.items()}) for output in event["outputs"]
        )
    return kind(**values)


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
