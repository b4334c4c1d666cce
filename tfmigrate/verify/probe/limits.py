"""Makes a training call short: so many steps an epoch, the first of those that the whole call would take.

Both worlds are cut alike, whatever their data comes from: arrays to their first rows (after `validation_split` took its
share off the end), a dataset to its first batches, a Sequence or a generator by `steps_per_epoch`.
"""

import math

import numpy as np

KERAS_BATCH = 32
"""Keras' own default."""


def shorten(arguments, signature, source, config):
    """Cuts the data in `arguments`; returns a remark where that could not be done, else None."""
    data = arguments.get("x", arguments.get("generator"))
    steps, samples = config.get("steps_per_epoch"), config.get("samples")
    if samples:
        size = batch_size(arguments, data, source)
        if size is None:
            return "--subset does not limit a generator, because its batch size is unknown; --steps does"
        steps = min(steps or samples, max(1, samples // size))
    if not steps:
        return None
    asked = arguments.get("steps_per_epoch") or 0
    if asked:
        arguments["steps_per_epoch"] = min(asked, steps)
    elif source == "arrays":
        cut_arrays(arguments, steps * batch_size(arguments, data, source))
    elif source == "dataset":
        arguments["x"] = data.take(steps)
    elif "steps_per_epoch" in signature.parameters:
        arguments["steps_per_epoch"] = min(len(data), steps) if source == "sequence" else steps
    return None


def shorten_validation(arguments, signature, source, steps):
    """Cuts the validation of each epoch to its first batches. `source`: what kind of data it reads."""
    asked = arguments.get("validation_steps")
    if source == "dataset" and not asked:
        arguments["validation_data"] = arguments["validation_data"].take(steps)
    elif asked or source in ("sequence", "generator"):
        if "validation_steps" in signature.parameters:
            length = asked or (len(arguments["validation_data"]) if source == "sequence" else steps)
            arguments["validation_steps"] = min(length, steps)
    elif isinstance(arguments.get("validation_data"), (tuple, list)):
        size = arguments.get("validation_batch_size") or arguments.get("batch_size") or KERAS_BATCH
        first = slice(0, steps * size)
        arguments["validation_data"] = tuple(part(values, first) for values in arguments["validation_data"])


def steps_of(arguments, source):
    """Steps of an epoch as the script asks for it; None where only the end of the data would tell."""
    data = arguments.get("x", arguments.get("generator"))
    steps = arguments.get("steps_per_epoch")
    if steps:
        return int(math.ceil(steps))
    if source == "sequence":
        return len(data)
    try:
        if source == "arrays":
            split = 0.0 if arguments.get("validation_data") is not None else arguments.get("validation_split") or 0.0
            return int(math.ceil(int(rows(data) * (1.0 - split)) / float(batch_size(arguments, data, source))))
        if source == "dataset":
            count = int(data.cardinality())
            return count if count >= 0 else None
    except (AttributeError, TypeError):  # a tensor, or a dataset in a graph
        pass
    return None


def batch_size(arguments, data, source):
    """Samples a batch; None where only drawing one would tell."""
    if source == "arrays":
        return arguments.get("batch_size") or KERAS_BATCH
    if source == "sequence":
        return rows(data[0])
    return batched(data) if source == "dataset" else None


def batched(dataset):
    """The size that the last `batch` of a dataset asked for."""
    pending = [dataset]
    while pending:
        node = pending.pop(0)
        size = getattr(node, "_batch_size", None)
        try:  # a graph's tensor is no number yet
            if size is not None:
                return int(size)
            pending.extend(node._inputs())
        except (AttributeError, TypeError):
            continue
    return None


def rows(values):
    """The length of the first array in a structure."""
    while isinstance(values, (tuple, list, dict)):
        values = list(values.values())[0] if isinstance(values, dict) else values[0]
    return len(values)


def cut_arrays(arguments, count):
    split = arguments.get("validation_split") or 0.0
    columns = [name for name in ("x", "y", "sample_weight") if arguments.get(name) is not None]
    if split and arguments.get("validation_data") is None:
        at = int(rows(arguments["x"]) * (1.0 - split))
        arguments["validation_data"] = tuple(part(arguments[name], slice(at, None)) for name in columns)
        count = min(count, at)
        arguments["validation_split"] = 0.0
    for name in columns:
        arguments[name] = part(arguments[name], slice(0, count))


def part(values, where):
    """The rows of each array of a structure. A list of arrays is several inputs, one of numbers is data."""
    if values is None:
        return None
    if isinstance(values, dict):
        return {key: part(value, where) for key, value in values.items()}
    if isinstance(values, (tuple, list)) and values and all(hasattr(value, "shape") for value in values):
        return type(values)(part(value, where) for value in values)
    if hasattr(values, "iloc"):  # a table of pandas
        return values.iloc[where]
    return values[where] if hasattr(values, "shape") else np.asarray(values)[where]
