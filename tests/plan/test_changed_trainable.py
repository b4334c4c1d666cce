"""`trainable` that is set after compile(): reported where Keras 3 takes notice of it and the old Keras did not."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.kit import actions, check_migrated, migrate

HEAD = """\
from keras.layers import Dense, Input
from keras.models import Model, Sequential, load_model
from keras.utils import multi_gpu_model

other = Sequential([Dense(1, input_shape=(4,))])
base = Sequential([Dense(3, input_shape=(4,))])
base.trainable = False
template = Sequential([base, Dense(1)])
m = multi_gpu_model(template, gpus=2)
"""
COMPILE = 'm.compile("sgd", "mse")'
FIT = "m.fit(x, y)"
SET = "base.trainable = True"


def lines(*parts: str) -> str:
    return "".join(f"{dedent(part)}\n" for part in parts)


def told(*parts: str, head: str = HEAD) -> list[str]:
    return actions(check_migrated(head + lines(*parts)), "TFM293")


@pytest.mark.parametrize(
    "change",
    [
        SET,
        "for layer in base.layers: layer.trainable = True",
        "for layer in base.layers[:1]:\n    layer.trainable = True",
        "setattr(base, 'trainable', True)",
        "for layer in base.layers: setattr(layer, 'trainable', True)",
        "base.layers[0].trainable = True",
        "template.trainable = False",
        "m.trainable = False",
        "template.layers[-1].trainable = False",
        "base.trainable = unfreeze",
        "if unfreeze:\n    base.trainable = True",
    ],
)
@pytest.mark.parametrize("training", [FIT, "m.fit_generator(batches)", "for x in xs:\n    m.train_on_batch(x, x)"])
def test_a_change_between_compile_and_the_first_training_is_reported(change: str, training: str) -> None:
    assert told(COMPILE, change, training) == ["warn"]


def test_the_line_stays_and_the_message_says_where_the_training_is() -> None:
    file = check_migrated(HEAD + lines(COMPILE, SET, FIT))
    assert "\nbase.trainable = True\n" in file.after
    (finding,) = (finding for finding in file.findings if finding.code == "TFM293")
    assert (finding.line, "at line 12" in finding.message) == (11, True)


@pytest.mark.parametrize(
    "parts",
    [
        (SET, COMPILE, FIT),
        (COMPILE, SET, COMPILE, FIT),
        (COMPILE, f"if unfreeze:\n    {SET}\n    {COMPILE}", FIT),
        (COMPILE, SET, f"if two:\n    {COMPILE}\nelse:\n    {COMPILE}", FIT),
        (COMPILE, SET, f"if two:\n    {COMPILE}\nelif three:\n    {COMPILE}\nelse:\n    {COMPILE}", FIT),
        (COMPILE, f"if unfreeze:\n    {SET}\n    if two:\n        {COMPILE}\n    else:\n        {COMPILE}", FIT),
        (COMPILE, FIT, SET),
        (COMPILE, FIT, SET, "m.predict(x)"),
        (COMPILE, FIT, SET, "m.save('m.h5')"),
        (COMPILE, SET, "m.predict(x)"),
    ],
)
def test_a_change_that_compile_follows_or_no_training_is_left_alone(parts: tuple[str, ...]) -> None:
    assert told(*parts) == []


@pytest.mark.parametrize(
    "anew",
    [
        f"if two:\n    {COMPILE}",
        f"if two:\n    {COMPILE}\nelif three:\n    {COMPILE}",
        f"if two:\n    {COMPILE}\nelse:\n    print('as it was')",
        f"if two:\n    if three:\n        {COMPILE}\nelse:\n    {COMPILE}",
    ],
)
def test_a_compile_that_may_not_be_reached_is_not_relied_on(anew: str) -> None:
    assert told(COMPILE, SET, anew, FIT) == ["warn"]


@pytest.mark.parametrize("training", [FIT, "for x in xs:\n    m.train_on_batch(x, x)"])
def test_after_a_training_neither_of_them_takes_notice(training: str) -> None:
    assert told(COMPILE, training, SET, FIT) == []
    assert told(COMPILE, f"if warm:\n{indent(training, '    ')}", SET, FIT) == ["warn"]
    assert told(COMPILE, training, COMPILE, SET, FIT) == ["warn"]


@pytest.mark.parametrize(
    "change",
    [
        "other.trainable = False",
        "other.layers[0].trainable = False",
        "for layer in other.layers:\n    layer.trainable = False",
        "base.trained = True",
        "base.trainable = False",
        "Settings.trainable = True",
        "settings['trainable'] = True",
        "setattr(base, 'trained', True)",
        "setattr(base, 'trainable', False)",
        "setattr(other, 'trainable', False)",
    ],
)
def test_other_models_and_what_was_so_already_are_left_alone(change: str) -> None:
    assert told(COMPILE, change, FIT) == []


def test_true_for_what_was_never_set_changes_nothing() -> None:
    never = HEAD.replace("base.trainable = False\n", "")
    for change in (SET, "for layer in base.layers:\n    layer.trainable = True"):
        assert told(COMPILE, change, FIT, head=never) == []
    assert told(COMPILE, "base.trainable = False", FIT, head=never) == ["warn"]
    frozen = never.replace("(4,))])\ntemplate", "(4,), trainable=False)])\ntemplate")
    assert told(COMPILE, SET, FIT, head=frozen) == ["warn"]
    loaded = never.replace("base = Sequential([Dense(3, input_shape=(4,))])", 'base = load_model("b.h5")')
    assert told(COMPILE, SET, FIT, head=loaded) == ["warn"]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((f"if first:\n    {COMPILE}\n    {FIT}\nelse:\n    {SET}\n    {COMPILE}\n    {FIT}",), []),
        ((COMPILE, f"if first:\n    {SET}\nelse:\n    {FIT}"), []),
        ((COMPILE, f"if first:\n    {SET}\n    {FIT}"), ["warn"]),
        ((COMPILE, f"{SET}\nif again:\n    {COMPILE}", FIT), ["warn"]),
        ((f"for x in xs:\n    {COMPILE}\n    {SET}\n    {FIT}",), ["warn"]),
        ((f"for x in xs:\n    {COMPILE}\n    {FIT}\n    {SET}",), []),
    ],
)
def test_conditions_and_loops(parts: tuple[str, ...], expected: list[str]) -> None:
    assert told(*parts) == expected


def test_functions_that_compile_and_train() -> None:
    functions = """
    def prepare(model):
        model.compile("sgd", "mse")
        return model


    def train(model):
        model.fit(x, y)


    """
    assert told(functions, "prepare(m)", SET, "train(m)") == ["warn"]
    assert told(functions, "prepare(m)", SET, "prepare(m)", "train(m)") == []
    assert told(functions, "prepare(m)", "train(m)", SET) == []


def test_a_function_that_sets_it() -> None:
    functions = """
    def unfreeze(model):
        for layer in model.layers:
            layer.trainable = True


    """
    assert told(functions, COMPILE, "unfreeze(base)", FIT) == ["warn"]
    assert told(functions, "unfreeze(base)", COMPILE, FIT) == []
    assert told(functions, COMPILE, "unfreeze(other)", FIT) == []
    assert told(functions, COMPILE, FIT, "unfreeze(base)") == []


def test_a_function_that_is_called_several_times() -> None:
    functions = """
    def set_trainable(model, flag):
        for layer in model.layers:
            layer.trainable = flag


    """
    freeze, thaw = "set_trainable(base, False)", "set_trainable(base, True)"
    file = check_migrated(HEAD + lines(functions, freeze, COMPILE, thaw, FIT, freeze, FIT))
    (finding,) = (finding for finding in file.findings if finding.code == "TFM293")
    assert file.before.splitlines()[finding.line - 1] == thaw
    assert "at line 20" in finding.message
    assert told(functions, thaw, COMPILE, thaw, FIT, freeze, FIT) == ["warn"]
    assert told(functions, freeze, COMPILE, FIT, thaw, COMPILE, FIT) == []
    assert told(functions, freeze, COMPILE, FIT, thaw, FIT) == []


def test_a_function_of_another_module() -> None:
    module = "def unfreeze(model):\n    model.trainable = True\n\n\ndef twice(model):\n    unfreeze(model)\n"
    head = HEAD + "from layers_of import unfreeze, twice\n"
    for change in ("unfreeze(base)", "twice(base)"):
        file = check_migrated(head + lines(COMPILE, change, FIT), layers_of=module)
        (finding,) = (finding for finding in file.findings if finding.code == "TFM293")
        assert file.before.splitlines()[finding.line - 1] == change
        assert "line 2 of layers_of.py" in finding.message
        assert not actions(check_migrated(head + lines(change, COMPILE, FIT), layers_of=module), "TFM293")
        assert not actions(check_migrated(head + lines(COMPILE, FIT, change), layers_of=module), "TFM293")


CLASS = """
class Trainer:
    def __init__(self):
        self.base = Sequential([Dense(3, input_shape=(4,))])
        self.base.trainable = False
        self.model = multi_gpu_model(Sequential([self.base, Dense(1)]), gpus=2)
        {first}

    def train(self):
        {then}
        self.model.fit(x, y)


