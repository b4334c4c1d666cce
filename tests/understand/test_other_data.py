"""Functions that are called again with other texts and numbers: what is known of them holds for all calls, and the
models that they make stay those that were found before."""

from __future__ import annotations

from textwrap import dedent

import libcst as cst
import pytest

from tfmigrate.understand.interpreter import interpret
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.module import Module
from tfmigrate.understand.program import Program
from tfmigrate.understand.values import Literal, ModelObject, options

HEAD = "from keras.layers import Dense, Input\nfrom keras.models import Model, Sequential\n"


def facts(code: str) -> ProgramFacts:
    return interpret(Program([Module("train.py", HEAD + dedent(code))]))


def values(found: ProgramFacts, read: str) -> set[object]:
    """What the argument of `read(...)` may be, "?" for what is not known."""
    (known,) = found.modules.values()
    (call,) = (call for call in known.module.calls if isinstance(call.func, cst.Name) and call.func.value == read)
    return {
        option.value if isinstance(option, Literal) else "?" for option in options(known.values[call.args[0].value])
    }


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("f(1)", {1}),
        ("f(1)\nf(1)", {1}),
        ("f(1)\nf(2)", {1, 2}),
        ("f(1)\nf(w=2)\nf()", {0, 1, 2}),
        ("f(1)\nf(unknown())", {1, "?"}),
        ("f(1)\nf(2)\nf(3)\nf(4)\nf(5)\nf(6)", {1, 2, 3, 4, "?"}),
        ("for i in range(3):\n    f(1)\nf(2)", {1, 2}),
    ],
)
def test_a_parameter_has_the_data_of_all_calls(calls: str, expected: set[object]) -> None:
    assert values(facts(f"def f(w=0):\n    show(w)\n{calls}\n"), "show") == expected


def test_what_is_not_taken_from_a_parameter_stays_known() -> None:
    found = facts(
        """
        SIZE = 5
        def f(w):
            print(w)
            show(SIZE)
            return 3
        first = f(1)
        see(f(2))
        """
    )
    assert values(found, "show") == {5}
    assert values(found, "see") == {3}


def test_a_call_returns_what_its_own_data_give() -> None:
    found = facts("def f(w):\n    return w\nfirst, second = f(1), f(2)\nshow(first)\nsee(second)\n")
    assert (values(found, "show"), values(found, "see")) == ({1}, {2})


BUILDERS = """
def small(name):
    return Sequential([Dense(1, name=name)])

def large(name):
    inputs = Input((2,))
    return Model(inputs, Dense(4, name=name)(inputs))

builders = {"small": small, "large": large}

def build(kind, name):
    return builders[kind](name)
"""


@pytest.mark.parametrize("calls", ["", "first = build('small', 'a')\n", "first, second = small('a'), large('b')\n"])
def test_a_call_with_other_data_makes_as_many_models_as_one_with_the_same(calls: str) -> None:
    again = facts(BUILDERS + calls + calls)
    other = facts(BUILDERS + calls + calls.replace("'a'", "'c'").replace("'b'", "'d'"))
    made = [[model.maker for model in found.models] for found in (again, other)]
    assert made[0] == made[1]


def test_a_model_that_is_made_for_other_data_alone_is_found() -> None:
    found = facts(
        """
        def f(w=None):
            if w is None:
                return None
            return Sequential([Dense(w)])
        first = f()
        model = f(3)
        model.compile("sgd", "mse")
        """
    )
    (compiled,) = (use for use in found.uses if use.method == "compile")
    assert compiled.models


def test_functions_that_hand_on_what_they_are_given_are_followed_too() -> None:
    found = facts("def g(v):\n    show(v)\ndef f(w):\n    g(w)\nf(1)\nf(2)\n")
    assert values(found, "show") == {1, 2}


def test_the_models_of_a_builder_that_may_return_none_are_those_of_all_its_calls() -> None:
    found = facts(
        """
        def build(kind):
            if kind == "wide":
                model = Sequential([Dense(8, input_shape=(4,))])
            else:
                model = None
            return model

        build("wide").summary()
        read(build(kind))
        """
    )
    (known,) = found.modules.values()
    (call,) = (call for call in known.module.calls if isinstance(call.func, cst.Name) and call.func.value == "read")
    assert {type(option) for option in options(known.values[call.args[0].value])} == {ModelObject, Literal}
