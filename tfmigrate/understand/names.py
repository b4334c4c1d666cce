"""Qualified names: what an imported thing is called, whichever module it came from."""

from __future__ import annotations

from functools import cache

from tfmigrate.old_keras import MOVED_MODULES

MULTI_GPU_MODEL = "keras.utils.multi_gpu_model"
OF_COPIES = frozenset({"multi_gpu_model", "make_parallel", "to_multi_gpu"})
"""What copies of it are called: its own name, and those of its forerunners."""
UNDEFINED = "<undefined>.multi_gpu_model"
"""For a name that nothing defines, although it is clear what was meant. No import can have this name."""

_HOMES_OF_KERAS = (
    "tensorflow._api.v1.keras",
    "tensorflow._api.v2.keras",
    "tensorflow.contrib.keras.api.keras",
    "tensorflow.contrib.keras.python.keras",
    "tensorflow.compat.v1.keras",
    "tensorflow.compat.v2.keras",
    "tensorflow.python.keras",
    "tensorflow.contrib.keras",
    "tensorflow.keras",
    "tf_keras",
    "keras.api",
)
_MOVED = {
    # keras.backend imported TensorFlow as `tf`, and scripts reached through it.
    "keras.backend.tf": "tensorflow",
    "keras.backend.tensorflow_backend.tf": "tensorflow",
    UNDEFINED: MULTI_GPU_MODEL,
    "keras.utils.training_utils.multi_gpu_model": MULTI_GPU_MODEL,
    "keras.utils.multi_gpu_utils.multi_gpu_model": MULTI_GPU_MODEL,
    **{
        f"keras.{old}": f"keras.{new[0]}"
        for old, new in MOVED_MODULES.items()
        if old.startswith(("utils.", "backend."))
    },
    "keras.engine.training.Model": "keras.models.Model",
    "keras.engine.Model": "keras.models.Model",
    "keras.engine.topology.Input": "keras.layers.Input",
    "keras.Model": "keras.models.Model",
    "keras.Sequential": "keras.models.Sequential",
    # TensorFlow 2 gives its Keras optimizers this place too; TensorFlow 1 had nothing there.
    "tensorflow.optimizers": "keras.optimizers",
    "keras.Input": "keras.layers.Input",
    "keras.models.Input": "keras.layers.Input",
}

_LOWER_CASE_OPTIMIZERS = ("sgd", "rmsprop", "adagrad", "adadelta", "adam", "adamax", "nadam")


@cache
def canonical(name: str) -> str:
    """One name for one thing: `tensorflow.python.keras.utils.multi_gpu_model` and
    `keras.utils.training_utils.multi_gpu_model` both become `keras.utils.multi_gpu_model`.

    Every Keras is called `keras` here; `flavour` tells them apart.
    """
    for home in _HOMES_OF_KERAS:
        if name == home or name.startswith(home + "."):
            name = "keras" + name[len(home) :]
            break
    for old, new in _MOVED.items():
        if name == old or name.startswith(old + "."):
            return new + name[len(old) :]
    return _of_package(name)


def _of_package(name: str) -> str:
    """`keras.layers.recurrent.GRU` as the package itself exports it: `keras.layers.GRU`."""
    parts = name.split(".")
    while len(parts) > 3 and parts[1] in ("layers", "callbacks") and parts[2].islower() and parts[2] != "experimental":
        del parts[2]
    return ".".join(parts)


def flavour(name: str) -> str:
    """ "keras" for the standalone package, "tf.keras" for the one inside TensorFlow, "" for anything else."""
    root = name.split(".", 1)[0]
    if root == "keras":
        return "keras"
    return "tf.keras" if canonical(name).startswith("keras.") or canonical(name) == "keras" else ""


def is_layer(name: str) -> bool:
    """A class whose instances hold variables of a model: layers, wrappers, cells, preprocessing."""
    head, _, last = canonical(name).rpartition(".")
    return head.startswith("keras.layers") and last[:1].isupper()


def is_pretrained(name: str) -> bool:
    """A function of keras.applications that returns a model."""
    parts = canonical(name).split(".")
    return parts[:2] == ["keras", "applications"] and len(parts) > 2 and parts[-1][:1].isupper()