Trainer().train()
"""


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [
        ("self.model.compile('sgd', 'mse')", "self.base.trainable = True", ["warn"]),
        ("self.base.trainable = True", "self.model.compile('sgd', 'mse')", []),
        (
            "self.model.compile('sgd', 'mse')",
            "self.base.trainable = True\n        self.model.compile('sgd', 'mse')",
            [],
        ),
        ("self.model.compile('sgd', 'mse')\n        self.model.fit(x, y)", "self.base.trainable = True", []),
    ],
)
def test_methods_of_an_object(first: str, then: str, expected: list[str]) -> None:
    assert told(CLASS.format(first=first, then=then)) == expected


def test_a_builder_that_is_called_again() -> None:
    builder = """
    def build():
        inner = Sequential([Dense(3, input_shape=(4,))])
        inner.trainable = False
        return Sequential([inner, Dense(1)])


    """
    made = "one = multi_gpu_model(build(), gpus=2)\none.compile('sgd', 'mse')"
    assert told(builder, made, "two = build()", "one.fit(x, y)") == []


def test_a_function_of_its_own() -> None:
    body = HEAD.split("\n\n", 1)[1] + lines(COMPILE, SET, FIT)
    code = HEAD.split("\n\n", 1)[0] + "\n\n\ndef main():\n" + indent(body, "    ") + "\n\nmain()\n"
    assert actions(check_migrated(code), "TFM293") == ["warn"]


def test_models_that_are_trained_in_turns_are_the_matter_of_another_rule() -> None:
    code = """
    other.compile("sgd", "mse")
    other.trainable = False
    both = multi_gpu_model(Sequential([Dense(4, input_shape=(4,)), other]), gpus=2)
    both.compile("sgd", "mse")
    for x in xs:
        other.train_on_batch(x, x)
        both.train_on_batch(x, x)
    """
    assert told(code) == []


def test_a_program_that_is_migrated_already_is_not_reported() -> None:
    after = check_migrated(HEAD + lines(COMPILE, SET, FIT)).after
    assert actions(migrate(after), "TFM293") == []


COMPILED_AFTER = """
def thaw(model, part):
    for layer in part.layers:
        layer.trainable = True
    model.compile("sgd", "mse")
    return model, part


m.compile("sgd", "mse")
m, base = thaw(m, base)
m.fit(x, y)
"""


def test_a_function_that_compiles_after_the_change_is_not_reported() -> None:
    assert told(COMPILED_AFTER) == []
    trained = COMPILED_AFTER.replace("m, base = thaw", "m.fit(x, y)\nm, base = thaw")
    assert told(trained) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('    model.compile("sgd", "mse")\n', '    if unknown:\n        model.compile("sgd", "mse")\n'),
        ("def thaw(model, part):\n", 'def thaw(model, part):\n    model.compile("sgd", "mse")\n'),
    ],
)
def test_one_that_may_not_is(old: str, new: str) -> None:
    code = COMPILED_AFTER.replace(old, new, 1)
    if "unknown" not in code:
        code = code.replace('True\n    model.compile("sgd", "mse")\n', "True\n", 1)
    assert told(code) == ["warn"]
