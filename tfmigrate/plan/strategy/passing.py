"""Whether some units of a function can be run after others that follow them.

What goes down may run anything, so the proof is about what it passes: arithmetic on what is known, the command line
being read, words printed, GPUs chosen, and conditions on these. None of it can tell that the model is not built yet,
and the building cannot tell that it is done, if neither changes what the other one reads:

- names: what moves down binds no name that is used above its new place, and uses none that is bound there;
- functions, which it may call: none mentions a name bound there, or binds one read there;
- attributes read there: nothing in a function of the program sets one of that name, but `__init__` of a new object.

If one of these cannot be proved, nothing moves.
"""

from __future__ import annotations

import builtins
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cached_property

import libcst as cst

from tfmigrate.plan.change.calls import text_of
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.strategy.guards import is_cpu_device
from tfmigrate.plan.strategy.owner import Owner
from tfmigrate.plan.strategy.roots import Root, are_names, is_init, is_literal, mentions_any, roots, sets_any
from tfmigrate.understand.blocks import Unit, is_docstring, suites_of, units_of
from tfmigrate.understand.module import Module
from tfmigrate.understand.purity import is_pure
from tfmigrate.understand.reaching import final_values, reaching, value_of
from tfmigrate.understand.scopes import LexicalScope, Occurrence
from tfmigrate.understand.syntax import last_attribute
from tfmigrate.understand.values import is_of_the_program
from tfmigrate.walk import walk

_DEVICES = frozenset({"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"})
"""Variables of the environment that are read when the GPUs are started, and by nothing that builds a model."""
_ENVIRONMENT = frozenset({"os.environ", "os.environ.get", "os.getenv"})
_COMMAND_LINE = frozenset({"sys.argv", "argparse.ArgumentParser"})
_ITEMS = frozenset({"os.environ", "sys.argv"})
_TALK = frozenset({"debug", "info", "warning", "error"})
_READS_ARGUMENTS = frozenset({"parse_args", "parse_known_args"})
_HIDDEN = frozenset({"setattr", "delattr", "exec", "eval", "vars", "globals", "locals", "__dict__", "__setattr__"})
"""What sets attributes whose names are unknown."""
_ANSWERS = frozenset({"__getattr__", "__getattribute__"})
_Variable = tuple[str, LexicalScope]


