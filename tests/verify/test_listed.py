"""The devices that a session lists for a copy of multi_gpu_model in the program."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from tfmigrate.verify.probe.devices import FakeDevice, Machine
from tfmigrate.verify.probe.listed import NoSession, show_sessions


class Session:
    def list_devices(self) -> list[FakeDevice]:
        return [FakeDevice("/device:CPU:0", "CPU"), FakeDevice("/device:XLA_CPU:0", "XLA_CPU")]


def named(devices: list[FakeDevice]) -> list[str]:
    return [device.name for device in devices]


@pytest.mark.parametrize(("kind", "last"), [("logical CPU", "/device:GPU:1"), ("physical GPU", "/device:XLA_CPU:0")])
def test_a_session_lists_as_many_gpus_as_replicas_to_the_script(
    monkeypatch: pytest.MonkeyPatch, kind: str, last: str
) -> None:
    module = ModuleType("tensorflow.python.client.session")
    module.BaseSession = type("BaseSession", (Session,), {"list_devices": Session.list_devices})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    show_sessions(Machine(kind, ("/cpu:0",), 2))
    assert named(module.BaseSession().list_devices())[-1] == last
    library = {"__name__": "keras.backend.tensorflow_backend", "session": module.BaseSession()}
    exec("found = session.list_devices()", library)
    assert named(library["found"])[-1] == "/device:XLA_CPU:0"


def test_where_there_are_no_sessions_what_stands_for_one_lists_the_replicas() -> None:
    assert named(NoSession(2).list_devices()) == ["/device:CPU:0", "/device:GPU:0", "/device:GPU:1"]
