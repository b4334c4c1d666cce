"""A parsed module and where its statements stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import itemgetter
from pathlib import PurePath
from typing import TypeVar, overload

import libcst as cst

from tfmigrate.importing import folders_added, paths_of
from tfmigrate.numbering import SCRIPT, Numbering
from tfmigrate.understand.layout import Layout
from tfmigrate.understand.usual_indent import with_usual_indent
from tfmigrate.walk import walk

Unit = cst.BaseStatement | cst.SimpleStatementLine | cst.SimpleStatementSuite
"""The smallest thing a scope can be put around: a line, a compound statement, or the tail of `if x: ...`."""


_A = TypeVar("_A", bound=cst.CSTNode)
_B = TypeVar("_B", bound=cst.CSTNode)
_C = TypeVar("_C", bound=cst.CSTNode)


@dataclass(frozen=True)
class Place:
    """Where a unit stands: in which block of which compound statement (None for the module)."""

    block: cst.Module | cst.BaseSuite
    owner: cst.CSTNode | None
    index: int


def units_of(block: cst.Module | cst.BaseSuite) -> Sequence[Unit]:
    """The units of a block, in order."""
    if isinstance(block, cst.SimpleStatementSuite):
        return (block,)
    return block.body  # type: ignore[return-value]


def block_of(function: cst.Module | cst.FunctionDef) -> cst.Module | cst.BaseSuite:
    """The units of a function, or of a module's own level."""
    return function.body if isinstance(function, cst.FunctionDef) else function


def suites_of(statement: cst.CSTNode) -> Iterator[cst.BaseSuite]:
    """The blocks directly inside a compound statement, in order of appearance."""
    if isinstance(statement, cst.If):
        yield statement.body
        if statement.orelse is not None:
            yield from suites_of(statement.orelse)
    elif isinstance(statement, cst.Else | cst.Finally | cst.ExceptHandler | cst.ExceptStarHandler | cst.With):
        yield statement.body
    elif isinstance(statement, cst.For | cst.While):
        yield statement.body
        if statement.orelse is not None:
            yield statement.orelse.body
    elif isinstance(statement, cst.Try | cst.TryStar):
        yield statement.body
        for handler in statement.handlers:
            yield handler.body
        if statement.orelse is not None:
            yield statement.orelse.body
        if statement.finalbody is not None:
            yield statement.finalbody.body
    elif isinstance(statement, cst.Match):
        for case in statement.cases:
            yield case.body
    elif isinstance(statement, cst.FunctionDef | cst.ClassDef):
        yield statement.body


