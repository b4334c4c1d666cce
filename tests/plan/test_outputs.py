"""Metrics of several outputs (TFM233), and an only output in a list (TFM234)."""

from __future__ import annotations

import pytest

from tests.kit import migrate
from tests.plan.whole import migrated

IMPORTS = (
    "from keras.layers import Dense\nfrom keras.models import Sequential\nfrom keras.utils import multi_gpu_model\n\n"
)
TWO = "i = Input((4,))\ntwo = Model(i, [Dense(1)(i), Dense(1)(i)])\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("['accuracy']", "[['accuracy'], ['accuracy']]"),
        ("['acc', 'mse']", "[['acc', 'mse'], ['acc', 'mse']]"),
        ("'mae'", "['mae']"),
    ],
)
def test_each_output_has_its_metrics(before: str, after: str) -> None:
    lines = TWO + "two.compile('sgd', 'mse', metrics="
    assert migrated(f"{lines}{before})", "TFM233") == (f"{lines}{after})", ["rewrite"])


@pytest.mark.parametrize("outputs", ["[Dense(n)(i) for n in sizes]", "outs"])
def test_outputs_of_a_comprehension_are_counted_when_it_runs(outputs: str) -> None:
    made = "i = Input((4,))\nouts = [Dense(n)(i) for n in sizes]\n"
    lines = f"{made}some = Model(i, {outputs})\nsome.compile('sgd', 'mse', metrics="
    each = (f"{lines}[['mae'] for _ in some.outputs])", ["rewrite"])
    assert migrated(f"{lines}['mae'])", "TFM233") == each
    assert migrated(f"{lines}[unknown])", "TFM233") == (f"{lines}[unknown])", [])
    assert migrated(f"{lines}[['mae'] for _ in sizes])", "TFM233") == (f"{lines}[['mae'] for _ in sizes])", [])


@pytest.mark.parametrize(
    ("losses", "after"),
    [
        ("{'a': 'mse', 'b': own}", "{'a': ['mae'], 'b': ['mae']}"),
        ("['mse', own]", "[['mae'], ['mae']]"),
    ],
)
def test_a_model_out_of_sight_has_as_many_outputs_as_losses(losses: str, after: str) -> None:
    lines = f"some = Model(i, outputs)\nsome.compile('sgd', {losses}, metrics="
    assert migrated(f"{lines}['mae'])", "TFM233") == (f"{lines}{after})", ["rewrite"])


def test_a_function_is_computed_of_each_output_too() -> None:
    own = "def own(y_true, y_pred):\n    return K.abs(y_true - y_pred)\n\n\n"
    lines = f"{own}{TWO}two.compile('sgd', 'mse', metrics="
    after, actions = migrated(f"{lines}['mae', own])", "TFM233")
    assert after.endswith("two.compile('sgd', 'mse', metrics=[['mae', own], ['mae', own]])")
    assert actions == ["rewrite"]


@pytest.mark.parametrize(
    "lines",
    [
        TWO + "two.compile('sgd', 'mse', metrics=[['mae'], ['mae']])",
        TWO + "two.compile('sgd', 'mse', metrics={'a': 'mae'})",
        TWO + "two.compile('sgd', 'mse', metrics=[own])",
        TWO + "two.compile('sgd', 'mse', metrics=[])",
        TWO + "two.compile('sgd', 'mse')",
        "i = Input((4,))\none = Model(i, Dense(1)(i))\none.compile('sgd', 'mse', metrics=['mae'])",
        "some = Model(i, outputs)\nsome.compile('sgd', 'mse', metrics=['mae'])",
        "some = Model(i, outputs)\nsome.compile('sgd', {'a': 'mse'}, metrics=['mae'])",
        "some = Model(i, outputs)\nsome.compile('sgd', ['mse'], metrics=['mae'])",
        "some = Model(i, outputs)\nsome.compile('sgd', [*losses, 'mse'], metrics=['mae'])",
        "some = Model(i, outputs)\nsome.compile('sgd', {**losses, 'a': 'mse'}, metrics=['mae'])",
        "some = Model(i, outputs)\nsome.compile('sgd', {'a': 'mse', 'b': 'mse'}, metrics={'a': 'mae'})",
        "other.compile(metrics=['mae'])",
    ],
)
def test_other_metrics_stay(lines: str) -> None:
    assert migrated(lines, "TFM233") == (lines, [])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Model(inputs=[i], outputs=[o])", "Model(inputs=i, outputs=o)"),
        ("Model([i], [o, p])", "Model(i, [o, p])"),
        ("keras.Model(i, [Dense(1)(i)])", "keras.Model(i, Dense(1)(i))"),
    ],
)
def test_the_only_one_stands_alone(before: str, after: str) -> None:
    text, done = migrated(before, "TFM234")
    assert text == after
    assert set(done) == {"rewrite"}


