"""Whether a block leaves, whichever way it is run through."""

from __future__ import annotations

import libcst as cst
import pytest

from tests.kit import migrate, with_model
from tfmigrate.understand.module import Module
from tfmigrate.understand.unreached import ENDING, LEAVING, Kinds, leaves


@pytest.mark.parametrize(
    ("block", "ending", "leaving"),
    [
        ("f()", False, False),
        ("return 1", True, True),
        ("return 1\nf()", True, True),
        ("f(); raise", True, True),
        ("continue", False, True),
        ("while x:\n    break", False, False),
        ("def g():\n    return 1", False, False),
        ("if x:\n    return 1", False, False),
        ("if x:\n    return 1\nelse:\n    break", False, True),
        ("if x: return 1\nelif y:\n    raise x\nelse:\n    return 2", True, True),
        ("if x:\n    return 1\nelif y:\n    raise x", False, False),
        ("with x:\n    return 1", True, True),
        ("with x:\n    raise y", False, False),
        ("try:\n    return f()\nexcept OSError:\n    raise", True, True),
        ("try:\n    return f()\nexcept OSError:\n    pass", False, False),
        ("try:\n    f()\nexcept OSError:\n    return 1", False, False),
        ("try:\n    f()\nexcept OSError:\n    return 1\nelse:\n    return 2", True, True),
        ("try:\n    f()\nfinally:\n    return 1", True, True),
        ("sys.exit(1)", True, True),
        ("on_exit(1)", False, False),
    ],
)
def test_each_way_through_a_block(block: str, ending: bool, leaving: bool) -> None:
    tree = cst.parse_module(block)
    assert (leaves(tree, ENDING), leaves(tree, LEAVING)) == (ending, leaving)


@pytest.mark.parametrize(("by", "expected"), [(ENDING, True), ((cst.Raise,), True), ((cst.Return,), False)])
def test_to_exit_is_to_raise(by: Kinds, expected: bool) -> None:
    assert leaves(cst.parse_module("quit()"), by) is expected


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("from sys import exit", True),
        ("from os import _exit as quit", True),
        ("import exit", False),
        ("from tools import exit", False),
        ("def exit():\n    pass", False),
        ("exit = print", False),
        ("lambda exit: 1", False),
        ("def quit():\n    pass", True),
    ],
)
def test_a_function_of_the_programs_own_does_not_end_it(head: str, expected: bool) -> None:
    module = Module("train.py", f"{head}\nif x:\n    exit()\n    f()\n")
    unit = module.tree.body[-1]
    assert isinstance(unit, cst.If)
    assert module.leaves(unit.body) is expected
    assert bool(module.unreached) is expected


@pytest.mark.parametrize(
    ("code", "unreached"),
    [
        ("if a:\n    return\n    f()\ng()", {"f()"}),
        ("if False:\n    f()\ng()", {"f()"}),
        ("while 0:\n    f()\ng()", {"f()"}),
        ("if True:\n    g()\nelif a:\n    f()\nelse:\n    h()", {"f()", "h()"}),
        ("if a:\n    pass\nelif None:\n    f()\nelse:\n    g()", {"f()"}),
        ("DEBUG = False\nif DEBUG:\n    f()", set()),
        ("if not False:\n    f()", set()),
        ("raise x\nif a:\n    f()\n    if 0:\n        g()", {"f()", "g()"}),
        ("for a in b:\n    if a:\n        continue\n        f()\n    g()", {"f()"}),
    ],
)
def test_what_never_runs(code: str, unreached: set[str]) -> None:
    module = Module("train.py", code)
    assert {module.code(call) for call in module.calls if call in module.unreached} == unreached


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("model.save('folder')", ["TFM216"]),
        ("if False:\n    model.save('folder')", []),
        ("if 1:\n    pass\nelse:\n    model.save_weights('folder')\n    model.load_weights(path, by_name=True)", []),
        ("if a:\n    raise ValueError\n    model.load_weights(path, by_name=True)", []),
    ],
)
def test_nothing_is_said_of_what_never_runs(code: str, told: list[str]) -> None:
    file = migrate(with_model("") + code + "\n")
    assert [one.code for one in file.findings if one.action == "warn"] == told
    assert not any(one.code == "TFM281" for one in file.findings)