class Module:
    """One source file: its tree, and an index of its units."""

    def __init__(self, path: str, text: str, numbering: Numbering = SCRIPT) -> None:
        """Raises libcst.ParserSyntaxError when the text is no Python 3."""
        self.path = path
        self.numbering = numbering
        self.text = text
        self.tail = _blank_end(text)
        self.tree = cst.parse_module(text.removesuffix(self.tail))
        self.places: dict[cst.CSTNode, Place] = {}
        self.order: dict[cst.CSTNode, int] = {}
        self._of_kinds: dict[tuple[type[cst.CSTNode], ...], tuple[cst.CSTNode, ...]] = {}
        self._index(self.tree, None)
        usual = with_usual_indent(self.tree, dict.fromkeys(place.block for place in self.places.values()))
        if usual is not self.tree:
            self.tree, self.places, self.order = usual, {}, {}
            self._index(self.tree, None)

    def _index(self, block: cst.Module | cst.BaseSuite, owner: cst.CSTNode | None) -> None:
        for number, unit in enumerate(units_of(block)):
            self.places[unit] = Place(block, owner, number)
            self.order[unit] = len(self.order)
            for suite in suites_of(unit):
                self._index(suite, unit)

    @cached_property
    def nodes(self) -> tuple[cst.CSTNode, ...]:
        """Every node of the tree in order of appearance, layout left out."""
        return tuple(walk(self.tree))

    @cached_property
    def _numbered(self) -> Mapping[type[cst.CSTNode], Sequence[tuple[int, cst.CSTNode]]]:
        """The nodes of each class, with their places in the order of appearance."""
        numbered: dict[type[cst.CSTNode], list[tuple[int, cst.CSTNode]]] = {}
        for entry in enumerate(self.nodes):
            numbered.setdefault(type(entry[1]), []).append(entry)
        return numbered

    @cached_property
    def imports(self) -> tuple[tuple[cst.Import | cst.ImportFrom, Unit], ...]:
        """Every import, with the unit it stands in."""
        lines = (unit for unit in self.places if isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite))
        return tuple((statement, unit) for unit in lines for statement in imports_at(unit))

    @overload
    def all_of(self, kind: type[_A], /) -> tuple[_A, ...]: ...
    @overload
    def all_of(self, kind: type[_A], other: type[_B], /) -> tuple[_A | _B, ...]: ...
    @overload
    def all_of(self, kind: type[_A], other: type[_B], third: type[_C], /) -> tuple[_A | _B | _C, ...]: ...
    def all_of(self, *kinds: type[cst.CSTNode]) -> tuple[cst.CSTNode, ...]:
        """Every node of these classes in order of appearance, but not of their subclasses."""
        found = self._of_kinds.get(kinds)
        if found is None:
            numbered = chain.from_iterable(self._numbered.get(kind, ()) for kind in kinds)
            found = self._of_kinds[kinds] = tuple(node for _, node in sorted(numbered, key=itemgetter(0)))
        return found

    @property
    def calls(self) -> tuple[cst.Call, ...]:
        """Every call in the tree, outer ones first."""
        return self.all_of(cst.Call)

    @cached_property
    def folders_added(self) -> tuple[str, ...]:
        """The folders that the module adds to `sys.path`."""
        return folders_added(self.text)

    @cached_property
    def layout(self) -> Layout:
        """The text that LibCST prints for the tree, and where each node stands in it."""
        return Layout(self.tree)

    @property
    def printed(self) -> str:
        """What LibCST gives back for the text."""
        return self.layout.code + self.tail

    def position(self, node: cst.CSTNode) -> tuple[int, int]:
        """Line and column of a node, both counted from 1."""
        return self.layout.position(node)

    def place(self, node: cst.CSTNode, here: Module | None = None) -> str:
        """Where a node stands, in words, for a message; without the file where that is in module `here`."""
        place = self.numbering.words(self.position(node)[0])
        return place if here is self else f"{place} of {self.path}"

    def indent_at(self, unit: cst.CSTNode) -> str:
        """How much deeper lines stand there than the statement round them, which not all of a file need agree on."""
        return getattr(self.places[unit].block, "indent", None) or self.tree.default_indent

    def ancestors(self, unit: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The compound statements round a unit, innermost first; functions and classes included."""
        owner = self.places[unit].owner
        while owner is not None:
            yield owner
            owner = self.places[owner].owner

    def function_round(self, unit: cst.CSTNode) -> cst.FunctionDef | None:
        """The innermost function that a unit stands in."""
        return next((owner for owner in self.ancestors(unit) if isinstance(owner, cst.FunctionDef)), None)

    def arms(self, unit: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
        """(compound statement, block) for each arm a unit stands in; `with` blocks always run and do not count."""
        current: cst.CSTNode = unit
        while (place := self.places.get(current)) is not None and place.owner is not None:
            if not isinstance(place.owner, cst.With):
                yield place.owner, place.block
            current = place.owner

    def exclusive(self, node: cst.CSTNode, other: cst.CSTNode) -> bool:
        """Whether two units stand in different arms of one `if` or `try`, so that only one of them runs."""
        arms = dict(self.arms(node))
        return any(
            owner in arms and arms[owner] is not block and isinstance(owner, cst.If | cst.Try)
            for owner, block in self.arms(other)
        )

    def one_runs(self, units: Iterable[Unit], *given: Unit) -> bool:
        """Whether one of these units runs wherever the given ones do: it is under no condition that is not theirs as
        well, or there is one in each arm of an `if` with an `else`. Loops are taken to run."""
        known = {arm for other in given for arm in self.arms(other)}
        ways = ([arm for arm in self.arms(unit) if isinstance(arm[0], cst.If | cst.Try)] for unit in units)
        return _one_is_reached([[arm for arm in way if arm not in known][::-1] for way in ways])

    def one_has_run(self, units: Iterable[Unit], unit: Unit) -> bool:
        """Whether one of these units has surely been run when another of the same function begins: one before it, or
        one in each arm of an `if` with an `else` before it. A loop may not run."""
        known, round_ = {*self.arms(unit)}, {*self.ancestors(unit)}
        before = (other for other in units if self.order[other] < self.order[unit] and other not in round_)
        return _one_is_reached([[arm for arm in self.arms(other) if arm not in known][::-1] for other in before])

    def inside(self, statement: cst.CSTNode) -> Iterator[Unit]:
        """All units inside a compound statement, itself left out, in order."""
        for suite in suites_of(statement):
            for unit in units_of(suite):
                yield unit
                yield from self.inside(unit)

    def code(self, node: cst.CSTNode) -> str:
        return self.tree.code_for_node(node)


def _one_is_reached(ways: Sequence[Sequence[tuple[cst.CSTNode, cst.CSTNode]]]) -> bool:
    """`ways`: the arms that lead to each unit, outermost first. A loop, or a `try`, may not run."""
    if not all(ways):
        return True
    for choice in {way[0][0] for way in ways}:
        inside = ([way[1:] for way in ways if way[0] == (choice, arm)] for arm in suites_of(choice))
        if _has_else(choice) and all(map(_one_is_reached, inside)):
            return True
    return False


def _has_else(choice: cst.CSTNode) -> bool:
    while isinstance(choice, cst.If) and choice.orelse is not None:
        choice = choice.orelse
    return isinstance(choice, cst.Else)


_BLANK_END = re.compile(r"(?:(?<=\n)|(?<=\r)(?!\n))[ \t\f]*(?:(?:\r\n?|\n)[ \t\f]*)*\Z")


def _blank_end(text: str) -> str:
    """The blank lines that a text ends in, which LibCST does not keep where white space of two depths stands in them.

    Behind a backslash the first of them belongs to the last statement.
    """
    match = _BLANK_END.search(text)
    blank = match[0] if match is not None else ""
    return "" if text.removesuffix(blank).rstrip("\r\n").endswith("\\") else blank


def dotted(node: cst.CSTNode | None) -> str:
    """`a.b.c` for the expression a.b.c, "" for anything else."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        head = dotted(node.value)
        return f"{head}.{node.attr.value}" if head else ""
    return ""


def root_of(node: cst.CSTNode) -> cst.CSTNode:
    """What stands at the left end of a dotted expression."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return node


def root_name(node: cst.CSTNode) -> cst.Name | None:
    """The name at the left end of a dotted expression; None where another expression stands there."""
    root = root_of(node)
    return root if isinstance(root, cst.Name) else None


def asked_in(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """What a condition asks for, `and`, `or` and `not` taken apart."""
    if isinstance(test, cst.BooleanOperation):
        yield from asked_in(test.left)
        yield from asked_in(test.right)
    elif isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        yield from asked_in(test.expression)
    else:
        yield test


def errors_of(handler: cst.ExceptHandler) -> frozenset[str]:
    """The names of the errors that a handler is for; "" where it takes every error."""
    if isinstance(handler.type, cst.Tuple):
        return frozenset(dotted(element.value) for element in handler.type.elements)
    return frozenset({dotted(handler.type)})


def last_attribute(node: cst.CSTNode | None) -> str:
    """The attribute that an expression reads, as "x" for `a().x`; "" for what reads none."""
    return node.attr.value if isinstance(node, cst.Attribute) else ""


def attribute_of(name: str | None, node: cst.CSTNode) -> str | None:
    """The attribute of a variable that an expression is, as "x" for `self.x`; None for anything else."""
    if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value == name:
        return node.attr.value
    return None


def assigned_in(tree: cst.CSTNode, name: str) -> list[cst.BaseExpression]:
    """What is assigned to a dotted name, as "self.path", anywhere in a tree."""
    assigns = (part for part in walk(tree) if isinstance(part, cst.Assign))
    return [part.value for part in assigns if any(dotted(target.target) == name for target in part.targets)]


def only_statement(unit: cst.CSTNode) -> cst.BaseSmallStatement | None:
    """The statement that has a line to itself."""
    return unit.body[0] if isinstance(unit, cst.SimpleStatementLine) and len(unit.body) == 1 else None


def is_seam(unit: cst.CSTNode) -> bool:
    """Whether a statement does nothing: `class name: pass`, which parts the cells of a notebook."""
    suite = unit.body if isinstance(unit, cst.ClassDef) else None
    return isinstance(suite, cst.SimpleStatementSuite) and all(isinstance(small, cst.Pass) for small in suite.body)


def is_docstring(statement: cst.CSTNode | None) -> bool:
    """Whether a statement is a string and nothing else."""
    return isinstance(statement, cst.Expr) and isinstance(statement.value, cst.SimpleString | cst.ConcatenatedString)


def is_star_import(statement: cst.CSTNode | None) -> bool:
    """Whether a statement is `from somewhere import *`."""
    return isinstance(statement, cst.ImportFrom) and isinstance(statement.names, cst.ImportStar)


def captures(pattern: cst.MatchPattern) -> Iterator[cst.Name]:
    """The names that a pattern of a `match` binds."""
    for part in walk(pattern):
        bound = part.rest if isinstance(part, cst.MatchMapping) else getattr(part, "name", None)
        if isinstance(part, cst.MatchAs | cst.MatchStar | cst.MatchMapping) and bound is not None:
            yield bound


def imports_of(statement: cst.Import | cst.ImportFrom) -> Iterator[tuple[cst.ImportAlias, str, str]]:
    """(alias node, bound name, qualified name) for each name an import binds; relative ones start with dots."""
    if isinstance(statement, cst.Import):
        for alias in statement.names:
            full = dotted(alias.name)
            if alias.asname is not None:
                yield alias, dotted(alias.asname.name), full
            else:
                yield alias, full.split(".", 1)[0], full.split(".", 1)[0]
    elif not isinstance(statement.names, cst.ImportStar):
        head = "." * len(statement.relative) + dotted(statement.module)
        for alias in statement.names:
            name = dotted(alias.name)
            bound = dotted(alias.asname.name) if alias.asname is not None else name
            yield alias, bound, f"{head}.{name}" if not head.endswith(".") else head + name


def packages_of(statement: cst.Import | cst.ImportFrom) -> set[str]:
    """The packages that an import takes something from, a star import too: the first words of its names."""
    source = [dotted(statement.module)] if isinstance(statement, cst.ImportFrom) else []
    return {full.split(".")[0] for full in (*source, *(full for _, _, full in imports_of(statement)))}


def names_imported(module: Module) -> Iterator[tuple[str, str]]:
    """(bound name, qualified name) of all that the imports of a module's own level bind."""
    for statement, unit in import_statements(module):
        if module.places[unit].owner is None:
            yield from ((bound, full) for _, bound, full in imports_of(statement))


class Program:
    """Modules that belong together, and which of them an import means."""

    def __init__(self, modules: Sequence[Module]) -> None:
        self.modules = tuple(modules)
        self._by_path: Mapping[str, Module] = {str(PurePath(module.path)): module for module in modules}

    def imported(self, name: str, level: int, importer: Module) -> Module | None:
        """The module of this program that `import name` means in `importer`; `level` counts the leading dots."""
        modules = (self._by_path.get(path) for path in paths_of(name, level, importer.path, importer.folders_added))
        return next((module for module in modules if module is not None), None)

    def source(self, statement: cst.ImportFrom, importer: Module) -> Module | None:
        """The module of this program that `from source import ...` takes names from."""
        return self.imported(dotted(statement.module), len(statement.relative), importer)


def import_statements(module: Module) -> Sequence[tuple[cst.Import | cst.ImportFrom, Unit]]:
    """Every import of a module, with the unit it stands in."""
    return module.imports


def imports_at(unit: cst.CSTNode) -> list[cst.Import | cst.ImportFrom]:
    """The imports that a line holds."""
    smalls = unit.body if isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite) else ()
    return [small for small in smalls if isinstance(small, cst.Import | cst.ImportFrom)]