class Passing:
    """That some units of a function can be run after others that follow them."""

    def __init__(
        self, owner: Owner, draft: Draft, drafts: tuple[Draft, ...], exported: Container[tuple[Module, str]]
    ) -> None:
        self._module: Module = owner.module
        self._function = owner.function
        self._draft = draft
        self._drafts = drafts
        self._exported = exported
        self._scopes = draft.scopes
        self._scope = draft.scopes.by_node[owner.function]
        self._frames = {group.owner for group in owner.groups}
        self._all_scopes = {other.module: other.scopes for other in drafts}

    # ---- what may go down ----

    def may_go(self, unit: Unit) -> bool:
        """Whether a unit does nothing but build, as far as its own lines tell: its calls may do anything."""
        if isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite):
            plain = all(
                isinstance(small, cst.Expr)
                or (isinstance(small, cst.Assign) and all(are_names(target.target) for target in small.targets))
                for small in unit.body
            )
        elif isinstance(unit, cst.If) or is_cpu_device(unit, self._draft.facts):
            plain = all(self.may_go(inner) for suite in suites_of(unit) for inner in units_of(suite))
        else:
            return False
        odd = (cst.NamedExpr, cst.Await, cst.Yield)
        return plain and self._binds_its_own(unit) and not any(isinstance(part, odd) for part in walk(unit))

    def is_about(self, units: Sequence[Unit], other: Unit) -> bool:
        """Whether a unit mentions a name that others bind, and so goes with them: `model.load_weights(path)`."""
        mentioned = {name for name, owner in self._variables((other,)) if owner is self._scope}
        return not mentioned.isdisjoint(self.bound(units))

    # ---- what may be passed ----

    def may_pass(self, going: Sequence[Unit], passed: Sequence[Unit]) -> bool:
        """Whether the last of the passed units does no more than it may, and none of `going` can tell it from later."""
        unit = passed[-1]
        if not self._is_harmless(unit) or not self._binds_its_own(unit):
            return False
        asked = any(self.is_about((unit,), moved) for moved in going) or self.is_about(going, unit)
        if asked or any(map(self._is_known_elsewhere, self.bound((unit,)))):
            return False
        return self._finds_all_the_same(going, passed)

    def _is_harmless(self, unit: Unit) -> bool:
        if isinstance(unit, cst.If):
            branch: cst.If | cst.Else | None = unit
            while isinstance(branch, cst.If):
                if not self._is_plain(branch.test):
                    return False
                branch = branch.orelse
            return all(self._is_harmless(inner) for suite in suites_of(unit) for inner in units_of(suite))
        if isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite):
            return all(self._is_harmless_line(small) for small in unit.body)
        return False

    def _is_harmless_line(self, small: cst.BaseSmallStatement) -> bool:
        if isinstance(small, cst.Assign):
            targets = [target.target for target in small.targets]
            chosen = len(targets) == 1 and is_device_choice(targets[0], self._draft) and self._is_plain(small.value)
            return chosen or (all(map(are_names, targets)) and self._is_known(small.value))
        if isinstance(small, cst.AugAssign):
            return isinstance(small.target, cst.Name) and is_literal(small.value)
        if isinstance(small, cst.Expr):
            return self._is_talk(small) or self._is_known(small.value) or is_docstring(small)
        return isinstance(small, cst.Pass)

    def _is_talk(self, small: cst.BaseSmallStatement) -> bool:
        """`print(...)`, `logging.info(...)`, `logger.info(...)`."""
        call = small.value if isinstance(small, cst.Expr) else None
        if not isinstance(call, cst.Call) or not all(is_pure(argument.value) for argument in call.args):
            return False
        if isinstance(call.func, cst.Name):
            return call.func.value == "print" and self._owner(call.func.value) is None
        if not isinstance(call.func, cst.Attribute) or call.func.attr.value not in _TALK:
            return False
        about = call.func.value
        return self._symbol(about) == "logging" or self._maker(about) == "logging.getLogger"

    def _is_known(self, value: cst.BaseExpression) -> bool:
        """Whether an expression is plain, or reads the command line."""
        if not isinstance(value, cst.Call) or not all(self._is_plain(argument.value) for argument in value.args):
            return self._is_plain(value)
        if self._symbol(value.func) == "argparse.ArgumentParser":
            return True
        method = last_attribute(value.func)
        if method in _READS_ARGUMENTS | {"add_argument"} and isinstance(value.func, cst.Attribute):
            return self._maker(value.func.value) == "argparse.ArgumentParser"
        return self._is_plain(value)

    def _is_plain(self, value: cst.BaseExpression) -> bool:
        """Whether an expression computes with what is known, and reads no item that may be set elsewhere."""
        for part in walk(value):
            holder = part.value if isinstance(part, cst.Subscript) else None
            if isinstance(part, cst.Call) and isinstance(part.func, cst.Attribute) and part.func.attr.value == "get":
                holder = part.func.value
            if holder is not None and not isinstance(holder, cst.Call) and self._symbol(holder) not in _ITEMS:
                return False
        return is_pure(value)

    # ---- whether it finds what it found ----

    def _finds_all_the_same(self, going: Sequence[Unit], passed: Sequence[Unit]) -> bool:
        """Whether nothing that the last of the passed units reads can be changed by the units that go down."""
        read: set[tuple[_Variable, tuple[str, ...]]] = set()
        for root, owner in self._roots_read(passed[-1]):
            if owner is not None and not self._is_imported(root.name.value, owner):
                read.add(((root.name.value, owner), root.path))
            elif not self._is_fixed(root, owner, going):
                return False
        attributes = {attribute for _, path in read for attribute in path}
        return (
            all(self._keeps_its_value(*variable) for variable, _ in read)
            and all(path or self._is_seen_by_none(*variable, passed) for variable, path in read)
            and not any(
                self._is_given_away(unit, {(variable, path) for variable, path in read if path}) for unit in going
            )
            and not (attributes and self._may_set(attributes, going))
        )

    def _roots_read(self, unit: Unit) -> Iterator[tuple[Root, LexicalScope | None]]:
        """The names that a unit reads, each with whose variable it is; None for a builtin."""
        for node in self._read(unit):
            for root in roots(node):
                occurrence = self._scopes.occurrence(root.name)
                if occurrence is not None and (not occurrence.binds or isinstance(node, cst.AugAssign)):
                    yield root, self._scopes.owner(root.name.value, occurrence.scope)

    def _read(self, unit: Unit) -> Iterator[cst.CSTNode]:
        """The parts of a unit whose values count: not what is only said."""
        if isinstance(unit, cst.If):
            yield unit.test
            for suite in suites_of(unit):
                for inner in units_of(suite):
                    yield from self._read(inner)
            branch = unit.orelse
            while isinstance(branch, cst.If):
                yield branch.test
                branch = branch.orelse
        elif isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite):
            yield from (small for small in unit.body if not self._is_talk(small))

    def _is_fixed(self, root: Root, owner: LexicalScope | None, going: Sequence[Unit]) -> bool:
        """Whether something is a builtin, or of the environment or the command line, which no function here sets."""
        name, call = root.name, root.call
        if owner is None:
            return hasattr(builtins, name.value)
        symbol = ".".join((self._symbol(name), *root.path))
        if call is not None and isinstance(call.func, cst.Attribute) and call.func.value is name:
            symbol = self._symbol(call.func)
        if symbol in _ENVIRONMENT:
            return not self._is_mentioned(frozenset({"environ", "getenv", "putenv"}), going)
        return symbol in _COMMAND_LINE or symbol.startswith("argparse.")

    def _keeps_its_value(self, name: str, owner: LexicalScope) -> bool:
        """Whether a variable is plain data, which no function that may be called in between rebinds."""
        return not any(
            self._is_elsewhere(mention)
            or (isinstance(mention.unit, cst.FunctionDef | cst.ClassDef) and mention.unit is not owner.node)
            for mention in reaching(name, owner, self._scopes)
        )

    def _is_seen_by_none(self, name: str, owner: LexicalScope, passed: Sequence[Unit]) -> bool:
        """Whether a variable is a number or a word, or nothing else had it that could change what it holds."""
        mentions = self._scopes.of_variable(name, owner)
        values = [value_of(mention) for mention in mentions if mention.binds]
        if all(value is not None and is_literal(value) for value in values):
            return True
        inside = {inner for unit in passed for inner in (unit, *self._module.inside(unit))}
        last = self._module.order[passed[-1]]
        return all(
            mention.binds
            or mention.unit in inside
            or self._only_reads(mention.unit)
            or (self._scope_round(mention) is self._scope and self._module.order[mention.unit] > last)
            for mention in mentions
        )

    def _only_reads(self, unit: Unit) -> bool:
        """Whether a line keeps nothing of what it mentions: `print(gpus)`, `parser.add_argument(...)`."""
        return isinstance(unit, cst.SimpleStatementLine) and all(
            isinstance(small, cst.Expr) and self._is_harmless_line(small) for small in unit.body
        )

    def _is_given_away(self, unit: Unit, read: set[tuple[_Variable, tuple[str, ...]]]) -> bool:
        """Whether a unit passes an object that is read from to unknown code, or passes on just what is read."""
        for root in roots(unit):
            occurrence = self._scopes.occurrence(root.name)
            owner = self._scopes.owner(root.name.value, occurrence.scope) if occurrence is not None else None
            for variable, attributes in read:
                if variable == (root.name.value, owner) and attributes[: len(root.path)] == root.path:
                    if root.path == attributes or root.call is None or not self._is_in_sight(root.call):
                        return True
        return False

    def _is_in_sight(self, call: cst.Call) -> bool:
        values = self._draft.facts.options(call.func)
        return bool(values) and all(map(is_of_the_program, values))

    def _may_set(self, attributes: set[str], going: Sequence[Unit]) -> bool:
        """Whether a function of the program may set an attribute of one of these names, or answer for it."""
        others = (node for node in (*going, *self._functions) if not is_init(node))
        if self._is_mentioned(_HIDDEN, going) or any(mentions_any(node, frozenset({"__init__"})) for node in others):
            return True
        return any(
            (isinstance(function, cst.FunctionDef) and function.name.value in attributes | _ANSWERS)
            or sets_any(function, attributes)
            for function in self._functions
        )

    # ---- functions, which may be called in between ----

    @cached_property
    def _functions(self) -> tuple[cst.FunctionDef | cst.Lambda, ...]:
        """Every function of the program but the one in question; those inside it are."""
        nodes = (node for draft in self._drafts for node in draft.module.all_of(cst.FunctionDef, cst.Lambda))
        return tuple(node for node in nodes if node is not self._function)

    def _is_mentioned(self, wanted: frozenset[str], going: Sequence[Unit]) -> bool:
        return any(mentions_any(node, wanted) for node in (*going, *self._functions))

    def _is_elsewhere(self, mention: Occurrence) -> bool:
        """Whether a mention stands in another function, which may be called at any time."""
        scope = self._scope_round(mention)
        return scope is not self._scope and not isinstance(scope.node, cst.Module)

    @staticmethod
    def _scope_round(mention: Occurrence) -> LexicalScope:
        """The function, class or module that a mention stands in."""
        scope = mention.scope
        while isinstance(scope.node, cst.BaseComp) and scope.parent is not None:
            scope = scope.parent
        return scope

    def _is_known_elsewhere(self, name: str) -> bool:
        """Whether another function, or another module, may read a variable of the one in question."""
        mentions = self._scopes.of_variable(name, self._scope)
        return any(map(self._is_elsewhere, mentions)) or (
            isinstance(self._function, cst.Module) and (self._module, name) in self._exported
        )

    # ---- names ----

    def _variables(self, units: Iterable[Unit], *, binding: bool = False) -> set[tuple[str, LexicalScope | None]]:
        """The variables that some units mention, or only those that they bind, each with whose it is."""
        return {
            (mention.node.value, self._scopes.owner(mention.node.value, mention.scope))
            for unit in units
            for inner in (unit, *self._module.inside(unit))
            for mention in self._scopes.in_unit(inner)
            if isinstance(mention.node, cst.Name) and (mention.binds or not binding)
        }

    def bound(self, units: Iterable[Unit]) -> frozenset[str]:
        """The names that some units bind."""
        return frozenset(name for name, owner in self._variables(units, binding=True) if owner is self._scope)

    def _binds_its_own(self, unit: Unit) -> bool:
        """Whether all that a unit binds is a variable of the function in question, or of a comprehension."""
        return all(
            owner is self._scope or (owner is not None and isinstance(owner.node, cst.BaseComp | cst.Lambda))
            for _, owner in self._variables((unit,), binding=True)
        )

    def _owner(self, name: str) -> LexicalScope | None:
        return self._scopes.owner(name, self._scope)

    def _is_imported(self, name: str, owner: LexicalScope) -> bool:
        return any(isinstance(mention.node, cst.ImportAlias) for mention in reaching(name, owner, self._scopes))

    def _symbol(self, node: cst.CSTNode) -> str:
        return self._draft.facts.symbols.get(node, "")

    def _maker(self, node: cst.CSTNode) -> str:
        """By which function of a library, always the same, the variable `node` is made; "" for none."""
        if not isinstance(node, cst.Name):
            return ""
        values = [value for frame in self._frames for value in final_values(node, frame, self._all_scopes) or (node,)]
        symbols = {self._symbol(value.func) if isinstance(value, cst.Call) else "" for value in values}
        return symbols.pop() if len(symbols) == 1 else ""


def is_device_choice(target: cst.BaseExpression, draft: Draft) -> bool:
    """`os.environ["CUDA_VISIBLE_DEVICES"]`"""
    if not isinstance(target, cst.Subscript) or draft.facts.symbols.get(target.value) != "os.environ":
        return False
    index = target.slice[0].slice
    return isinstance(index, cst.Index) and text_of(index.value) in _DEVICES
