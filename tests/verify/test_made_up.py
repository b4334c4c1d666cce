"""Weights that stand in for a download, on layers that are none of TensorFlow's."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tfmigrate.verify.probe import made_up
from tfmigrate.verify.probe.recorder import Recorder


class Variable:
    def __init__(self, name: str, *shape: int) -> None:
        self.name, self.shape = name, shape


class Layer:
    def __init__(self, *variables: Variable) -> None:
        self.weights = list(variables)
        self.values: list[Any] = []

    def set_weights(self, values: list[Any]) -> None:
        assert [value.shape for value in values] == [variable.shape for variable in self.weights]
        self.values = values


def network() -> Any:
    """What two Kerases make of one network: names have other numbers."""

    class Network:
        def __init__(self, first: int) -> None:
            self.layers = [
                Layer(Variable(f"conv_{first}/kernel:0", 3, 3, 8, 16), Variable(f"conv_{first}/bias:0", 16)),
                Layer(),
                Layer(*(Variable(f"bn_{first}/{name}:0", 16) for name in ("gamma", "beta", "moving_variance"))),
            ]
            self.loaded: list[str] = []

        def load_weights(self, path: str, by_name: bool = False) -> None:
            self.loaded.append(path)

    return Network


def flavour(model: Any, fails: bool) -> Any:
    def get_file(fname: str | None = None, origin: str | None = None, **more: Any) -> str:
        if fails:
            raise OSError("URL fetch failure on https://example.org")
        return f"/cache/{fname}"

    namespace = SimpleNamespace(utils=SimpleNamespace(get_file=get_file), Model=model)
    return SimpleNamespace(namespaces=[namespace], trainers=[(model, False)])


def test_a_file_that_cannot_be_downloaded_is_made_up_alike_in_both_worlds(tmp_path: Path) -> None:
    made = []
    for number in (1, 7):
        kind = network()
        one = flavour(kind, True)
        recorder = Recorder({"output": str(tmp_path / str(number))})
        made_up.install(one, recorder)
        path = one.namespaces[0].utils.get_file("vgg.h5", "https://example.org/vgg.h5")
        model = kind(number)
        model.load_weights(path, by_name=True)
        assert model.loaded == []
        made.append([value for layer in model.layers for value in layer.values])
        assert any("vgg.h5 could not be downloaded" in note for note in recorder.lines.notes)
    for ours, theirs in zip(*made):
        np.testing.assert_array_equal(ours, theirs)
    kernel, bias, gamma, beta, variance = made[0]
    assert abs(np.std(kernel) / np.sqrt(2 / 72) - 1) < 0.1, "as He's initializer draws it"
    assert np.abs(bias).max() < 0.1
    assert np.abs(beta).max() < 0.1
    assert min(gamma.min(), variance.min()) >= 1.0, "a variance is never negative"


def test_what_can_be_downloaded_is_and_other_files_stay_other_files(tmp_path: Path) -> None:
    kind = network()
    one = flavour(kind, False)
    made_up.install(one, Recorder({"output": str(tmp_path / "a")}))
    path = one.namespaces[0].utils.get_file("vgg.h5")
    model = kind(1)
    model.load_weights(path)
    assert model.loaded == ["/cache/vgg.h5"]
    broken = flavour(network(), True)
    made_up.install(broken, Recorder({"output": str(tmp_path / "b")}))
    with pytest.raises(OSError, match="URL fetch failure"):
        broken.namespaces[0].utils.get_file("pictures.zip", "https://example.org/pictures.zip")
