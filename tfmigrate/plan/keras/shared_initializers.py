"""One initializer object for several weights: old Keras drew new values for each, today's Keras the same ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import has_stars, passed_as, text_of
from tfmigrate.plan.edits import Remove, Replace
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand import names
from tfmigrate.understand.import_statements import imports_at
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import assigned, bindings_of, is_parameter, reaching
from tfmigrate.understand.scopes import Occurrence, Scopes
from tfmigrate.understand.syntax import last_attribute
from tfmigrate.understand.values import ClassValue, Opaque, Site, Sites, Value, is_of_the_program, options
from tfmigrate.understand.values import Literal as Constant
from tfmigrate.understand.values import Mapping as ValuesByKey
from tfmigrate.walk import comments_in, nodes_in, walk
from tfmigrate.written import Code, Written

_OF_SCALE = ("glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "lecun_normal", "lecun_uniform")
_PLACES_OF_SEEDS: Mapping[str, int] = {
    **dict.fromkeys(("randomnormal", "randomuniform", "truncatednormal", "normal", "uniform"), 2),
    **dict.fromkeys((name.replace("_", "") for name in _OF_SCALE), 0),
    "variancescaling": 3,
    "orthogonal": 1,
}
"""The initializers of Keras that draw, without case and underscores, and where their seed stands."""
_COUNTING = (2, 3)
"""The version of Keras that counted seeds up."""
_STORY = "Keras 3 and tf_keras draw the same values each time an initializer is used, where old Keras drew new ones"
_COUNTED = "Keras 2.3 incremented the seed of an initializer for each weight, and no other Keras does"
_CONSTANT = cst.Integer | cst.Float | cst.SimpleString | cst.Name | cst.UnaryOperation | cst.BinaryOperation


@dataclass(frozen=True, eq=False)
class _Given:
    """A layer that is given an initializer that old Keras drew other values with each time."""

    facts: Facts
    scopes: Scopes
    call: cst.Call
    """What makes the layer."""
    unit: cst.CSTNode
    node: cst.BaseExpression
    """The initializer."""
    made: cst.Call
    """The call that makes that."""
    sites: Sites
    """Where it is made."""
    seeded: bool


def check(context: Context) -> Iterator[CallChange]:
    shared = context.migration.once(_shared)
    here = [each for each in shared if each.facts is context.facts]
    lines = {each: _line(each) for each in here}
    read_last = _read_last(lines, context)
    for each, line in lines.items():
        if line is not None:
            message = f"{_STORY}: each weight gets its own initializer"
            more = (Remove(line),) if read_last.get(line) is each else ()
            edit = Replace(each.node, _code(each.made))
            yield CallChange(codes.SHARED_INITIALIZERS, each.node, message, edit, more=more)
    left = [each for each in shared if _line(each) is None]
    told: set[cst.Call] = set()
    for each in left:
        if each.made in told or not (_is_shared(each, left) or _repeats(each, context.modules)):
            continue
        told.add(each.made)
        if each.facts is context.facts:
            story, each_one = (_COUNTED, "one with its own seed") if each.seeded else (_STORY, "an initializer")
            message = f"{story}: weights of the same shape start out equal; create {each_one} for each layer"
            yield CallChange(codes.SHARED_INITIALIZERS, each.node, message, action="warn")


def _code(made: cst.Call) -> Code:
    """A call on one line, unless it has comments."""
    if comments_in(made):
        return (made,)
    pieces: list[str | Written | cst.BaseExpression] = [made.func, "("]
    for arg in made.args:
        name = f"{arg.keyword.value}=" if arg.keyword is not None else ""
        pieces.extend((", " if arg is not made.args[0] else "", name, arg.value))
    return Written.of(*pieces, ")").code


def _shared(migration: Migration) -> tuple[_Given, ...]:
    """The layers of the program whose initializer draws for other weights as well."""
    modules = migration.facts.modules
    given = [each for facts in modules.values() for each in _given(facts, migration)]
    return tuple(each for each in given if _is_shared(each, given) or _repeats(each, modules))


def _is_shared(given: _Given, others: Iterable[_Given]) -> bool:
    """Whether another layer may be given the same object."""
    same = (other for other in others if other.made is given.made and other is not given)
    return any(not other.sites.isdisjoint(given.sites) for other in same)


def _given(facts: Facts, migration: Migration) -> Iterator[_Given]:
    modules = migration.facts.modules
    scopes = migration.scopes_of(facts.module)
    units: dict[cst.CSTNode, cst.CSTNode] = {}
    counted = (migration.drafts[facts.module].settings.written_for("keras") or ())[:2] == _COUNTING
    for call in facts.module.calls:
        for arg in call.args:
            for option in _passed(arg, call, facts):
                if not isinstance(option, Opaque) or not isinstance(option.node, cst.Call):
                    continue
                seed = _seed(option.node, option.sites, modules)
                if seed is None or (seed == "set" and not counted):
                    continue
                units = units or {each: unit for unit in facts.module.places for each in nodes_in(unit, cst.Call)}
                each = _Given(facts, scopes, call, units[call], arg.value, option.node, option.sites, seed == "set")
                if _is_of_a_layer(each):
                    yield each


def _passed(arg: cst.Arg, call: cst.Call, facts: Facts) -> Iterator[Value]:
    """What an argument may pass as an initializer: also by its place, which the caller sees by the value."""
    by_place = arg.keyword is None and not arg.star and names.is_layer(facts.canonical(call.func))
    if by_place or (arg.keyword is not None and _is_for_initializers(arg.keyword.value)):
        yield from facts.options(arg.value)
    elif arg.star == "**":
        for option in facts.options(arg.value):
            if isinstance(option, ValuesByKey):
                for key, value in zip(option.keys, option.values, strict=True):
                    if key is not None and _is_for_initializers(key):
                        yield from options(value)


def _is_for_initializers(keyword: str) -> bool:
    return keyword.endswith("initializer") or keyword == "init"


def _seed(made: cst.Call, sites: Sites, modules: Mapping[Module, Facts]) -> Literal["none", "set"] | None:
    """Whether a call that makes an initializer of Keras gives it a seed; None where what it makes does not draw."""
    facts = next((modules[site.frame.module] for site in sites if site.frame.module in modules), None)
    home, _, name = facts.canonical(made.func).rpartition(".") if facts is not None else ("", "", "")
    is_named = name == "get" and len(made.args) == 1
    named = text_of(made.args[0].value) or "" if is_named else name
    place = _PLACES_OF_SEEDS.get(named.replace("_", "").lower())
    if facts is None or home != "keras.initializers" or place is None or has_stars(made):
        return None
    seed = passed_as("seed", place, made) if not is_named else None
    return "none" if seed is None or facts.options(seed.value) == {Constant(None)} else "set"


def _is_of_a_layer(given: _Given) -> bool:
    """Whether a call makes a layer, or a weight in one; a function of the program passes on what it is given."""
    func = given.call.func
    if isinstance(func, cst.Name) and func.value == "dict":
        return False
    if last_attribute(func) == "__init__":
        return False
    if last_attribute(func) == "add_weight":
        return _line(given) is not None
    called = given.facts.options(func)
    classes = [option for option in called if isinstance(option, ClassValue)]
    if classes:
        return any(names.canonical(base).startswith("keras.") for each in classes for base in each.outside_bases())
    return not any(is_of_the_program(option) for option in called)


def _repeats(given: _Given, modules: Mapping[Module, Facts]) -> bool:
    """Whether a layer may be made several times while its initializer is made once."""
    if given.facts.called(given.call) == "functools.partial":
        return True
    made_in = {unit for site in given.sites for place in site.chain() for unit in _with_owners(place)}
    inner = (part for part in walk(given.unit) if isinstance(part, cst.BaseComp | cst.Lambda))
    if any(given.call in walk(part) and given.made not in walk(part) for part in inner):
        return True
    return _runs_again(given.facts.module, given.unit, _Origin(given.made, made_in), modules, frozenset())


def _with_owners(place: Site) -> Iterator[cst.CSTNode]:
    return place.frame.module.ancestors(place.unit)


@dataclass(frozen=True)
class _Origin:
    """What makes an initializer, and the statements that it is made in."""

    made: cst.Call
    within: Set[cst.CSTNode]


def _runs_again(
    module: Module, unit: cst.CSTNode, origin: _Origin, modules: Mapping[Module, Facts], seen: frozenset[str]
) -> bool:
    """Whether a statement stands in a loop, or in a function that is called in several places, up to what the
    initializer is made in."""
    for owner in module.ancestors(unit):
        if owner in origin.within:
            return False
        if isinstance(owner, cst.For | cst.While):
            return True
        if isinstance(owner, cst.FunctionDef):
            name, holder = owner.name.value, module.places[owner].owner
            if name in _OF_OBJECTS and isinstance(holder, cst.ClassDef):
                name = holder.name.value
            calls = list(_calls(name, modules))
            calls = [call for call in calls if _passes(call, origin.made, modules)] or calls
            if len(calls) != 1 or name in seen:
                return len(calls) > 1
            return _runs_again(calls[0].module, calls[0].line, origin, modules, seen | {name})
    return False


_OF_OBJECTS = frozenset({"__init__", "__call__", "build", "call"})
"""Methods that run for each object of their class."""


@dataclass(frozen=True)
class _Mention:
    """A line that names a function, at that name."""

    module: Module
    line: cst.SimpleStatementLine
    node: cst.Name


def _calls(name: str, modules: Mapping[Module, Facts]) -> Iterator[_Mention]:
    for module in modules:
        for line in module.places:
            if isinstance(line, cst.SimpleStatementLine) and not imports_at(line):
                yield from (_Mention(module, line, node) for node in nodes_in(line, cst.Name) if node.value == name)


def _passes(mention: _Mention, made: cst.Call, modules: Mapping[Module, Facts]) -> bool:
    """Whether a function is given the initializer there."""
    facts = modules[mention.module]
    calls = (call for call in nodes_in(mention.line, cst.Call) if mention.node in walk(call.func))
    passed = (option for call in calls for arg in call.args for option in facts.options(arg.value))
    return any(isinstance(option, Opaque) and option.node is made for option in passed)


def _line(given: _Given) -> cst.Assign | None:
    """The `name = initializer` that an argument reads, if that call makes the same at the place of the name."""
    if given.seeded:
        return None
    scopes, node = given.scopes, given.node
    here = scopes.holding(node) if isinstance(node, cst.Name) else None
    bindings = bindings_of(node, scopes)
    line = _assignment(bindings[0]) if len(bindings) == 1 else None
    if here is None or line is None or line.value is not given.made:
        return None
    there = bindings[0].scope
    parts = (part for arg in given.made.args for part in walk(arg.value) if isinstance(part, cst.BaseExpression))
    if not all(isinstance(part, _CONSTANT) for part in parts):
        return None
    for name in nodes_in(given.made, cst.Name):
        mention = scopes.occurrence(name)
        if mention is None:
            continue  # the keyword of an argument, or an attribute
        if scopes.owner(name.value, here) is not scopes.owner(name.value, there) or not _is_fixed(mention, given):
            return None
    return line


def _assignment(binding: Occurrence) -> cst.Assign | None:
    """The `name = value` that binds a name, and nothing else."""
    value = assigned(binding)
    smalls = binding.unit.body if isinstance(binding.unit, cst.SimpleStatementLine) else ()
    lines = (small for small in smalls if isinstance(small, cst.Assign) and small.value is value)
    return next((line for line in lines if len(line.targets) == 1), None)


def _is_fixed(mention: Occurrence, given: _Given) -> bool:
    """Whether a name is bound in one place, once, or not by the module: as None is, and what a star import brings."""
    assert isinstance(mention.node, cst.Name)
    bindings = reaching(mention.node.value, mention.scope, given.scopes)
    if len(bindings) != 1:
        return not bindings
    binding, module = bindings[0], given.facts.module
    if is_parameter(binding) or imports_at(binding.unit):
        return True
    owners = module.ancestors(binding.unit)
    inside = takewhile(lambda owner: owner is not binding.scope.node, owners)
    return _assignment(binding) is not None and not any(isinstance(each, cst.For | cst.While) for each in inside)


def _read_last(lines: Mapping[_Given, cst.Assign | None], context: Context) -> dict[cst.Assign, _Given]:
    """The assignments of which nothing is read any more, each with the last argument that reads it today."""
    found: dict[cst.Assign, _Given] = {}
    for given, line in lines.items():
        if line is not None:
            found[line] = given
    for line, given in tuple(found.items()):
        assert isinstance(given.node, cst.Name)
        name = given.node.value
        replaced = {each.node for each, other in lines.items() if other is line}
        reads = {each.node for each in context.scopes.mentions_of(given.node) if not each.binds}
        others = (module for module in context.modules if module is not context.facts.module)
        if reads != replaced or any(node.value == name for module in others for node in module.all_of(cst.Name)):
            del found[line]
    return found
