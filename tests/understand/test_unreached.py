"""Whether a block leaves, whichever way it is run through."""

from __future__ import annotations

import libcst as cst
import pytest

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
