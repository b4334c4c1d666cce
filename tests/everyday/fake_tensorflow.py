"""A small stand-in for TensorFlow and Keras that trains nothing and records what was built where and trained on what.

Two worlds: "old" has multi_gpu_model and the old names (Keras 2.3.1, TensorFlow 2.3), "new" is as strict as Keras 3
(docs/semantics.md): a model, its layers, its optimizer and compile() must share one scope.
"""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any, Literal

import numpy as np

World = Literal["old", "new"]
GPUS = 8

_LEARNING_RATES = {"SGD": 0.01, "RMSprop": 0.001, "Adam": 0.001, "Adadelta": 0.001, "Adagrad": 0.001, "Adamax": 0.001}
_OLD_KERAS = {"Adadelta": 1.0, "Adagrad": 0.01, "Adamax": 0.002}

ALIASES = {"mse": "mean_squared_error", "mae": "mean_absolute_error"}
"""Two words for one loss; HDF5 files load with the long one alone (TFM239)."""


class Untrue(Exception):
    """The program did what raises, or trains something else, in the real TensorFlow."""


class Recorder:
    """One run: its log, and the scopes that are open."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.log: list[tuple[Any, ...]] = []
        self.scopes: list[Strategy] = [Strategy(self, 1)]
        self.models = 0
        self.started_with: list[str | None] = []
        """What CUDA_VISIBLE_DEVICES was when the devices were listed first, and when a strategy started the GPUs."""
        self.started = False

    def starts(self, gpus: bool) -> None:
        """The GPUs are looked for, and started where a strategy or an operation needs them."""
        self.started_with.append(os.environ.get("CUDA_VISIBLE_DEVICES"))
        self.started = self.started or gpus

    def sets(self, what: str) -> None:
        if self.started:
            raise Untrue("Physical devices cannot be modified after being initialized")
        self.log.append((what, GPUS))

    def ends(self) -> None:
        if self.started and os.environ.get("CUDA_VISIBLE_DEVICES") != self.started_with[0]:
            raise Untrue("the GPUs were started before CUDA_VISIBLE_DEVICES was set")

    @property
    def strategy(self) -> Strategy:
        return self.scopes[-1]


class Strategy:
    def __init__(self, run: Recorder, replicas: int) -> None:
        self.run, self.num_replicas_in_sync = run, replicas

    @contextmanager
    def scope(self) -> Iterator[None]:
        self.run.scopes.append(self)
        yield
        self.run.scopes.pop()


class Tensor:
    def __init__(self, layers: tuple[Any, ...] = ()) -> None:
        self.layers = layers


class Dataset:
    """Columns of arrays; what was asked of the pipeline."""

    def __init__(self, columns: Any, *, batch: int | None = None, shuffle: int = 0) -> None:
        self.columns, self.size, self.shuffle_buffer = columns, batch, shuffle

    @classmethod
    def from_tensor_slices(cls, columns: Any) -> Dataset:
        return cls(columns)

    @classmethod
    def range(cls, count: int) -> Dataset:
        return cls(np.arange(count))

    @classmethod
    def from_tensors(cls, columns: Any) -> Dataset:
        """One element, the columns themselves: whatever takes rows of them tells which."""
        return cls(columns)

    @classmethod
    def zip(cls, both: tuple[Dataset, Dataset]) -> Dataset:
        numbers, arrays = both
        return cls((numbers.columns, arrays.columns), batch=numbers.size, shuffle=numbers.shuffle_buffer)

    def repeat(self) -> Dataset:
        return self

    def map(self, function: Any, **_: Any) -> Dataset:
        """Of zipped columns, all batches at once."""
        return Dataset(function(*self.columns), batch=self.size, shuffle=self.shuffle_buffer)

    def shuffle(self, buffer: int, seed: int | None = None) -> Dataset:
        if self.size is not None:
            raise Untrue("shuffled after batch(): whole batches change places")
        return Dataset(self.columns, shuffle=int(buffer))

    def batch(self, size: int, drop_remainder: bool = False) -> Dataset:
        if drop_remainder and len(self) % size:
            raise Untrue("rows are dropped")
        return Dataset(self.columns, batch=int(size), shuffle=self.shuffle_buffer)

    def prefetch(self, size: int) -> Dataset:
        return self

    def cardinality(self) -> int:
        return len(leaves(self.columns)[0])

    __len__ = cardinality


class Sequence:
    def __init__(self, **_: Any) -> None:
        pass


class Callback:
    model: Any = None

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        pass


def leaves(columns: Any) -> list[Any]:
    if isinstance(columns, tuple | list):
        return [leaf for column in columns for leaf in leaves(column)]
    return [] if columns is None else [columns]


def mapped(function: Any, columns: Any) -> Any:
    return tuple(mapped(function, one) for one in columns) if isinstance(columns, tuple) else function(columns)


def seen(columns: Any) -> tuple[Any, ...]:
    """A fingerprint of data: shapes and sums, in order."""
    return tuple((leaf.shape, float(np.sum(leaf * (1 + np.arange(len(leaf))[:, None])))) for leaf in leaves(columns))


def build(world: World) -> tuple[dict[str, types.ModuleType], Recorder]:
    """The modules of a world, by the names to import them under, and what will record their use."""
    run = Recorder(world)

    class Layer:
        shared = 1
        """Replicas of a parallel model that it is a part of."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            self.strategy = run.strategy

        def __call__(self, inputs: Any) -> Tensor:
            below = tuple(layer for tensor in leaves(inputs) for layer in tensor.layers)
            return Tensor((*below, self))

    class Optimizer(Layer):
        old_keras = False

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__()
            if world == "new" and {"lr", "decay"} & set(options):
                raise Untrue(f"{type(self).__name__}({', '.join(options)}) does not exist")
            name = type(self).__name__
            if arguments:
                options["learning_rate"] = arguments[0]
            rates = {**_LEARNING_RATES, **(_OLD_KERAS if self.old_keras else {})}
            options["learning_rate"] = options.pop("lr", options.get("learning_rate", rates[name]))
            options.pop("epsilon", None)
            if name == "Adagrad":
                options.setdefault("initial_accumulator_value", 0.0 if self.old_keras else 0.1)
            self.told = (name, tuple(sorted(options.items())))

    class Model(Layer):
        replicas = 1

        def __init__(self, inputs: Any = None, outputs: Any = None, **_: Any) -> None:
            super().__init__()
            self.number, run.models = run.models, run.models + 1
            self.parts: list[Any] = []
            self.optimizer: Any = None
            self.distribute_strategy = self.strategy
            self._holds(layer for tensor in leaves(inputs) + leaves(outputs) for layer in tensor.layers)

        def _holds(self, layers: Any) -> None:
            for layer in layers:
                self.parts.append(layer)
                if layer.strategy is not self.strategy:
                    raise Untrue("a layer was made in another scope than its model")

        def compile(self, optimizer: Any = "rmsprop", loss: Any = None, metrics: Any = None) -> None:
            if run.strategy is not self.strategy:
                raise Untrue("compile() in another scope than the model")
            if isinstance(optimizer, str):
                optimizer = next(c for c in kinds(self.old_keras) if c.__name__.lower() == optimizer.lower())()
            if optimizer.strategy is not self.strategy:
                raise Untrue("the optimizer was made in another scope than the model")
            self.optimizer, self.loss, self.metrics = optimizer, ALIASES.get(loss, loss), tuple(metrics or ())
            run.log.append(("compile", self.number, optimizer.told, self.loss, self.metrics))

        def _told(self, what: str, *more: Any) -> None:
            # A model that shares layers with a parallel one shares its scope, and so its replicas: the sum is the same.
            shared = max([part.shared for part in self.parts], default=1)
            replicas = max(self.replicas, shared) if world == "old" else self.strategy.num_replicas_in_sync
            if self.optimizer is None:
                raise Untrue(f"{what} before compile()")
            run.log.append((what, self.number, replicas, self.optimizer.told, self.loss, self.metrics, *more))

        def fit(self, x: Any = None, y: Any = None, batch_size: Any = None, epochs: int = 1, **more: Any) -> None:
            known = {"verbose", "validation_data", "validation_split", "shuffle", "class_weight", "sample_weight"}
            known |= {"steps_per_epoch", "validation_steps", "callbacks"}
            if set(more) - known:
                raise Untrue(f"fit() knows no {sorted(set(more) - known)}")
            weights, split, shuffle = (more.get(k) for k in ("sample_weight", "validation_split", "shuffle"))
            held = more.get("validation_data")
            validation: Any = None
            if isinstance(x, Dataset):
                if y is not None or batch_size is not None or split or weights is not None:
                    raise Untrue("fit() on a dataset takes no y, batch_size, validation_split or sample_weight")
                if 0 < x.shuffle_buffer < len(x):
                    raise Untrue("the shuffle does not reach over the whole set")
                train = (x.size, x.shuffle_buffer > 0, seen(x.columns))
            elif isinstance(x, Sequence):
                batches = [x[index] for index in range(more.get("steps_per_epoch") or len(x))]
                train = tuple(seen(batch) for batch in batches)
            else:
                columns, batch_size = (x, y, weights), int(batch_size or 32)
                if split:
                    at = int(len(leaves(x)[0]) * (1.0 - split))
                    held = slices(columns, slice(at, None))
                    columns = slices(columns, slice(at))
                train = (batch_size, shuffle is not False, seen(columns))
            if isinstance(held, Dataset):
                validation = (held.size, seen(held.columns))
            elif isinstance(held, Sequence):
                validation = tuple(seen(held[index]) for index in range(len(held)))
            elif held is not None:
                validation = (batch_size, seen(held))
            self._told("fit", train, validation, epochs, str(more.get("class_weight")))
            for callback in more.get("callbacks") or ():
                callback.model = self
                for epoch in range(epochs):
                    callback.on_epoch_end(epoch, {})

        def fit_generator(self, generator: Any, **more: Any) -> None:
            if world == "new":
                raise Untrue("fit_generator does not exist")
            for gone in ("workers", "use_multiprocessing", "max_queue_size"):
                more.pop(gone, None)
            self.fit(generator, **more)

        def train_on_batch(self, x: Any, y: Any) -> None:
            self._told("train_on_batch", seen((x, y)))

        def evaluate(self, x: Any, y: Any = None, batch_size: Any = None, verbose: int = 1) -> None:
            columns = x.columns if isinstance(x, Dataset) else (x, y)
            self._told("evaluate", seen(columns))

        def predict(self, x: Any, batch_size: Any = None) -> None:
            run.log.append(("predict", self.number, seen(x)))

        def save(self, path: str) -> None:
            run.log.append(("save", self.number, path.split(".")[0]))

        save_weights = save

        def load_weights(self, path: str) -> None:
            run.log.append(("load", self.number, path.split(".")[0]))

        def summary(self) -> None:
            run.log.append(("summary", self.number))

    class Sequential(Model):
        def __init__(self, layers: Any = (), **_: Any) -> None:
            super().__init__()
            self._holds(layers)

        def add(self, layer: Any) -> None:
            self._holds([layer])

    Model.old_keras = False  # type: ignore[attr-defined]

    def kinds(old_keras: bool) -> list[type]:
        return [type(name, (Optimizer,), {"old_keras": old_keras}) for name in _LEARNING_RATES]

    def multi_gpu_model(model: Any, gpus: Any = None, cpu_merge: bool = True, cpu_relocation: bool = False) -> Any:
        replicas = len(gpus) if isinstance(gpus, list) else GPUS if gpus is None else gpus
        if not 1 < replicas <= GPUS:
            raise ValueError(f"gpus={gpus}")
        parallel = object.__new__(type(model))
        parallel.__dict__.update(model.__dict__)
        parallel.replicas = replicas
        share(model, replicas)
        return parallel

    def share(model: Any, replicas: int) -> None:
        model.shared = replicas
        for part in model.parts:
            part.shared = replicas
            if isinstance(part, Model):
                share(part, replicas)

    def slices(columns: Any, part: slice) -> Any:
        if isinstance(columns, tuple | list):
            return tuple(slices(column, part) for column in columns)
        return None if columns is None else columns[part]

    def keras(root: str) -> dict[str, types.ModuleType]:
        standalone = root == "keras"
        model, sequential = ((type(c.__name__, (c,), {"old_keras": standalone})) for c in (Model, Sequential))
        layers = module(f"{root}.layers", Input=lambda *a, **k: Tensor())
        layers.__getattr__ = lambda name: layer(name)  # type: ignore[method-assign]
        utils = module(f"{root}.utils", Sequence=Sequence)
        callbacks = module(f"{root}.callbacks", Callback=Callback)
        top = module(root, layers=layers, utils=utils, Model=model, Sequential=sequential, Input=layers.Input)
        top.callbacks = callbacks  # type: ignore[attr-defined]
        top.models = module(f"{root}.models", Model=model, Sequential=sequential)  # type: ignore[attr-defined]
        optimizers = {c.__name__: c for c in kinds(standalone)}
        top.optimizers = module(f"{root}.optimizers", **optimizers)  # type: ignore[attr-defined]
        found = {one.__name__: one for one in (top, layers, utils, callbacks, top.models, top.optimizers)}
        if world == "old":
            utils.multi_gpu_model = multi_gpu_model  # type: ignore[attr-defined]
            if standalone:
                where = f"{root}.utils.training_utils"
                utils.training_utils = module(where, multi_gpu_model=multi_gpu_model)  # type: ignore[attr-defined]
                found[where] = utils.training_utils
        return found

    def layer(name: str) -> Any:
        if not name[:1].isupper():
            raise AttributeError(name)
        return type(name, (Layer,), {})

    def mirrored(devices: Any = None) -> Strategy:
        if devices is not None and not all(int(device.split(":")[1]) < GPUS for device in devices):
            raise Untrue(f"no such devices: {devices}")
        run.starts(gpus=True)
        return Strategy(run, GPUS if devices is None else len(devices))

    def physical(kind: str) -> list[int]:
        run.starts(gpus=False)
        return list(range(GPUS)) if kind == "GPU" else [0]

    def grow(gpu: int, enable: bool) -> None:
        if gpu == GPUS - 1 or run.started:
            run.sets("grows")

    inner = keras("tensorflow.keras")
    distribute = module("tensorflow.distribute", get_strategy=lambda: run.strategy, MirroredStrategy=mirrored)
    experimental = module("tensorflow.config.experimental", set_memory_growth=grow)
    config = module("tensorflow.config", list_physical_devices=physical, experimental=experimental)
    tensorflow = module(
        "tensorflow",
        keras=inner["tensorflow.keras"],
        distribute=distribute,
        config=config,
        data=module("tensorflow.data", Dataset=Dataset, AUTOTUNE=-1),
        nest=module("tensorflow.nest", map_structure=mapped),
        gather=lambda column, numbers: column[numbers],
        device=device,
    )
    modules = {"tensorflow": tensorflow, **inner}
    return {**modules, **keras("keras")} if world == "old" else {**modules, "keras": None}, run  # type: ignore[dict-item]