def is_optimizer(name: str) -> bool:
    """A class of keras.optimizers, or one of the lower-case names it also had before TensorFlow 2."""
    parts = canonical(name).split(".")
    lower = parts[-1] in _LOWER_CASE_OPTIMIZERS
    return parts[:2] == ["keras", "optimizers"] and (parts[-1][:1].isupper() or lower) and "schedules" not in parts


def is_metric(name: str) -> bool:
    head, _, last = canonical(name).rpartition(".")
    return head == "keras.metrics" and last[:1].isupper()


def lists_devices(name: str) -> str | None:
    """ "devices" for a function that lists the machine's devices, "gpus" for one that lists its GPUs."""
    last = name.rsplit(".", 1)[-1]
    if last == "_get_available_gpus":
        return "gpus"
    listing = ("list_local_devices", "list_physical_devices", "list_logical_devices")
    is_tensorflow = name.startswith(("tensorflow.", "keras.backend.device_lib."))
    return "devices" if is_tensorflow and last in listing else None


def makes_dataset(name: str) -> bool:
    """A function or class that returns a tf.data pipeline."""
    parts = canonical(name).split(".")
    of_data = parts[:2] == ["tensorflow", "data"] and any(part.endswith("Dataset") for part in parts)
    return of_data or parts[-1].endswith("_dataset_from_directory")


def reads_settings(name: str) -> bool:
    """A class or function of the standard library that gives text and numbers, or an object that gives only these."""
    return name.startswith(("argparse.", "configparser.", "ConfigParser.", "json."))


_STRATEGIES = frozenset(
    {
        "MirroredStrategy",
        "MultiWorkerMirroredStrategy",
        "CollectiveAllReduceStrategy",
        "CentralStorageStrategy",
        "OneDeviceStrategy",
        "ParameterServerStrategy",
        "ParameterServerStrategyV2",
        "TPUStrategy",
        "TPUStrategyV2",
    }
)


def strategy_class(name: str) -> str | None:
    """The class of tf.distribute that a name is, under whichever of its homes; None for anything else."""
    parts = name.split(".")
    return parts[-1] if parts[0] == "tensorflow" and "distribute" in parts and parts[-1] in _STRATEGIES else None


_DOORS_OF_TENSORFLOW = (
    "tensorflow.compat.v1",
    "tensorflow.compat.v2",
    "tensorflow._api.v1",
    "tensorflow._api.v2",
    "tensorflow.python",
)


def plain(name: str) -> str:
    """A name of TensorFlow without the door it came in by: `tensorflow.compat.v1.layers.dense` is
    `tensorflow.layers.dense`."""
    for home in _DOORS_OF_TENSORFLOW:
        if name.startswith(home + "."):
            return "tensorflow" + name[len(home) :]
    return name


_ESTIMATOR_HOMES = (
    "tensorflow.estimator.",
    "tensorflow.contrib.learn.",
    "tensorflow.contrib.estimator.",
    "tensorflow.keras.estimator.",
    "tensorflow_estimator.python.estimator.",
    "tensorflow_estimator.estimator.",
)
_INSIDE_ESTIMATOR = ("estimator.", "run_config.", "training.", "model_fn.")
"""The modules of tf.estimator that its private doors lead to, by which its public names have no part."""


def estimator_name(name: str) -> str | None:
    """The part of tf.estimator that a name is ("Estimator", "TrainSpec", "inputs.numpy_input_fn"), or None."""
    name = plain(name)
    home = next((home for home in _ESTIMATOR_HOMES if name.startswith(home)), None)
    if home is None:
        return None
    part = name[len(home) :]
    return part[len(next(filter(part.startswith, _INSIDE_ESTIMATOR), "")) :]


MODEL_CLASSES = frozenset({"keras.models.Model", "keras.models.Sequential"})
MODEL_LOADERS = frozenset(
    {
        "keras.models.load_model",
        "keras.models.model_from_json",
        "keras.models.model_from_yaml",
        "keras.models.model_from_config",
        "keras.models.clone_model",
        "keras.models.Model.from_config",
        "keras.models.Sequential.from_config",
    }
)
