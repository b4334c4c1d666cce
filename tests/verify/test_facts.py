"""What the probe reads off a model, and how it shares a remainder: with stand-ins for Keras's classes."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tfmigrate.verify.probe import facts, remainder, restored_callbacks, restored_files, restored_optimizers, seeded


class Layer:
    def __init__(self, **attributes: Any) -> None:
        self.weights: list[Any] = []
        vars(self).update(attributes)


class Dropout(Layer):
    pass


class GaussianNoise(Layer):
    pass


class LSTM(Layer):
    pass


class L2:
    def __init__(self, l2: Any) -> None:
        self.l2 = l2

    def get_config(self) -> dict[str, Any]:
        return {"l1": np.array(0.0, np.float32), "l2": self.l2}


class Net(Layer):
    def load_weights(self, path: str, by_name: bool = False) -> None:
        self.path = path


def model(*layers: Any, **attributes: Any) -> Any:
    return Net(layers=list(layers), **attributes)


def test_dropout_and_noise_in_their_order() -> None:
    cell = SimpleNamespace(**{facts.ASKED: {"dropout": 0.2, "recurrent_dropout": 0.0}})
    found = facts.of_model(model(Dropout(rate=0.25), GaussianNoise(stddev=0.1), Dropout(rate=0), LSTM(cell=cell)))
    assert found["noise"] == ["Dropout 0.25", "GaussianNoise 0.1", "LSTM dropout 0.2"]


def test_inside_a_parallel_model_are_its_templates() -> None:
    template = model(Dropout(rate=0.5))
    assert facts.of_model(model(Layer(), template, Layer()))["noise"] == ["Dropout 0.5"]


def test_regularizers_alike_in_every_keras() -> None:
    old = facts.of_model(model(Layer(kernel_regularizer=L2(np.array(1e-4, np.float32)))))
    new = facts.of_model(model(Layer(kernel_regularizer=L2(1e-4), bias_regularizer=None)))
    assert old["regularizers"] == new["regularizers"] == ["kernel l2=0.0001"]
    nothing = facts.of_model(model(Layer(embeddings_regularizer=L2(0.0))))
    assert nothing["regularizers"] == [], "it only makes the gradient dense"

    def own(weights: object) -> float:
        return 0.0

    assert facts.of_model(model(Layer(kernel_regularizer=own)))["regularizers"] == ["kernel own"]


def test_a_layer_without_a_kernel_had_nothing_of_the_arguments_for_one() -> None:
    parts = {"kernel_regularizer": L2(1e-4), "depthwise_regularizer": L2(0.1), "depthwise_initializer": None}
    separable = Layer(weights=[1], **parts, kernel_initializer=type("GlorotUniform", (), {})())
    found = facts.of_model(model(separable))
    assert found["regularizers"] == ["depthwise l2=0.1"]
    assert found["initializers"] == []


def test_dtypes_of_layers_with_weights() -> None:
    layers = [Layer(weights=[1], dtype="float32"), Layer(dtype="int32"), Layer(weights=[1], compute_dtype="bfloat16")]
    assert facts.of_model(model(*layers))["dtypes"] == ["bfloat16", "float32"]


def test_a_loss_that_the_scripts_own_code_adds() -> None:
    added: list[float] = []

    class Adding:
        def add_loss(self, loss: float) -> None:
            added.append(loss)

    own, keras, base = Adding(), Adding(), SimpleNamespace(layer_classes=[Adding])
    facts.watch_losses(base)
    facts.watch_losses(base)
    own.add_loss(1.0)
    exec("layer.add_loss(2.0)", {"__name__": "tensorflow.python.keras.engine.base_layer", "layer": keras})
    assert added == [1.0, 2.0]
    assert (hasattr(own, facts.ADDS), hasattr(keras, facts.ADDS)) == (True, False)


@pytest.fixture
def keras(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A Keras whose models are watched for files."""
    monkeypatch.setattr(Net, "load_weights", Net.load_weights)  # which is put back
    models = SimpleNamespace(load_model=lambda path: Net(layers=[Layer(weights=[SimpleNamespace(name="kernel")])]))
    namespace = SimpleNamespace(Model=Net, models=models)
    facts.watch_loading(SimpleNamespace(name="keras", trainers=[(Net, False)], namespaces=[namespace]))
    return namespace


def test_a_model_whose_template_was_loaded_was_loaded(keras: SimpleNamespace) -> None:
    template = model(Layer())
    assert not facts.of_model(model(template))["loaded"]
    template.load_weights("w.h5")
    assert template.path == "w.h5"
    assert facts.of_model(model(template))["loaded"]


def test_a_model_of_layers_that_were_all_loaded_was_loaded(keras: SimpleNamespace) -> None:
    one, other, head, plain = (Layer(weights=[SimpleNamespace(name=name)]) for name in "abcd")
    model(one, other).load_weights("w.h5", by_name=True)
    inner = model(one, Layer())
    made = [inner, model(inner, head), model(one, head), model(plain), model(Layer())]
    assert [facts.of_model(each)["loaded"] for each in made] == [True, True, False, False, False]


