from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import cast

import pytest

from tfmigrate.verify.probe import calls
from tfmigrate.verify.probe import devices as shown
from tfmigrate.verify.run import devices
from tfmigrate.verify.run.devices import gpus

from .processes import executable


def tool(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a program called nvidia-smi, and nothing else, on PATH."""
    executable(folder / "nvidia-smi", f"{script}\n")
    monkeypatch.setenv("PATH", str(folder))


def test_names_each_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(tmp_path, monkeypatch, "echo 'NVIDIA A100, 40960 MiB'\necho 'NVIDIA T4, 15360 MiB'")
    assert gpus() == ("NVIDIA A100, 40960 MiB", "NVIDIA T4, 15360 MiB")


def test_none_where_the_tool_fails_or_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(tmp_path, monkeypatch, "echo 'no driver'; exit 9")
    assert gpus() == ()
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert gpus() == ()


@pytest.mark.parametrize(
    ("allowed", "visible"), [(None, 2), ("0", 1), ("1,0", 2), ("0,1,2,3", 2), ("-1", 0), ("", 0), ("GPU-8932f937", 1)]
)
def test_how_many_a_run_may_use(
    allowed: str | None, visible: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool(tmp_path, monkeypatch, "echo 'NVIDIA A100, 40960 MiB'\necho 'NVIDIA T4, 15360 MiB'")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if allowed is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", allowed)
    assert devices.visible() == visible


def test_the_free_memory_of_the_first_that_a_run_may_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(tmp_path, monkeypatch, 'case "$*" in *--id=3*) echo 2;; *--id=0*) echo 40960;; *) exit 9;; esac')
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert devices.free_memory() == 40960 << 20
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,1")
    assert devices.free_memory() == 2 << 20
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert devices.free_memory() == 0


def test_what_stands_in_for_a_gpu_can_be_set_up_until_devices_are_in_use() -> None:
    real: list[object] = []
    started = False
    grow = shown.not_for_fakes(lambda device, enable: real.append(device), "Physical", lambda: started)
    details = shown.not_for_fakes(lambda device: {}, None, lambda: started)
    fake = shown.FakeDevice("/physical_device:GPU:0", "GPU")
    grow(fake, True)
    started = True
    with pytest.raises(RuntimeError, match=r"^Physical devices cannot be modified after being initialized$"):
        grow(fake, True)
    assert details(fake) is None
    grow("the CPU", True)
    assert real == ["the CPU"], "of which TensorFlow itself says whether it is too late"
    assert repr(type(fake)).endswith("PhysicalDevice'>")


class Watcher:
    def __init__(self, **settings: object) -> None:
        vars(self).update(settings)


def test_what_callbacks_wait_for() -> None:
    stop, best = Watcher(monitor="val_loss"), Watcher(monitor="val_acc", save_best_only=True)
    each_epoch, own = Watcher(monitor="val_loss", save_best_only=False), Watcher(monitor=lambda: None)
    found = calls.watched([stop, best, each_epoch, own, object()])
    assert found == [["Watcher", "val_loss"], ["Watcher", "val_acc"]]


class Extended:
    """As MirroredExtended of TensorFlow 1.15, which the strategy of tf.contrib is made on."""

    def __init__(self, container_strategy: object, devices: object = None, cross_device_ops: object = None) -> None:
        self.given = devices, cross_device_ops


class NcclAllReduce:
    pass


def test_the_strategy_of_contrib_gets_the_devices_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "tensorflow.python.distribute.mirrored_strategy"
    module = SimpleNamespace(all_local_devices=lambda num_gpus=None: (), MirroredExtended=Extended)
    for part in (name.rsplit(".", place)[0] for place in range(1, 4)):
        monkeypatch.setitem(sys.modules, part, ModuleType(part))
    monkeypatch.setitem(sys.modules, name, cast(ModuleType, module))
    monkeypatch.setattr(Extended, "__init__", Extended.__init__)
    shown.map_mirrored_strategy(shown.Machine("logical CPU", ("/cpu:0", "/cpu:1"), 2))
    local = cast(Callable[..., object], module.all_local_devices)
    assert local() == local(2) == ("/cpu:0", "/cpu:1")
    assert local(num_gpus=1) == ("/cpu:0",)
    with pytest.raises(ValueError, match="run it with more"):
        local(3)
    assert Extended(None, ["/device:GPU:1", "/cpu:0"]).given == (["/cpu:1", "/cpu:0"], None)
    assert Extended(None, None, NcclAllReduce()).given == (None, None)
    assert Extended(None, None, "other").given == (None, "other")
