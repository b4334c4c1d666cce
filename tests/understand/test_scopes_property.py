"""Who owns a name, against the standard library's symtable, over generated scopes.

`make reliability` draws more of them: TFMIGRATE_SCOPES.
"""

from __future__ import annotations

import builtins
import os
import symtable
import sys
from collections.abc import Iterator

import libcst as cst
import pytest
from hypothesis import HealthCheck, example, given, settings

from tests.understand.scoped_programs import NAMES, programs
from tfmigrate.understand.module import Module
from tfmigrate.understand.scopes import LexicalScope, Scopes

EXAMPLES = int(os.environ.get("TFMIGRATE_SCOPES", "60"))


class _AlikeEverywhere(cst.CSTTransformer):
    """What every version of Python reads alike: a comprehension as a generator expression, which none inlines."""

    def leave_ListComp(self, original: cst.ListComp, updated: cst.ListComp) -> cst.GeneratorExp:
        return _as_generator(updated)

    def leave_SetComp(self, original: cst.SetComp, updated: cst.SetComp) -> cst.GeneratorExp:
        return _as_generator(updated)

    def leave_Annotation(self, original: cst.Annotation, updated: cst.Annotation) -> cst.Annotation:
        # Since Python 3.14 an annotation has a scope of its own.
        return updated.with_changes(annotation=cst.Integer("0")) if sys.version_info >= (3, 14) else updated


def _as_generator(node: cst.ListComp | cst.SetComp) -> cst.GeneratorExp:
    return cst.GeneratorExp(node.elt, node.for_in, (*node.lpar, cst.LeftParen()), (cst.RightParen(), *node.rpar))


class _Table:
    """A scope as symtable has it, which says who owns its names."""

    def __init__(self, table: symtable.SymbolTable, parent: _Table | None) -> None:
        self.table, self.parent = table, parent
        # Python 3.14 has a scope for annotations, also where there are none.
        own = (child for child in table.get_children() if child.get_type() != "annotation")
        self.children = [_Table(child, self) for child in own]

    def every(self) -> Iterator[_Table]:
        yield self
        for child in self.children:
            yield from child.every()

    @property
    def key(self) -> tuple[str, int]:
        return self.table.get_name(), 0 if self.parent is None else self.table.get_lineno()

    def owns(self, name: str) -> bool:
        """Whether it has a variable of that name which is its own."""
        symbol = self.table.lookup(name) if name in self.table.get_identifiers() else None
        return symbol is not None and symbol.is_local() and not symbol.is_global()

    def binds_in_module(self, name: str) -> bool:
        if name not in self.table.get_identifiers():
            return False
        symbol = self.table.lookup(name)
        return (self.parent is None or symbol.is_global()) and (symbol.is_assigned() or symbol.is_imported())

    def owner(self, name: str, root: _Table) -> _Table | None:
        if self.parent is not None and self.owns(name):
            return self
        if self.table.lookup(name).is_free():
            outer = self.parent
            while outer is not None and not (outer.owns(name) and not isinstance(outer.table, symtable.Class)):
                outer = outer.parent
            return outer
        return root if any(one.binds_in_module(name) for one in root.every()) else None


def _key(module: Module, scope: LexicalScope) -> tuple[str, int]:
    node = scope.node
    if isinstance(node, cst.Module):
        return "top", 0
    if isinstance(node, cst.FunctionDef | cst.ClassDef):
        return node.name.value, module.position(node.name)[0]
    return ("lambda" if isinstance(node, cst.Lambda) else "genexpr"), module.position(node)[0]


@given(programs())
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@example("global a\ndef b(a):\n    return a\n")
@example("if __name__ == '__main__':\n    global a\n    a = 1\nclass b:\n    a = a\n    def c(self): return a\n")
@example("def b():\n    a = 1\n    class c:\n        global a\n        a = 2\n        def d(self): return a\n")
@example("def b():\n    global a\n    def c():\n        def d(): return a\n        (a := 1)\n")
@example("class a:\n    b = 1\n    c = (\n[b for b in b if (\nlambda: b)()])\n")
@example("def a():\n    return (\n[(b := c) for c in (\n[c for c in b])])\n")
def test_who_owns_a_name_is_what_python_says(text: str) -> None:
    text = cst.parse_module(text).visit(_AlikeEverywhere()).code
    module = Module("drawn.py", text)
    scopes = Scopes(module)
    root = _Table(symtable.symtable(text, "drawn.py", "exec"), None)
    tables = {table.key: table for table in root.every()}
    ours = {_key(module, scope): scope for scope in scopes.by_node.values()}
    assert tables.keys() == ours.keys()
    assert len(ours) == len(scopes.by_node)
    for key, table in tables.items():
        for name in {*NAMES} & {*table.table.get_identifiers()}:
            expected = table.owner(name, root)
            found = scopes.owner(name, ours[key])
            assert (found and _key(module, found)) == (expected and expected.key), (name, key, text)
            assert name in ours[key].mentions or not table.table.lookup(name).is_referenced(), (name, key, text)
        assert ours[key].mentions.keys() <= {*table.table.get_identifiers()} | {*dir(builtins)}, (key, text)


@given(programs())
@settings(max_examples=EXAMPLES // 2, deadline=None, suppress_health_check=list(HealthCheck))
def test_each_mention_belongs_to_one_variable(text: str) -> None:
    scopes = Scopes(Module("drawn.py", text))
    for scope in scopes.by_node.values():
        for name, mentions in scope.mentions.items():
            assert all(mention.scope is scope for mention in mentions)
            assert {*mentions} <= {*scopes.of_variable(name, scope)}
            assert scopes.visible(name, scopes.module) or scopes.owner(name, scope) is None
        for wanted in NAMES:
            assert not scopes.visible(scopes.fresh(wanted, scope), scope)


def test_the_comparison_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LexicalScope, "sees", lambda self, outer: True)
    with pytest.raises(AssertionError):
        test_who_owns_a_name_is_what_python_says.hypothesis.inner_test(  # type: ignore[attr-defined]
            "a = 1\nclass b:\n    a = 2\n    def c(self): return a\n"
        )
