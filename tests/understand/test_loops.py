"""What the variable of a loop is said to take: `x` where it is passed to use()."""

from __future__ import annotations

from textwrap import dedent

import libcst as cst
import pytest

from tfmigrate.understand.loops import Expression, Loops, PartOf, Taken
from tfmigrate.understand.module import Module
from tfmigrate.understand.scopes import Scopes


def taken(code: str) -> list[str]:
    """What `x` may be in `use(x)`, in words."""
    module = Module("x.py", dedent(code))
    (use,) = (call for call in module.calls if isinstance(call.func, cst.Name) and call.func.value == "use")
    values = Loops(module, Scopes(module)).taken(use.args[0].value)
    return [in_words(value, module) for value in values]


def in_words(value: Taken | None, module: Module) -> str:
    if isinstance(value, PartOf):
        return f"{value.part} of {module.code(value.node)}"
    if isinstance(value, Expression):
        return module.code(value.node)
    return "number" if value is not None else "?"


@pytest.mark.parametrize(
    ("over", "values"),
    [
        ("x in m.layers", ["element of m.layers"]),
        ("x in m.layers[1:-1]", ["element of m.layers"]),
        ("x in m.layers[1]", ["element of m.layers[1]"]),
        ("x in reversed(list(m.layers))", ["element of m.layers"]),
        ("x in sorted(m.layers, key=size)", ["element of m.layers"]),
        ("x in filter(wanted, m.layers)", ["element of m.layers"]),
        ("x in map(wanted, m.layers)", ["element of map(wanted, m.layers)"]),
        ("x in range(3)", ["number"]),
        ("x in [a, b + 1]", ["a", "b + 1"]),
        ("x in (a, *m.layers)", ["a", "element of m.layers"]),
        ("x in [a] + m.layers", ["a", "element of m.layers"]),
        ("x in [f(y) for y in z]", ["f(y)"]),
        ("x in [y for y in m.layers if y.built]", ["element of m.layers"]),
        ("x in {a: b, c: d}", ["a", "c"]),
        ("x, _ in enumerate(m.layers)", ["number"]),
        ("_, x in enumerate(m.layers)", ["element of m.layers"]),
        ("i, (x, y) in enumerate(zip(m.layers, others))", ["element of m.layers"]),
        ("i, (y, x) in enumerate(zip(m.layers, others))", ["element of others"]),
        ("y, x in zip(*both)", ["?"]),
        ("_, x in [(a, b), (c, d)]", ["b", "d"]),
        ("_, x in [(a, b), c]", ["b", "?"]),
        ("_, *x in [(a, b, c)]", ["?"]),
        ("x, y in pairs", ["?"]),
        ("x in table", ["element of table"]),
        ("x in table.keys()", ["key of table"]),
        ("_, x in table.items()", ["value of table"]),
        ("_, x in {a: b, **c}.items()", ["b", "?"]),
        ("x in {a: b}.values()", ["b"]),
        ("x in {k: f(k) for k in keys}.values()", ["f(k)"]),
        ("x in table.values(1)", ["element of table.values(1)"]),
        ("x in []", ["?"]),
        ("x in enumerate(m.layers)", ["?"]),
    ],
)
def test_what_a_loop_runs_over(over: str, values: list[str]) -> None:
    assert taken(f"for {over}:\n    use(x)\n") == values
    assert taken(f"print([use(x) for {over}])\n") == values


@pytest.mark.parametrize(
    ("code", "values"),
    [
        ("layers = m.layers\nlisted = layers[1:]\nfor x in listed:\n    use(x)\n", ["element of m.layers"]),
        ("names = ['a']\nprint(len(names))\nfor x in names:\n    use(x)\n", ["'a'"]),
        ("names = ('a',)\nfor x in names:\n    use(x)\n", ["'a'"]),
        ("names = ['a']\nnames.append(b)\nfor x in names:\n    use(x)\n", ["element of names"]),
        ("names = {'a': 1}\nnames[b] = 2\nfor x in names:\n    use(x)\n", ["element of names"]),
        ("def more(l): l.append(b)\nnames = ['a']\nmore(names)\nfor x in names:\n    use(x)\n", ["element of names"]),
        ("names = ['a']\nnames += [b]\nfor x in names:\n    use(x)\n", ["element of names"]),
        ("for a in [m.layers, b]:\n    for x in a:\n        use(x)\n", ["element of m.layers", "element of b"]),
        ("for a in every:\n    for x in a:\n        use(x)\n", ["element of a"]),
        ("parts = [p for p in parts]\nfor x in parts:\n    use(x)\n", ["?"]),
        ("from six.moves import range\nfor x in range(3):\n    use(x)\n", ["number"]),
        ("def range(n): return n\nfor x in range(3):\n    use(x)\n", ["element of range(3)"]),
    ],
)
def test_a_list_by_another_name(code: str, values: list[str]) -> None:
    assert taken(code) == values


@pytest.mark.parametrize(
    ("code", "values"),
    [
        # The innermost loop that binds it.
        ("for x in a:\n    pass\nfor x in b:\n    for y in c:\n        use(x)\n", ["element of b"]),
        ("for x in a:\n    for x in b:\n        use(x)\n", ["element of b"]),
        ("for x in a:\n    print([use(x) for x in b])\n", ["element of b"]),
        ("for x in a:\n    def f():\n        return use(x)\n", ["element of a"]),
        # Behind the loop, where nothing else binds it.
        ("for x in a:\n    pass\nuse(x)\n", ["element of a"]),
        ("x = 1\nfor x in a:\n    pass\nuse(x)\n", []),
        # Bound again in the loop.
        ("for x in a:\n    x = f(x)\n    use(x)\n", ["element of a", "?"]),
        ("x = 1\nfor x in a:\n    use(x)\n", ["element of a"]),
        # No variable of a loop.
        ("x = m.layers\nuse(x)\n", []),
        ("for x in a:\n    def f(x):\n        return use(x)\n", []),
        ("for y in a:\n    use(x)\n", []),
        ("for y in a:\n    use(y.x)\n", []),
    ],
)
def test_which_loop_a_name_is_the_variable_of(code: str, values: list[str]) -> None:
    assert taken(code) == values