def test_only_a_file_that_gave_all_weights_is_the_scripts_own_affair(keras: SimpleNamespace) -> None:
    part, whole = (Layer(weights=[SimpleNamespace(name="kernel")]) for _ in range(2))
    model(part).load_weights("w.h5", by_name=True)
    model(part).load_weights("w.h5", True)
    model(whole).load_weights("w.h5")
    (loaded,) = keras.models.load_model("m.h5").layers
    assert [facts.from_file(layer.weights[0]) for layer in (part, whole, loaded)] == [False, True, True]


def test_the_restored_keras_3_saves_weights_by_the_name_asked_for(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")

    class Model:
        def save_weights(self, filepath: str) -> None:
            h5py.File(filepath, "w").close()

        def load_weights(self, filepath: str) -> str:
            return filepath

    keras_3 = SimpleNamespace(is_keras3=True, root=SimpleNamespace(models=SimpleNamespace(Model=Model)))
    restored_files.restore_weight_files(keras_3)
    shipped, own, at_checkpoint = (str(tmp_path / name) for name in ("shipped.h5", "own.h5", "best.h5"))
    with h5py.File(shipped, "w") as file:
        file.attrs["layer_names"] = ["dense"]
    assert Model().load_weights(shipped) == shipped
    Model().save_weights(own)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own.h5", "shipped.h5"]
    assert Model().load_weights(own) == own + ".weights.h5", "the ending says the format"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own.h5", "shipped.h5"]
    Model().save_weights(at_checkpoint + ".weights.h5")
    assert Model().load_weights(at_checkpoint) == at_checkpoint + ".weights.h5", "as ModelCheckpoint wrote it"


@pytest.mark.parametrize(("batch", "replicas"), [(29, 2), (29, 4), (8, 4), (5, 3), (2, 4)])
def test_weighted_samples_are_the_mean_of_the_replicas_means(batch: int, replicas: int) -> None:
    losses = np.random.default_rng(batch).random(batch)
    sizes = [size for size in remainder.sizes(batch, replicas) if size]
    assert sum(sizes) == batch
    assert max(sizes) - min(sizes) <= 1
    assert sizes == sorted(sizes, reverse=True), "the larger parts come first"
    if batch >= replicas:
        parts = np.split(losses, np.cumsum(sizes)[:-1])
        weighted = np.mean(losses * remainder.weights(batch, replicas))
        assert weighted == pytest.approx(np.mean([part.mean() for part in parts]), rel=1e-6)
        assert np.mean(remainder.weights(batch, replicas)) == pytest.approx(1.0)


def test_an_even_batch_weighs_nothing() -> None:
    assert (remainder.weights(128, 4) == 1.0).all()


def test_weights_of_times_and_samples() -> None:
    factors = np.array([2.0, 0.5], np.float32)
    assert remainder.on_each(np.ones((2, 3), np.float32), factors).tolist() == [[2.0] * 3, [0.5] * 3]


def test_a_fixed_seed_of_the_scripts_own_follows_the_runs() -> None:
    drawn = {}
    for run in (1, 2):
        set_seed = seeded.mixed(random.seed, run)
        set_seed(42)
        first = random.random()
        set_seed(42)
        assert random.random() == first, "within a run it is fixed"
        set_seed(43)
        assert random.random() != first
        drawn[run] = first
    assert drawn[1] != drawn[2]


def test_the_restored_callbacks_take_from_a_name_what_is_better() -> None:
    class Callback:
        def __init__(self, monitor: str = "val_loss", patience: int = 0, mode: str = "auto", **more: object) -> None:
            self.made = (monitor, patience, mode, more)

    class Checkpoint(Callback):
        pass

    Checkpoint.__init__ = restored_callbacks.judging_by_name(Callback.__init__, ("fmeasure",))  # type: ignore[method-assign]
    Callback.__init__ = restored_callbacks.judging_by_name(Callback.__init__, ())  # type: ignore[method-assign]
    assert Callback().made == ("val_loss", 0, "min", {})
    assert Callback("val_auc", 3).made == ("val_auc", 3, "min", {})
    assert Callback("my_acc", mode="anything", epsilon=1).made == ("my_acc", 0, "max", {"epsilon": 1})
    assert Callback("val_auc", 3, "max").made == ("val_auc", 3, "max", {})
    assert [cls("fmeasure").made[2] for cls in (Callback, Checkpoint)] == ["min", "max"]


def test_the_restored_optimizers_take_arguments_in_their_old_places() -> None:
    sgd = ["learning_rate", "momentum", "decay", "nesterov"], ["learning_rate", "momentum", "nesterov"]

    def named(*args: object, **kwargs: object) -> object:
        return restored_optimizers.by_name(args, kwargs, sgd, {"nesterov"})

    old = {"learning_rate": 0.01, "momentum": 0.9, "decay": 1e-6}
    assert named(0.01, 0.9, 1e-6, True) == {**old, "nesterov": True}
    assert named(0.01, 0.9, 1e-6) == named(0.01, 0.9, 1e-6, nesterov=True) == old
    assert named(0.01, 0.9, True) == {"learning_rate": 0.01, "momentum": 0.9, "nesterov": True}
    assert named(0.01, 0.9, object()) is None, "either, so that it is as today"
    assert named(0.01, 0.9, 1e-6, True, 7) is None
    assert named() == {}
