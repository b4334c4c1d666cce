"""File names as expressions: the literals that they end with, wherever in the program those are written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import libcst as cst

from tfmigrate.file_names import shape_of
from tfmigrate.plan.change.calls import truth_of
from tfmigrate.plan.change.imported_names import Binding, ImportedNames
from tfmigrate.plan.change.text_pieces import Fixed, pieces_of
from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import (
    added,
    binding_above,
    bindings_of,
    bound,
    default_of,
    parameters_of,
    settled,
    value_of,
)
from tfmigrate.understand.scopes import LexicalScope, Scopes
from tfmigrate.understand.syntax import assigned_in, dotted
from tfmigrate.understand.values import ClassValue, FunctionValue, Method


def ending_of(
    node: cst.BaseExpression, facts: Facts, scopes: Scopes, seen: Set[cst.CSTNode] = frozenset()
) -> cst.SimpleString | None:
    """The string literal that a path ends with, through `+`, `%`, format(), os.path.join() and names bound once.

    `seen`: what is made of the path, which may be made of itself.
    """
    node = settled(node, scopes)
    if node in seen:
        return None
    if isinstance(node, cst.SimpleString):
        return node
    last = _last_part(node, facts)
    return ending_of(last, facts, scopes, seen | {node}) if last is not None else None


def _last_part(node: cst.BaseExpression, facts: Facts) -> cst.BaseExpression | None:
    """The part of a text that is put together which holds its end."""
    last = next(reversed(pieces_of(node, facts) or ()), None)
    part = last.node if isinstance(last, Fixed) else last
    return part if part is not node else None


@dataclass(frozen=True)
class Ending:
    """A literal that a path may end with; gaps of an f-string are `{}` in its text."""

    node: cst.SimpleString | cst.FormattedString
    module: Module
    text: str


_Parameter = tuple[cst.FunctionDef, str]
_Part = tuple[cst.BaseExpression | None, Module]
"""What an expression is made of, and where that stands; None for what is unknown."""


@dataclass(frozen=True, eq=False)
class Paths:
    """Follows paths through a program: through names, attributes of objects, and what callers pass."""

    facts: Mapping[Module, Facts]
    scopes: Mapping[Module, Scopes]
    calls: Mapping[cst.FunctionDef, Sequence[tuple[Module, cst.Call]]]
    """The calls of each function; of a class, those of its `__init__`."""
    methods: Set[cst.FunctionDef]
    """The functions that stand in a class."""
    imported: ImportedNames
    given: Mapping[_Parameter, Set[bool | None]] = field(default_factory=dict)
    """What parameters of functions may be where the paths are read: true, or not, or unknown (None)."""
    run: Set[cst.FunctionDef] = frozenset()
    """Functions of which one call alone is looked at."""

    @classmethod
    def of(cls, facts: Mapping[Module, Facts], scopes: Mapping[Module, Scopes]) -> Paths:
        calls: dict[cst.FunctionDef, list[tuple[Module, cst.Call]]] = defaultdict(list)
        for module, own in facts.items():
            for call in own.module.calls:
                for called in {*_called(call, own)}:
                    calls[called].append((module, call))
        classes = (node for module in facts for node in module.all_of(cst.ClassDef))
        methods = frozenset(part for node in classes for part in node.body.body if isinstance(part, cst.FunctionDef))
        return cls(facts, scopes, calls, methods, ImportedNames.of(scopes))

    def along(self, calls: Mapping[cst.FunctionDef, tuple[Module, cst.Call]]) -> Paths:
        """The paths where these functions are run by these calls of them alone."""
        of_these = {function: [call] for function, call in calls.items()}
        return replace(self, calls={**self.calls, **of_these}, run=self.run | calls.keys())

    def at(self, unit: Unit, module: Module) -> Paths:
        """The paths at a place that is only reached where some parameters are true, or not: `if self.weights_only:`."""
        given = dict(self.given)
        for owner, block in module.arms(unit):
            if isinstance(owner, cst.If):
                test, holds = owner.test, block is owner.body
                while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
                    test, holds = test.expression, not holds
                parameter = self._parameter(test, module)
                if parameter is not None:
                    given[parameter] = {holds, None}
        return replace(self, given=given)

    def by_truth(self, node: cst.BaseExpression, module: Module) -> Iterator[tuple[bool | None, Paths]]:
        """Whether an expression counts as true, None where that depends on something; and the paths there. Of a
        parameter, each that calls of its function pass, with the paths of those calls."""
        truth = self._truth_of(node, module)
        parameter = self._parameter(node, module) if truth is None else None
        if parameter is None:
            yield truth, self
            return
        function, name = parameter
        values = [passed.get(name) if passed is not None else None for _, passed in self._calls_of(function)]
        for truth in dict.fromkeys(truth_of(value) if value is not None else None for value in values or [None]):
            yield truth, replace(self, given={**self.given, parameter: {truth}})

    def _truth_of(self, node: cst.BaseExpression, module: Module) -> bool | None:
        """Whether an expression counts as true, or what a name was bound to last above it."""
        seen: set[cst.BaseExpression] = set()
        while isinstance(node, cst.Name) and truth_of(node) is None and node not in seen:
            seen.add(node)
            binding = binding_above(node, module, self.scopes[module])
            value = value_of(binding) if binding is not None else settled(node, self.scopes[module])
            if value is None:
                return None
            node = value
        return truth_of(node)

    def _parameter(self, node: cst.BaseExpression, module: Module) -> _Parameter | None:
        """The parameter that a name is, or that an attribute of `self` is set to and never to anything else."""
        if isinstance(node, cst.Attribute):
            values = self._assigned(node, module)
            return self._parameter(values[0], module) if len(values) == 1 and isinstance(values[0], cst.Name) else None
        scopes = self.scopes[module]
        bindings = bindings_of(node, scopes)
        function = bindings[0].scope.node if len(bindings) == 1 and value_of(bindings[0]) is None else None
        if not isinstance(node, cst.Name) or not isinstance(function, cst.FunctionDef):
            return None
        return (function, node.value) if node.value in parameters_of(function) else None

    def endings(self, node: cst.BaseExpression, module: Module) -> tuple[frozenset[Ending], bool]:
        """The literals that a path may end with, and whether there are no other ones."""
        return self._literals(node, module, self._made_of)

    def wholes(self, node: cst.BaseExpression, module: Module) -> frozenset[Ending]:
        """The literals that an expression may stand for as they are."""
        return self._literals(node, module, self.stands_for)[0]

    def _literals(
        self, node: cst.BaseExpression, module: Module, made_of: Callable[[cst.BaseExpression, Module], Iterator[_Part]]
    ) -> tuple[frozenset[Ending], bool]:
        ends: set[Ending] = set()
        known = True
        pending: list[_Part] = [(node, module)]
        seen: set[cst.CSTNode] = set()
        while pending:
            part, place = pending.pop()
            if part is None:
                known = False
            elif part not in seen:
                seen.add(part)
                text = _text_of(part)
                if text is not None and isinstance(part, cst.SimpleString | cst.FormattedString):
                    ends.add(Ending(part, place, text))
                else:
                    pending.extend(made_of(part, place))
        return frozenset(ends), known

    def _made_of(self, node: cst.BaseExpression, module: Module) -> Iterator[_Part]:
        """What an expression has its end from; None for what is unknown."""
        last = _last_part(node, self.facts[module]) or self.added(node, module)
        return iter([(last, module)]) if last is not None else self.stands_for(node, module)

    def added(self, node: cst.BaseExpression, module: Module) -> cst.BaseExpression | None:
        """What `path += ".h5"` added last."""
        binding = binding_above(node, module, self.scopes[module]) if isinstance(node, cst.Name) else None
        return added(binding) if binding is not None else None

    def stands_for(self, node: cst.BaseExpression, module: Module) -> Iterator[_Part]:
        """What an expression is, by another name; None for what is unknown."""
        if isinstance(node, cst.IfExp):
            yield from ((node.body, module), (node.orelse, module))
        elif isinstance(node, cst.BooleanOperation):
            yield from ((node.left, module), (node.right, module))
        elif isinstance(node, cst.Name):
            yield from self._bound(node, module)
        elif isinstance(node, cst.Attribute):
            yield from self._kept(node, module)
        else:
            yield None, module

    def _bound(self, node: cst.Name, module: Module) -> Iterator[_Part]:
        scopes = self.scopes[module]
        last = binding_above(node, module, scopes)
        value = value_of(last) if last is not None else None
        followed = last is not None and (value is None or self._is_followed(value, module))
        bindings = [last] if last is not None and followed else bindings_of(node, scopes)
        if not bindings:
            yield from self._values(self.imported.of_name(node.value, None, module), module)
        for binding in bindings:
            value = value_of(binding)
            if isinstance(binding.node, cst.ImportAlias):
                yield from self._values(self.imported.of_name(node.value, binding, module), module)
            elif value is None and isinstance(binding.scope.node, cst.FunctionDef):
                yield from self._passed(node.value, binding.scope, module)
            else:
                yield value, module

    def _values(self, bindings: Sequence[Binding], module: Module) -> Iterator[_Part]:
        """What a name is bound to in other modules."""
        yield from ((value_of(binding), source) for source, binding in bindings)
        if not bindings:
            yield None, module

    def _is_followed(self, value: cst.BaseExpression, module: Module) -> bool:
        """Whether it is known what an expression ends with; of `path.replace(a, b)` it is not."""
        named = cst.Name | cst.Attribute | cst.IfExp | cst.BooleanOperation | cst.SimpleString | cst.FormattedString
        return isinstance(value, named) or _last_part(value, self.facts[module]) is not None

    def _passed(self, name: str, scope: LexicalScope, module: Module) -> Iterator[_Part]:
        """What the callers of a function pass for a parameter."""
        function = scope.node
        called = isinstance(function, cst.FunctionDef) and function in self.calls
        if not isinstance(function, cst.FunctionDef) or name not in parameters_of(function) or not called:
            yield None, module
            return
        for place, passed in self._calls_of(function):
            if passed is None:
                yield None, place
            elif self._may_be(function, passed):
                value = passed.get(name)
                yield value, place if value is not default_of(name, function) else module
        if function in self.methods and function not in self.run:  # objects are also used where nobody looks
            default = default_of(name, function)
            if isinstance(default, cst.SimpleString) and self._may_be(function, _defaults(function)):
                yield default, module

    def _calls_of(self, function: cst.FunctionDef) -> Iterator[tuple[Module, dict[str, cst.BaseExpression] | None]]:
        """The calls of a function, each with what it passes for the parameters, or their defaults; None where some of
        that is hidden."""
        parameters, defaults = parameters_of(function), _defaults(function)
        for module, call in self.calls.get(function, ()):
            plain = any(isinstance(option, FunctionValue) for option in self.facts[module].options(call.func))
            is_method = not plain and function in self.methods
            passed = bound(call.args, parameters[1:] if is_method else parameters)
            values = {name: arg.value for name, arg in passed.items()} if passed is not None else {}
            yield module, {**defaults, **values} if passed is not None else None

    def _may_be(self, function: cst.FunctionDef, passed: Mapping[str, cst.BaseExpression]) -> bool:
        """Whether a call may be one of those that lead to the place where the path is read."""
        for (owner, name), possible in self.given.items():
            value = passed.get(name)
            if owner is function and value is not None and truth_of(value) not in possible:
                return False
        return True

    def _kept(self, node: cst.Attribute, module: Module) -> Iterator[_Part]:
        """What the methods of a class assign to `self.path`, or a module of the program to its name `path`."""
        values = self._assigned(node, module)
        yield from ((value, module) for value in values)
        if not values:
            yield from self._values(self.imported.of_attribute(node, module), module)

    def _assigned(self, node: cst.Attribute, module: Module) -> list[cst.BaseExpression]:
        root = node.value
        scope = self.scopes[module].holding(root) if isinstance(root, cst.Name) else None
        while scope is not None and not isinstance(scope.node, cst.FunctionDef):
            scope = scope.parent
        around = scope.parent.node if scope is not None and scope.parent is not None else None
        return assigned_in(around, dotted(node)) if isinstance(around, cst.ClassDef) else []


def _defaults(function: cst.FunctionDef) -> dict[str, cst.BaseExpression]:
    return {name: value for name in parameters_of(function) if (value := default_of(name, function)) is not None}


def _called(call: cst.Call, facts: Facts) -> Iterator[cst.FunctionDef]:
    for option in facts.options(call.func):
        function = option.lookup("__init__") if isinstance(option, ClassValue) else option
        function = function.function if isinstance(function, Method) else function
        if isinstance(function, FunctionValue) and isinstance(function.node, cst.FunctionDef):
            yield function.node


def _text_of(node: cst.BaseExpression) -> str | None:
    if isinstance(node, cst.SimpleString):
        value = node.evaluated_value
        return value if isinstance(value, str) else None
    if isinstance(node, cst.FormattedString) and node.parts and isinstance(node.parts[-1], cst.FormattedStringText):
        return with_gaps(node)
    return None


def with_gaps(node: cst.FormattedString) -> str:
    """The text of an f-string, with `{}` for each part that is filled in."""
    texts = (part.value if isinstance(part, cst.FormattedStringText) else "{}" for part in node.parts)
    return "".join(texts).replace("{{", "{").replace("}}", "}")


def name_shape(text: str) -> str | None:
    """A file name with the same mark in each gap that is filled in later; None where it has no gap, or is one alone."""
    shape = shape_of(text)
    stem = shape.rpartition(".")[0].rpartition("/")[2]
    return shape if shape != text and stem.strip("*") else None