@pytest.mark.parametrize("lines", ["Model(i, o)", "Model([i, j], [o, p])", "Model(i, [*o])", "Model(i, outputs)"])
def test_other_lists_stay(lines: str) -> None:
    assert migrated(lines, "TFM234") == (lines, [])


SET = "base = Model(i, Dense(1)(i))\n"


@pytest.mark.parametrize(
    ("outputs", "new"),
    [
        ("[base.layers[-2].output]", "base.layers[-2].output"),
        ("[one.output, base.layers[2].output]", "[one.output, base.layers[2].output]"),
    ],
)
def test_outputs_that_are_set_make_a_model(outputs: str, new: str) -> None:
    after, done = migrated(f"{SET}base.outputs = {outputs}\nfeatures = base(i)", "TFM240")
    assert f"base = tf.keras.Model(base.inputs, {new})\n" in after
    assert ".outputs =" not in after
    assert done == ["rewrite"]


def test_the_model_that_is_made_stands_in_the_scope_of_one_that_is_trained() -> None:
    lines = "net = Sequential([Dense(2, input_shape=(4,)), Dense(1)])\nnet.outputs = [net.layers[0].output]\n"
    result = migrate(f"{IMPORTS}{lines}parallel = multi_gpu_model(net, gpus=2)\nparallel.compile('sgd', 'mse')\n")
    assert (
        "\n    net = tf.keras.Model(net.inputs, net.layers[0].output)\n    net.compile('sgd', 'mse')\n" in result.after
    )


@pytest.mark.parametrize(
    "lines",
    [
        f"{SET}base.layers.pop()\nbase.outputs = [base.layers[-1].output]",
        f"{SET}base.outputs = outputs",
        f"{SET}base.outputs = [*outputs]",
        f"{SET}base.outputs += [other]",
        f"{SET}bases = [base]\nbases[0].outputs = [other]",
    ],
)
def test_outputs_that_cannot_be_written_so_are_left_and_reported(lines: str) -> None:
    after, done = migrated(lines, "TFM240")
    assert after == lines
    assert done == ["warn"]


@pytest.mark.parametrize(
    "lines",
    [
        "class Net:\n    def __init__(self):\n        self.outputs = [1]",
        "class Net(Model):\n    def __init__(self, names):\n        self.outputs = names",
        "some.outputs = [1]",
        f"{SET}print(base.outputs)",
        f"{SET}outputs = [1]",
        f"{SET}base.output_names = ['a']",
    ],
)
def test_outputs_of_others_stay(lines: str) -> None:
    assert migrated(lines, "TFM240") == (lines, [])


def test_the_lists_of_many_outputs_are_made_by_a_product() -> None:
    four = "i = Input((4,))\nfour = Model(i, [Dense(1)(i), Dense(1)(i), Dense(1)(i), Dense(1)(i)])\n"
    lines = f"{four}four.compile('sgd', 'mse', metrics="
    assert migrated(f"{lines}['mae'])", "TFM233") == (f"{lines}[['mae']] * 4)", ["rewrite"])
    assert migrated(f"{lines}[['mae']] * 4)", "TFM233") == (f"{lines}[['mae']] * 4)", [])
