"""Classes whose methods build and wrap a model, and classes that inherit such a method."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, migrate

CLASSES = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


class One:
    {decorator}
    def create({parameters}):
        return multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), 2)


class Derived(One):
    {body}


class Two:
    {decorator}
    def create({parameters}):
        return multi_gpu_model(Sequential([Dense(8, input_shape=(4,)), Dense(1)]), 2)


def train(kind, batches):
    model = {create}
    model.compile("sgd", "mse")
    model.fit(batches)

"""
STATIC = {"decorator": "@staticmethod", "parameters": "units=8", "create": "kind.create()"}
PLAIN = {"decorator": "", "parameters": "", "create": "kind.create()"}
OF_CLASS = {"decorator": "@classmethod", "parameters": "cls", "create": "kind.create()"}
OF_OBJECT = {"decorator": "", "parameters": "self", "create": "kind().create()"}
ALL = pytest.mark.parametrize("how", [STATIC, PLAIN, OF_CLASS, OF_OBJECT])


@ALL
@pytest.mark.parametrize("kinds", ["One, Two", "One, Two, Derived", "Two, Derived"])
def test_all_that_one_function_trains_share_its_strategy(how: dict[str, str], kinds: str) -> None:
    file = check_migrated(CLASSES.format(body="pass", **how) + f"for kind in [{kinds}]:\n    train(kind, data)\n")
    assert file.after.count("strategy.scope()") == 1
    assert "multi_gpu_model" not in file.after
    assert {"TFM023", "TFM107", "TFM429"}.isdisjoint(finding.code for finding in file.findings)


@ALL
def test_a_derived_class_that_nothing_makes_has_no_say(how: dict[str, str]) -> None:
    """Its method is compiled where that of its base is."""
    guarded = CLASSES.replace("        return multi_gpu_model(", "        model = (").replace(", 2)\n", ")\n{wrap}")
    wrap = (
        "        if len(gpus()) > 1:\n            model = multi_gpu_model(model, len(gpus()))\n        return model\n"
    )
    gpus = "from tensorflow.python.client import device_lib\n\n\ndef gpus():\n    return [x for x in "
    gpus += 'device_lib.list_local_devices() if x.device_type == "GPU"]\n\n\n'
    program = gpus + guarded.format(body="sizes = [2]", wrap=wrap, **how) + "train(One, data)\ntrain(Two, data)\n"
    file = check_migrated(program)
    assert not actions(file, "TFM023")
    assert "multi_gpu_model" not in file.after


def test_a_method_that_makes_what_its_class_says_is_walked_for_each_class() -> None:
    program = CLASSES.format(body="layer = Dense", **OF_CLASS).replace("class One:", "class One:\n    layer = None\n")
    program = program.replace("multi_gpu_model(Sequential([Dense(1,", "multi_gpu_model(Sequential([cls.layer(1,")
    assert check_migrated(program + "train(Derived, data)\n").after.count("with strategy.scope()") == 2


def test_the_arguments_of_a_class_method_come_after_its_class() -> None:
    program = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


class Net:
    @classmethod
    def wrapped(cls, model, gpus):
        return multi_gpu_model(model, gpus)

    def other(self, model):
        return self.wrapped(model, 4)


model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = {call}
parallel_model.compile("sgd", "mse")
parallel_model.fit(data)
"""
    for call in ("Net.wrapped(model, 4)", "Net().wrapped(model, gpus=4)", "Net().other(model)"):
        file = check_migrated(program.format(call=call))
        assert 'devices=["/gpu:0", "/gpu:1", "/gpu:2", "/gpu:3"]' in file.after


def test_a_model_that_is_wrapped_by_a_refused_call_was_not_trained_on_one_gpu() -> None:
    program = CLASSES.format(body="pass", **PLAIN).replace("Dense(1, input_shape=(4,))]), 2)", "Dense(1)]), *gpus)", 1)
    assert not actions(migrate(program + "for kind in [One, Two]:\n    train(kind, data)\n"), "TFM429")
