"""Losses and metrics given as words that Keras 3 does not know (TFM222)."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.kit import actions, migrate
from tfmigrate.old_keras import LOSS_WORDS
from tfmigrate.plan.keras.words import METRICS
from tfmigrate.result import FileResult

SCRIPT = """\
from {keras}.layers import Dense
from {keras}.models import Sequential
from {keras}.utils import multi_gpu_model

LOSS = "logcosh"
model = Sequential([Dense(3, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile("sgd", {arguments})
parallel_model.fit_generator(batches, epochs=2)
"""


def migrated(arguments: str, keras: str = "keras") -> FileResult:
    return migrate(SCRIPT.format(keras=keras, arguments=arguments))


def compiled(result: FileResult) -> str:
    found = re.search(r'model\.compile\("sgd", (.*)\)\n', result.after)
    assert found is not None
    return found[1]


def told(result: FileResult) -> list[tuple[str, str]]:
    return [(finding.action, finding.message) for finding in result.findings if finding.code == "TFM222"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("loss='kullback_leibler_divergence'", "loss='kl_divergence'"),
        ('"logcosh"', '"log_cosh"'),
        ("loss=['huber_loss', 'mse']", "loss=['huber', 'mse']"),
        ("loss={'a': 'cosine_proximity', 'b': 'mse'}", "loss={'a': 'cosine_similarity', 'b': 'mse'}"),
        (
            "loss='mse', metrics={'a': ['acc', 'logcosh']}",
            "loss='mse', metrics={'a': ['acc', tf.keras.metrics.LogCoshError(name='logcosh')]}",
        ),
    ],
)
def test_a_word_that_is_gone_becomes_that_of_today(before: str, after: str) -> None:
    result = migrated(before)
    assert compiled(result) == after
    assert [action for action, _ in told(result)] == ["rewrite"]


@pytest.mark.parametrize(
    "arguments",
    ["loss='mse', metrics=['acc']", "loss='kld'", "loss=kullback_leibler_divergence", "loss={'logcosh': 'mse'}"],
)
def test_other_words_are_left(arguments: str) -> None:
    result = migrated(arguments)
    assert compiled(result) == arguments
    assert told(result) == []


@pytest.mark.parametrize(
    ("arguments", "keras"),
    [
        ("loss='cosine_proximity'", "tensorflow.keras"),
        ("loss='mse', metrics=['cosine']", "keras"),
        ("loss=LOSS", "keras"),
    ],
)
def test_what_may_mean_something_else_is_told_and_left(arguments: str, keras: str) -> None:
    result = migrated(arguments, keras)
    assert compiled(result) == arguments
    assert [action for action, _ in told(result)] == ["warn"]


def test_a_method_of_that_name_on_something_else_is_left() -> None:
    text = SCRIPT.format(keras="keras", arguments="loss='mse'") + "other.compile('x', loss='logcosh')\n"
    result = migrate(text)
    assert "other.compile('x', loss='logcosh')" in result.after
    assert told(result) == []


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("package", ["keras", "tf_keras"])
def test_the_words_of_today_compute_what_the_old_ones_did(package: str) -> None:
    keras = pytest.importorskip(package)
    a, b = (np.random.RandomState(seed).rand(4, 3).astype("float32") for seed in (0, 1))
    # By the old words on Keras 2.3.1 (TensorFlow 1.15).
    was = {
        "kullback_leibler_divergence": 2.4120042, "logcosh": 0.06762757, "huber_loss": 0.07053124,
        "cosine_proximity": -0.9002485,
    }  # fmt: skip
    for old, new in LOSS_WORDS.items():
        assert np.array(keras.losses.get(new)(a, b)).mean() == pytest.approx(was[old], rel=1e-4)
    for old, name in METRICS.items():
        metric = getattr(keras.metrics, name)(name=old)
        metric.update_state(a, b)
        assert (metric.name, float(metric.result())) == (old, pytest.approx(was[old], rel=1e-4))


KEPT = "from keras.callbacks import ModelCheckpoint\nfrom keras.models import load_model\nModelCheckpoint('whole.h5')"


@pytest.mark.parametrize(
    ("saved", "said"),
    [
        ("model.save('whole.h5')", ["warn"]),
        ("model.save('whole.keras')", []),
        ("model.save(path)", ["warn"]),
        ("model.save('whole.keras')\nmodel.save('whole.h5')", ["warn"]),
        (KEPT, ["warn"]),
        (f"{KEPT}\nload_model('whole.h5')", []),  # which becomes whole.keras
    ],
)
def test_a_loss_that_may_be_a_short_name_is_reported_where_hdf5_keeps_it(saved: str, said: list[str]) -> None:
    text = SCRIPT.format(keras="keras", arguments="loss=chosen") + f"{saved}\n"
    result = migrate(text.replace('LOSS = "logcosh"', 'chosen = "MSE" if simple else "hinge"'))
    assert actions(result, "TFM239") == said


SEVERAL = """
from keras.layers import Dense, Input
from keras.models import Model, Sequential, load_model, save_model
from keras.utils import multi_gpu_model

inner = Sequential([Dense(6, input_shape=(6,))])
x = Input(shape=(6,))
both = Model(x, [inner(x), inner(inner(x))])
parallel = multi_gpu_model(both, gpus=2)
{more}
parallel.compile("adam", loss=["mse", "mse"])
parallel.train_on_batch(a, [b, b])
"""


@pytest.mark.parametrize(
    "saved",
    [
        "inner.save('a.h5')",
        "save_model(inner, 'a.h5')",
        "inner.save(path)",
        "choose().save(path)",
        "choose().save('a')",
    ],
)
def test_the_loss_of_a_model_that_is_not_saved_keeps_its_name(saved: str) -> None:
    result = migrate(SEVERAL.format(more=saved))
    assert 'loss=["mse", "mse"]' in result.after
    assert actions(result, "TFM239") == []


@pytest.mark.parametrize(
    "saved",
    [
        "both.save('a.h5')",
        "save_model(parallel, 'a.h5')",
        "inner.save('a.h5')\nboth.save('b.h5')",
        "inner.save('a.h5')\nparallel.fit(a, [b, b], callbacks=[ModelCheckpoint('b.h5')])",
        "for model in (inner, both):\n    model.save(path)",
        "inner.save('a.h5')\nmodels[0].save('b.h5')",
        "choose().save('b.h5')",
    ],
)
def test_the_losses_of_a_saved_model_get_long_names(saved: str) -> None:
    text = SEVERAL.format(more=saved)
    result = migrate(f"from keras.callbacks import ModelCheckpoint\n{text}")
    assert 'loss=["mean_squared_error", "mean_squared_error"]' in result.after
    assert actions(result, "TFM239") == ["rewrite", "rewrite"]


KEPT_IN_A_CLASS = """
from keras.layers import Dense, Input
from keras.models import Model
from keras.utils import multi_gpu_model


class Net:
    def __init__(self, gpus):
        x = Input(shape=(6,))
        self.base = Model(x, [Dense(3)(x), Dense(6)(x)])
        self.model = multi_gpu_model(self.base, gpus=gpus)

    def compile(self, loss={loss}):
        self.model.compile("adam", loss=loss)

    def save(self):
        self.base.save("{file}")


net = Net(2)
net.compile()
net.model.fit(x, [y, z])
net.save()
"""


@pytest.mark.parametrize(
    ("loss", "file", "said"),
    [
        ('["mse", "mse"]', "net.h5", ["warn"]),
        ('{"a": "mse", "b": "hinge"}', "net.h5", ["warn"]),
        ('["mse", "mae"]', "net.h5", ["warn", "warn"]),
        ('["hinge", None]', "net.h5", []),
        ('["mse", "mse"]', "net.keras", []),
    ],
)
def test_losses_in_a_list_from_elsewhere_are_reported(loss: str, file: str, said: list[str]) -> None:
    result = migrate(KEPT_IN_A_CLASS.replace("{loss}", loss).replace("{file}", file))
    assert f"loss={loss}" in result.after
    assert actions(result, "TFM239") == said


def test_old_words_in_a_list_from_elsewhere_are_reported() -> None:
    result = migrate(KEPT_IN_A_CLASS.replace("{loss}", '["logcosh", "mse"]').replace("{file}", "net.keras"))
    assert actions(result, "TFM222") == ["warn"]
