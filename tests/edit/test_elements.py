"""Dicts that lose elements keep their layout, and every comment."""

import libcst as cst
import pytest

from tfmigrate.edit.elements import shorter

CASES = [
    ("{'a': 1, 'b': 2, 'c': 3}", "a", "{'b': 2, 'c': 3}"),
    ("{'a': 1, 'b': 2, 'c': 3}", "b", "{'a': 1, 'c': 3}"),
    ("{'a': 1, 'b': 2, 'c': 3}", "bc", "{'a': 1}"),
    ("{'a': 1, 'b': 2,}", "b", "{'a': 1,}"),
    ("{ 'a': 1, 'b': 2 }", "a", "{ 'b': 2 }"),
    ("{'a': 1}", "a", "{}"),
    ("({\n    'a': 1,\n})", "a", "({})"),
    ("{\n    'a': 1,\n    'b': 2,\n    'c': 3,\n}", "b", "{\n    'a': 1,\n    'c': 3,\n}"),
    ("{\n    'a': 1,\n    'b': 2,\n    'c': 3,\n}", "ac", "{\n    'b': 2,\n}"),
    ("{\n    'a': 1,\n    'b': 2}", "b", "{\n    'a': 1}"),
    ("{'a': 1,\n 'b': 2,\n 'c': 3}", "a", "{'b': 2,\n 'c': 3}"),
    ("{'a': 1,\n 'b': 2,\n 'c': 3}", "bc", "{'a': 1}"),
    ("{'a': 1, 'b': 2,\n 'c': 3, 'd': 4}", "b", "{'a': 1,\n 'c': 3, 'd': 4}"),
    ("{'a': 1, 'b': 2,\n 'c': 3, 'd': 4}", "c", "{'a': 1, 'b': 2,\n 'd': 4}"),
    (
        "{\n    'a': 1,  # one\n    # two\n    'b': 2,\n    'c': 3}",
        "b",
        "{\n    'a': 1,  # one\n    # two\n    'c': 3}",
    ),
    ("{\n    'a': 1,  # one\n    'b': 2}", "b", "{\n    'a': 1  # one\n    }"),
    ("{'a': 1,\n # two\n 'b': 2}", "a", "{\n # two\n 'b': 2}"),
]


@pytest.mark.parametrize(("before", "gone", "after"), CASES)
def test_a_dict_without_some_elements(before: str, gone: str, after: str) -> None:
    display = cst.ensure_type(cst.parse_expression(before), cst.Dict)
    names = [cst.ensure_type(element, cst.DictElement).key for element in display.elements]
    lost = {e for e, name in zip(display.elements, names) if cst.ensure_type(name, cst.SimpleString).raw_value in gone}
    assert cst.Module([]).code_for_node(shorter(display, display, lost)) == after
