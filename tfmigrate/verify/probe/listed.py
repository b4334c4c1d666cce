"""What a session says of the machine's devices: a copy of multi_gpu_model that a project keeps asks it whether there
are as many GPUs as replicas."""

import importlib

from .devices import FakeDevice, for_the_script


class NoSession(object):
    """What `get_session()` answers where there are no sessions."""

    def __init__(self, count):
        self.count = count

    def list_devices(self):
        return [FakeDevice("/device:CPU:0", "CPU")] + gpus(self.count)


def gpus(count):
    return [FakeDevice("/device:GPU:%d" % i, "GPU") for i in range(count)]


def show_sessions(machine):
    if machine.kind == "physical GPU":
        return
    session = importlib.import_module("tensorflow.python.client.session").BaseSession
    real = session.list_devices

    def answer(self):
        return [device for device in real(self) if device.device_type == "CPU"][:1] + gpus(machine.replicas)

    session.list_devices = for_the_script(real, answer)
