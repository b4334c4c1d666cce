"""tf.data without what decides when rows are prepared and handed over, and never which: its tuner, and the buffers that
are filled on each device ahead of the training.

A tuned pipeline that ends waits for its tuner to wake up, for up to several seconds (measured in TensorFlow 2.21: six
epochs on four logical CPUs take 12 s of processor either way, and 24 s of the clock with the tuner, 13 s without).

The buffers are four traced functions for each device, made anew in every epoch and every validation: of the same six
epochs they are half. Where all devices are the host's one memory, its own iterator hands out the same batches. Buffers
stay where they decide which: an iterator of Python cannot be begun again, and what a buffer took of it is lost.
"""

import functools
import importlib

KEPT = set()
"""Why buffers stay from then on, if they do."""


def keep_buffers(why):
    KEPT.add(why)


def install(tf, machine):
    """Every dataset is iterated without the tuner, but one that asks for it; on logical CPUs, without buffers."""
    leave_untuned(tf)
    if machine.kind == "logical CPU":
        hand_out_from_host()


def leave_untuned(tf):
    dataset = getattr(getattr(tf, "data", None), "Dataset", None)
    # What every iterator calls first, from TensorFlow 2.4 on; before, only runs without tf.data are made.
    prepared = getattr(dataset, "_apply_debug_options", None)
    if prepared is None:
        return

    @functools.wraps(prepared)
    def untuned(self):
        asked = getattr(self.options(), "autotune", None)
        if asked is not None and asked.enabled is None:
            options = tf.data.Options()
            options.autotune.enabled = False
            self = self.with_options(options)
        return prepared(self)

    dataset._apply_debug_options = untuned


def hand_out_from_host():
    """Distributed datasets take the batches of a step, one for each device, from a plain iterator one after the other,
    as a buffered one does. Datasets that replicas asked for themselves (PER_REPLICA) are left as they are."""
    try:
        inputs = importlib.import_module("tensorflow.python.distribute.input_lib")
        device = importlib.import_module("tensorflow.python.framework.ops").device
        buffers = importlib.import_module("tensorflow.python.data.ops.multi_device_iterator_ops")
    except ImportError:
        return
    buffered = getattr(inputs, "_should_use_multi_device_iterator", None)
    iterator = getattr(inputs, "_SingleWorkerDatasetIteratorBase", None)
    many = getattr(buffers, "OwnedMultiDeviceIterator", None)
    if buffered is None or many is None or not hasattr(iterator, "get_next_as_optional_list"):
        return  # another TensorFlow: it only takes longer
    inputs._should_use_multi_device_iterator = lambda options: bool(KEPT) and buffered(options)

    def for_each_device(original, ask):
        @functools.wraps(original)
        def batches(self, *args, **kwargs):
            if isinstance(self._iterator, many) or not buffered(self._options):
                return original(self, *args, **kwargs)
            with device(self._worker):
                return [ask(self._iterator) for _ in self._devices]

        return batches

    iterator.get_next_as_list = for_each_device(iterator.get_next_as_list, lambda host: host.get_next())
    iterator.get_next_as_optional_list = for_each_device(
        iterator.get_next_as_optional_list, lambda host: host.get_next_as_optional()
    )
