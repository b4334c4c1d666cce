"""The devices a run's replicas live on, and what the script is told about them."""

import functools
import importlib
import subprocess
import sys

LIBRARIES = frozenset(["tensorflow", "tensorflow_core", "keras", "tf_keras", __name__.split(".")[0]])
"""Top packages that must see the real devices: a faked GPU would make them choose GPU kernels."""


class Machine(object):
    """`kind` is "physical GPU", "logical GPU" or "logical CPU"; `devices` are the replicas' names ("/gpu:0", ...)."""

    def __init__(self, kind, devices, replicas):
        self.kind = kind
        self.devices = devices
        self.replicas = replicas


def configure(tf, world, replicas, threads, workers=1, estimated=False):
    """Sets the devices up, before anything else is done with TensorFlow: as many physical GPUs as replicas; else
    logical GPUs on one card; else logical CPUs. A genuine old TensorFlow runs all its towers on the one CPU; where it
    trains Estimators (`estimated`), whose strategy wants a device for each replica, on logical CPUs of each session.

    Each of several workers has its share of the replicas here. MultiWorkerMirroredStrategy takes all the GPUs of a
    worker, or else the first CPU alone.
    """
    if world == "genuine":
        configure_sessions(threads, replicas if estimated else 1)
        if int(tf.__version__.split(".")[0]) >= 2:
            if threads:
                limit_threads(tf, threads)
            if estimated:
                split(tf, tf.config.list_physical_devices("CPU")[0], replicas)
        return Machine("logical CPU", names("cpu", replicas) if estimated else ("/cpu:0",), replicas)
    if threads:
        limit_threads(tf, threads)
    config = tf.config
    gpus = config.list_physical_devices("GPU")
    if workers > 1 and not gpus:
        return Machine("logical CPU", names("cpu", 1), replicas)
    replicas = replicas // workers
    if len(gpus) >= replicas:
        return Machine("physical GPU", names("gpu", replicas), replicas)
    device, kind, limit = (
        (gpus[0], "gpu", memory_share(replicas)) if gpus else (config.list_physical_devices("CPU")[0], "cpu", None)
    )
    split(tf, device, replicas, limit)
    return Machine("logical GPU" if gpus else "logical CPU", names(kind, replicas), replicas)


def split(tf, device, count, limit=None):
    """`limit` is each part's memory in mebibytes."""
    parts = [tf.config.LogicalDeviceConfiguration(memory_limit=limit) for _ in range(count)]
    tf.config.set_logical_device_configuration(device, parts)


def names(kind, count):
    return tuple("/%s:%d" % (kind, i) for i in range(count))


def limit_threads(tf, threads):
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)


def memory_share(parts):
    """Mebibytes for each of `parts` logical GPUs on the first card: four fifths of it, divided."""
    try:
        answer = subprocess.check_output(["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"])
        return int(int(answer.decode().split()[0]) * 0.8 / parts)
    except (OSError, ValueError, IndexError, subprocess.CalledProcessError):
        return 2048


def configure_sessions(threads, cpus):
    """Every session, also one that the script makes, has so many CPU devices and may place an op elsewhere: "/gpu:1"
    then means the CPU."""
    session = importlib.import_module("tensorflow.python.client.session")
    protobuf = importlib.import_module("tensorflow.core.protobuf.config_pb2")
    original = session.BaseSession.__init__

    @functools.wraps(original)
    def __init__(self, target="", graph=None, config=None):
        config = config or protobuf.ConfigProto()
        config.allow_soft_placement = True
        if threads:
            config.intra_op_parallelism_threads = threads
            config.inter_op_parallelism_threads = threads
        if cpus > 1:
            config.device_count["CPU"] = cpus
            # An iterator of several devices waits for its own threads: with one to run operations TF 1.15 may hang.
            config.inter_op_parallelism_threads = 0
        original(self, target, graph, config)

    session.BaseSession.__init__ = __init__


def for_the_script(real, answer):
    """Asks `answer` when the script calls, `real` when a library does."""

    @functools.wraps(real)
    def ask(*args, **kwargs):
        caller = sys._getframe(1).f_globals.get("__name__") or ""
        if caller.split(".")[0] in LIBRARIES:
            return real(*args, **kwargs)
        return answer(*args, **kwargs)

    return ask


class FakeDevice(object):
    """What a script can ask a listed GPU: its name and its kind."""

    def __init__(self, name, device_type):
        self.name = name
        self.device_type = device_type

    def __repr__(self):
        return "PhysicalDevice(name='%s', device_type='%s')" % (self.name, self.device_type)


FakeDevice.__name__ = FakeDevice.__qualname__ = "PhysicalDevice"  # so that errors say what they would say of one
FakeDevice.__module__ = "tensorflow.python.eager.context"


def show_to_script(tf, machine, begun):
    """Lets `len(list_physical_devices('GPU'))` and its kin see as many GPUs as there are replicas, to be set up until
    `begun()`, as real ones are."""
    if machine.kind == "physical GPU":
        return
    show_config(tf, machine.replicas, begun)
    show_device_lib(machine.replicas)
    show_backends(machine.replicas)
    show_tests(tf)
    if hasattr(tf, "distribute"):
        map_mirrored_strategy(machine)


def in_use():
    """Whether TensorFlow has started its devices."""
    return importlib.import_module("tensorflow.python.eager.context").context()._context_handle is not None


def never():
    return False


