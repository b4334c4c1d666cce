"""A parsed module and where its statements stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import TypeVar, overload

import libcst as cst

from tfmigrate.importing import folders_added
from tfmigrate.numbering import SCRIPT, Numbering
from tfmigrate.understand.blocks import Unit, suites_of, units_of
from tfmigrate.understand.import_statements import imports_at, imports_of
from tfmigrate.understand.layout import Layout
from tfmigrate.understand.unreached import EXITS, LEAVING, Kinds, leaves, never_run
from tfmigrate.understand.usual_indent import with_usual_indent
from tfmigrate.walk import walk

_A = TypeVar("_A", bound=cst.CSTNode)
_B = TypeVar("_B", bound=cst.CSTNode)
_C = TypeVar("_C", bound=cst.CSTNode)


@dataclass(frozen=True)
class Place:
    """Where a unit stands: in which block of which compound statement (None for the module)."""

    block: cst.Module | cst.BaseSuite
    owner: cst.CSTNode | None
    index: int


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

    def unit_round(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The innermost unit that a node stands in, or is; None for one of another module."""
        return next((unit for unit in reversed(self.places) if any(part is node for part in walk(unit))), None)

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

    def leaves(self, node: cst.CSTNode | None, by: Kinds = LEAVING) -> bool:
        """Whether what follows a statement or a block is never reached from it: `unreached.leaves`."""
        return leaves(node, by, self._exits)

    @cached_property
    def unreached(self) -> frozenset[cst.CSTNode]:
        """All that never runs, whatever the program is given."""
        return frozenset(node for part in never_run(self.tree, self._exits) for node in walk(part))

    @cached_property
    def _exits(self) -> frozenset[str]:
        """The calls that end the program, but for what the module calls so itself."""
        own = {node.name.value for node in self.all_of(cst.FunctionDef, cst.ClassDef, cst.Param)}
        own.update(node.target.value for node in self.all_of(cst.AssignTarget) if isinstance(node.target, cst.Name))
        imported = (names for statement, _ in self.imports for names in imports_of(statement))
        own.update(bound for _, bound, full in imported if full.lstrip(".") not in ("sys.exit", "os._exit"))
        return EXITS - own

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


def names_imported(module: Module) -> Iterator[tuple[str, str]]:
    """(bound name, qualified name) of all that the imports of a module's own level bind."""
    for statement, unit in module.imports:
        if module.places[unit].owner is None:
            yield from ((bound, full) for _, bound, full in imports_of(statement))
