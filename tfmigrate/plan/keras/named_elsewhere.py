"""Words that compile() is given by a name: literals of the program, and what an option of its command line can be."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan.change.calls import text_of
from tfmigrate.plan.change.command_line import choices_of, declarations, default_of
from tfmigrate.plan.names.context import Migration
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.reaching import bindings_of, values_of
from tfmigrate.understand.values import Items, Literal, Mapping, Method, Opaque, Parameter, Symbol, Value, options


def words_named(argument: cst.BaseExpression, use: Use, migration: Migration) -> list[str]:
    """The words that an argument of a call may be, as far as the program shows them, in alphabetical order."""
    facts = migration.facts.modules[use.site.frame.module]
    words = {*literals(facts.options(argument)), *words_of_command_line(argument, use, migration)}
    return sorted(words.difference(_made_something_else(argument, use, migration)))


def _made_something_else(argument: cst.BaseExpression, use: Use, migration: Migration) -> Iterator[str]:
    """The words that `if name == "word": name = ...` above the call has made something else of."""
    frame, here = use.site.frame, use.site.unit
    module, order = frame.module, frame.module.order
    bindings = bindings_of(argument, migration.scopes_of(module)) if isinstance(argument, cst.Name) else []
    repeated = any(isinstance(unit, cst.For | cst.While) for unit in module.ancestors(here))
    end = len(order) if repeated else order[here]
    for binding in bindings:
        place = module.places.get(binding.unit)
        test = _test_of(place.owner, place.block) if place is not None else None
        if test is None:
            continue
        later = (other for other in bindings if order[binding.unit] < order.get(other.unit, 0) < end)
        is_last = all(module.exclusive(other.unit, binding.unit) for other in later)
        is_above = order[binding.unit] < order[here] and not module.exclusive(binding.unit, here)
        if is_last and is_above and binding.scope.node is (frame.function or module.tree):
            yield from _asked(test, argument)


def _test_of(owner: cst.CSTNode | None, block: cst.CSTNode) -> cst.BaseExpression | None:
    """The test of the `if` or `elif` that a block belongs to."""
    while isinstance(owner, cst.If):
        if owner.body is block:
            return owner.test
        owner = owner.orelse
    return None


def _asked(test: cst.BaseExpression, name: cst.BaseExpression) -> Iterator[str]:
    """The word that `name == "word"` asks for."""
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1 and test.left.deep_equals(name):
        text = text_of(test.comparisons[0].comparator)
        if isinstance(test.comparisons[0].operator, cst.Equal) and text is not None:
            yield text


def words_of_command_line(argument: cst.BaseExpression, use: Use, migration: Migration) -> Iterator[str]:
    """The default and the choices of the option that an argument of a call is."""
    modules = migration.facts.modules
    scopes = {module: migration.scopes_of(module) for module in modules}
    for frame, node in values_of(argument, use.site.frame, scopes):
        values = modules[frame.module].options(node)
        if values and not any(map(_is_unknown, values)):
            continue
        for module, declaration in declarations(node, modules):
            for given in (default_of(declaration), choices_of(declaration)):
                yield from _texts(given, modules[module]) if given is not None else ()


def _is_unknown(value: Value) -> bool:
    if isinstance(value, Symbol):
        return "FLAGS" in value.name.split(".")  # of absl, or of TensorFlow 1
    return isinstance(value, Opaque | Parameter) or (isinstance(value, Method) and value.function is None)


def _texts(node: cst.BaseExpression, facts: Facts) -> Iterator[str]:
    if isinstance(node, cst.List | cst.Tuple | cst.Set):
        for element in node.elements:
            yield from _texts(element.value, facts)
    elif (text := text_of(node)) is not None:
        yield text
    else:
        yield from literals(facts.options(node))


def literals(values: frozenset[Value]) -> Iterator[str]:
    """The words among some values, and in lists and dicts of them."""
    for value in values:
        if isinstance(value, Literal) and isinstance(value.value, str):
            yield value.value
        elif isinstance(value, Items | Mapping):
            yield from literals(frozenset().union(*map(options, value.values)))