SET = {
    "set_memory_growth": "Physical",
    "set_visible_devices": "Visible",
    "set_virtual_device_configuration": "Virtual",
    "set_logical_device_configuration": "Virtual",
}
"""What sets a device up, and what TensorFlow calls it where that comes too late."""
ASKED = ("get_device_details", "get_memory_growth")


def show_config(tf, count, begun):
    physical = [FakeDevice("/physical_device:GPU:%d" % i, "GPU") for i in range(count)]
    logical = [FakeDevice("/device:GPU:%d" % i, "GPU") for i in range(count)]
    modules = [tf, getattr(tf, "compat", None) and tf.compat.v1]
    places = []
    for module in modules:
        config = getattr(module, "config", None)
        places += [config, getattr(config, "experimental", None)]
    for place in places:
        for name, fakes in (
            ("list_physical_devices", physical),
            ("get_visible_devices", physical),
            ("list_logical_devices", logical),
        ):
            real = getattr(place, name, None)
            if real is not None:
                setattr(place, name, for_the_script(real, listing(real, fakes)))
        for name in (*SET, *ASKED):
            real = getattr(place, name, None)
            if real is not None:
                setattr(place, name, for_the_script(real, not_for_fakes(real, SET.get(name), begun)))


def listing(real, fakes):
    def answer(device_type=None):
        if device_type == "GPU":
            return list(fakes)
        others = [device for device in real(device_type) if device.device_type != "GPU"]
        return others + list(fakes) if device_type is None else others

    return answer


def not_for_fakes(real, kind, begun):
    """`kind`: of what it sets up; None where it sets nothing."""

    def answer(devices, *args, **kwargs):
        first = devices[0] if isinstance(devices, (list, tuple)) and devices else devices
        if isinstance(first, FakeDevice) or devices == []:
            if kind is not None and begun():
                raise RuntimeError("%s devices cannot be modified after being initialized" % kind)
            return None
        return real(devices, *args, **kwargs)

    return answer


def show_device_lib(count):
    library = importlib.import_module("tensorflow.python.client.device_lib")
    attributes = importlib.import_module("tensorflow.core.framework.device_attributes_pb2")
    real = library.list_local_devices

    def answer(*args, **kwargs):
        others = [device for device in real(*args, **kwargs) if device.device_type == "CPU"]
        return others[:1] + [
            attributes.DeviceAttributes(name="/device:GPU:%d" % i, device_type="GPU", memory_limit=1 << 30)
            for i in range(count)
        ]

    library.list_local_devices = for_the_script(real, answer)


def show_backends(count):
    for name in ("keras.backend.tensorflow_backend", "tensorflow.python.keras.backend"):
        module = sys.modules.get(name)
        real = getattr(module, "_get_available_gpus", None)
        if real is not None:
            module._get_available_gpus = for_the_script(real, lambda: ["/device:GPU:%d" % i for i in range(count)])


def show_tests(tf):
    for module in (tf, getattr(tf, "compat", None) and tf.compat.v1):
        test = getattr(module, "test", None)
        for name, answer in (("is_gpu_available", True), ("gpu_device_name", "/device:GPU:0")):
            real = getattr(test, name, None)
            if real is not None:
                setattr(test, name, for_the_script(real, lambda *args, _answer=answer, **kwargs: _answer))


def map_mirrored_strategy(machine):
    """ "/gpu:2" means the third device of the machine; no devices means all of them."""
    try:
        module = importlib.import_module("tensorflow.python.distribute.mirrored_strategy")
    except ImportError:
        return
    for name in ("MirroredStrategy", "MirroredStrategyV1"):
        strategy = getattr(module, name, None)
        if strategy is None:
            continue
        strategy.__init__ = mapped(strategy.__init__, machine)
    # tf.contrib has a class of its own, which is not imported yet, on the same base.
    if hasattr(module, "all_local_devices"):
        module.all_local_devices = first_of(machine)
    extended = getattr(module, "MirroredExtended", None)
    if extended is not None:
        extended.__init__ = mapped_extended(extended.__init__, machine)


def first_of(machine):
    def all_local_devices(num_gpus=None):
        if num_gpus is None:
            return tuple(machine.devices)
        return tuple(device_of("/gpu:%d" % place, machine) for place in range(num_gpus))

    return all_local_devices


def mapped_extended(original, machine):
    @functools.wraps(original)
    def __init__(self, container_strategy, devices, cross_device_ops=None):
        own = [device_of(name, machine) for name in devices] if devices else devices
        original(self, container_strategy, own, None if is_nccl(cross_device_ops) else cross_device_ops)

    return __init__


def is_nccl(operations):
    """NCCL cannot reduce between parts of one card, nor on a CPU; TensorFlow's own choice can."""
    return type(operations).__name__ == "NcclAllReduce"


def mapped(original, machine):
    @functools.wraps(original)
    def __init__(self, devices=None, cross_device_ops=None):
        if is_nccl(cross_device_ops):
            cross_device_ops = None
        chosen = machine.devices if devices is None else [device_of(name, machine) for name in devices]
        original(self, devices=list(chosen), cross_device_ops=cross_device_ops)

    return __init__


def device_of(name, machine):
    kind, _, index = name.lower().replace("device:", "").strip("/").split("/")[-1].partition(":")
    if kind != "gpu":
        return name
    if int(index or 0) >= machine.replicas:
        raise ValueError(
            "the script requests %s, but this run has %d replicas: run it with more" % (name, machine.replicas)
        )
    return machine.devices[int(index or 0)]
