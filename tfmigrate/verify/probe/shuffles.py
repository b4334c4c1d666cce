"""What a script asks a `tf.data` pipeline to shuffle."""

import functools
import importlib

from . import flavours

SHUFFLED = "_tfmigrate_shuffle"


def watch(still):
    """The result of `Dataset.shuffle` remembers what was asked; if `still`, it keeps the order."""
    dataset = importlib.import_module("tensorflow.python.data.ops.dataset_ops").DatasetV2

    original = dataset.shuffle

    @functools.wraps(original)
    def shuffle(self, buffer_size, *args, **kwargs):
        result = self.skip(0) if still else original(self, buffer_size, *args, **kwargs)
        setattr(result, SHUFFLED, (buffer_size, self))
        return result

    dataset.shuffle = shuffle
    fused = flavours.optional("tensorflow.python.data.experimental.ops.shuffle_ops")
    if hasattr(fused, "_ShuffleAndRepeatDataset"):
        fused._ShuffleAndRepeatDataset = shuffled_and_repeated


def shuffled_and_repeated(dataset, buffer_size, count=None, seed=None):
    """What `dataset.apply(shuffle_and_repeat(...))` does in one operation."""
    return dataset.shuffle(buffer_size, seed=seed).repeat(count)


def of(dataset):
    """ "full", "buffer N", "batches" (whole batches reordered) or "none", as the dataset's `shuffle` calls asked."""
    pending = [dataset]
    while pending:
        node = pending.pop()
        asked = getattr(node, SHUFFLED, None)
        if asked is not None:
            buffer_size, source = asked
            if any("Batch" in type(part).__name__ for part in upstream(source)):
                return "batches"
            size, count = number(buffer_size), cardinality(source)
            return "full" if size is not None and 0 <= count <= size else "buffer %s" % size
        pending.extend(inputs_of(node))
    return "none"


def inputs_of(dataset):
    inner = getattr(dataset, "_dataset", None)  # TensorFlow 1 wraps each dataset in an adapter
    if inner is not None and hasattr(inner, "_inputs"):
        return [inner]
    try:
        return list(dataset._inputs())
    except (AttributeError, TypeError):
        return []


def upstream(dataset):
    pending = [dataset]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(inputs_of(node))


def number(value):
    try:
        return int(value)
    except (TypeError, ValueError):
        try:
            return int(value.numpy())
        except Exception:
            return None


def cardinality(dataset):
    """Elements; -1 endless, -2 unknown."""
    tf = importlib.import_module("tensorflow")
    try:
        batches = tf.data.experimental.cardinality(dataset)
        if hasattr(batches, "numpy"):
            return int(batches.numpy())
        with tf.compat.v1.Session(graph=batches.graph) as session:
            return int(session.run(batches))
    except Exception:
        return -2