@contextmanager
def device(name: str) -> Iterator[None]:
    yield


def module(name: str, **members: Any) -> types.ModuleType:
    made = types.ModuleType(name)
    made.__path__ = []  # type: ignore[attr-defined]
    made.__dict__.update(members)
    return made


class _Finder(MetaPathFinder, Loader):
    """Imports the other files of a program out of memory."""

    def __init__(self, files: Mapping[str, str], names: Mapping[str, Any]) -> None:
        self.files, self.names = files, names

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if f"{fullname}.py" in self.files else None

    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__.update(self.names)
        exec(compile(self.files[f"{module.__name__}.py"], module.__name__, "exec"), module.__dict__)


def trace(files: Mapping[str, str], main: str, world: World) -> list[tuple[Any, ...]]:
    """What a program builds, compiles, trains, on what, over how many replicas, and what it prints.

    Raises what the program raises, or Untrue.
    """
    modules, run = build(world)
    own = {name.removesuffix(".py") for name in files}
    real = [name for name in sys.modules if name.split(".")[0] in ("tensorflow", "keras") or name in own]
    before = {name: sys.modules.pop(name) for name in real}
    sys.modules.update(modules)
    names = {"print": lambda *words: run.log.append(("print", *words))}
    finder = _Finder(files, names)
    sys.meta_path.insert(0, finder)
    try:
        exec(compile(files[main], main, "exec"), {"__name__": "__main__", **names})
        run.ends()
    finally:
        sys.meta_path.remove(finder)
        for name in (*modules, *own):
            sys.modules.pop(name, None)
        sys.modules.update(before)
    return run.log
