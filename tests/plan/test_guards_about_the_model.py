"""A condition that asks for the model itself says nothing of GPUs: it stays, and the strategy does not ask for it."""

from __future__ import annotations

import pytest

from tests.kit import migrate

CODE = """from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model
from data import x, y, genes


def build(genes):
    if not genes:
        return None
    return Sequential([Dense(genes[0], input_shape=(3,))])


model = build(genes)
if {test}:
    parallel = multi_gpu_model(model, gpus=2)
    parallel.compile('sgd', 'mae')
    parallel.train_on_batch(x, y)
"""
MADE = "strategy = tf.distribute.MirroredStrategy(devices=['/gpu:0', '/gpu:1'])\nwith strategy.scope():\n"


@pytest.mark.parametrize("test", ["model is not None", "model", "model != None"])
def test_it_is_no_condition_of_the_strategy(test: str) -> None:
    after = migrate(CODE.format(test=test)).after
    assert f"{MADE}    model = build(genes)\nif {test}:\n" in after
    assert "    model.train_on_batch(x, y)\n" in after


@pytest.mark.parametrize("test", ["model is None", "not model"])
def test_nor_where_the_other_arm_wraps(test: str) -> None:
    head, wrapped = CODE.split("if {test}:\n")
    after = migrate(f"{head}if {test}:\n    print('none')\nelse:\n{wrapped}").after
    assert f"{MADE}    model = build(genes)\nif {test}:\n    print('none')\nelse:\n" in after


def test_nor_where_the_parallel_model_takes_the_name() -> None:
    code = CODE.replace("parallel =", "model =").replace("    parallel.", "    model.")
    after = migrate(code.format(test="model is not None")).after
    assert f"{MADE}    model = build(genes)\nif model is not None:\n" in after


def test_an_item_of_something_else_is_a_condition() -> None:
    code = CODE.replace("(model, gpus", "(models[0], gpus").replace("model = build(genes)", "models = [build(genes)]")
    after = migrate(code.replace("genes\n", "genes, flags\n", 1).format(test="flags[0]")).after
    assert "    if flags[0]\n    else tf.distribute.get_strategy()\n" in after


@pytest.mark.parametrize("test", ["other is not None", "model is None"])
def test_another_question_is_one(test: str) -> None:
    after = migrate(CODE.replace("genes\n", "genes, other\n", 1).format(test=test)).after
    assert f"{MADE}    model = build(genes)" not in after
