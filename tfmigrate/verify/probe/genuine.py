"""An old TensorFlow whose own multi_gpu_model must accept N devices on a machine without N GPUs.

Only the device check is patched; soft placement does the rest. The forms that the checks return are those that each
version's own name normaliser takes (its source: keras/utils/multi_gpu_utils.py).
"""

import functools
import sys
import types

from . import flavours

REPLICAS = "_tfmigrate_replicas"


def install(tf, machine):
    short = ["/gpu:%d" % i for i in range(machine.replicas)] + ["/cpu:0"]
    full = ["/device:CPU:0"] + ["/device:GPU:%d" % i for i in range(machine.replicas)]
    flavours.optional("tensorflow.keras.utils")  # so that its name for multi_gpu_model exists and is replaced below
    for name, devices in (
        ("keras.utils.multi_gpu_utils", short),
        ("keras.utils.training_utils", short),
        ("tensorflow.python.keras.utils.multi_gpu_utils", full),
    ):
        module = flavours.optional(name)
        if module is None or not hasattr(module, "multi_gpu_model"):
            continue
        if hasattr(module, "_get_available_devices"):
            module._get_available_devices = functools.partial(list, devices)
        mark_replicas(module.multi_gpu_model, machine.replicas)
    capture_devices(tf, flavours.optional("keras.backend.tensorflow_backend"))
    # Places where it is in other versions of its time: a script that takes it from there can run all the same.
    offer("tensorflow.python.keras.utils", "tensorflow.python.keras.utils.multi_gpu_utils")
    offer("keras.utils.training_utils", "keras.utils.multi_gpu_utils")


def capture_devices(tf, backend):
    """Keras before 2.3 asks which device a layer is on by a way that TensorFlow 1.14 changed: BatchNormalization in
    `with tf.device()` then dies of "no attribute '_set_device_from_string'"."""
    capture = getattr(backend, "_TfDeviceCaptureOp", None)
    if capture is not None and not hasattr(capture, "_set_device_from_string"):
        # As text, which the next tf.device() round it is merged with.
        capture._set_device_from_string = lambda self, text: setattr(self, "device", text)
        original = backend._get_current_tf_device

        @functools.wraps(original)
        def current():
            device = original()
            return device if device is None else tf.DeviceSpec.from_string(device)

        backend._get_current_tf_device = current


def offer(place, home):
    home = flavours.optional(home)
    if home is None:
        return
    module = flavours.optional(place)
    if module is None:
        module = sys.modules[place] = types.ModuleType(place)
    if not hasattr(module, "multi_gpu_model"):
        module.multi_gpu_model = home.multi_gpu_model


def mark_replicas(original, available):
    """Remembers on each parallel model how many replicas it has; nothing else of it says so."""

    @functools.wraps(original)
    def multi_gpu_model(model, gpus=None, *args, **kwargs):
        parallel = original(model, gpus, *args, **kwargs)
        count = available if gpus is None else len(gpus) if isinstance(gpus, (list, tuple)) else gpus
        object.__setattr__(parallel, REPLICAS, int(count))
        return parallel

    flavours.everywhere(original, multi_gpu_model)
