"""A function that wrapped the model it is given, and that would now only give it back, goes with its calls."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from itertools import islice

import libcst as cst

from tfmigrate.plan.change.functions import mentions
from tfmigrate.plan.strategy.guards import Blocks
from tfmigrate.understand.blocks import is_docstring, only_statement, units_of
from tfmigrate.understand.lifecycle import ProgramFacts, Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.purity import is_pure
from tfmigrate.understand.reaching import explicit, parameters_of


@dataclass(frozen=True)
class IdleFunction:
    """A function with nothing left to do, and its calls, each as if it were the wrap."""

    node: cst.FunctionDef
    module: Module
    calls: tuple[Wrap, ...]


def idle_functions(
    wraps: Iterable[Wrap], blocks: Mapping[Module, Blocks], facts: ProgramFacts
) -> Iterator[IdleFunction]:
    """The functions of `wraps` in which nothing is left but `return model`. `blocks`: what is left of their modules."""
    inside: dict[cst.FunctionDef, list[Wrap]] = {}
    for wrap in wraps:
        if isinstance(wrap.site.frame.function, cst.FunctionDef):
            inside.setdefault(wrap.site.frame.function, []).append(wrap)
    every = [wrap for wrap in facts.wraps if wrap.site.frame.function in inside]
    for function, own in inside.items():
        module = own[0].site.frame.module
        if function.decorators or function not in module.places or module.places[function].owner is not None:
            continue
        parameter = _returned(function, blocks[module])
        if parameter is None or _is_alone(function, module):
            continue
        calls: dict[cst.Call, Wrap | None] = {}
        for wrap in every:
            frame = wrap.site.frame
            if frame.function is function and frame.call_node is not None:
                calls.setdefault(frame.call_node, _as_wrap(wrap, frame.call_node, parameter, function))
        known = [call for call in calls.values() if call is not None]
        if len(known) == len(calls) and known and _is_only_called(function, calls.keys(), facts):
            yield IdleFunction(function, module, tuple(known))


def _returned(function: cst.FunctionDef, blocks: Blocks) -> str | None:
    """The parameter that is all a function returns, where it does nothing else."""
    first = next(iter(units_of(function.body)), None)
    described = first is not None and is_docstring(only_statement(first))
    sense = list(islice(blocks.sense(function.body), described, described + 2))
    returned = {ast.dump(ast.parse(f"return {name}")): name for name in parameters_of(function)}
    return returned.get(sense[0]) if len(sense) == 1 else None


def _as_wrap(wrap: Wrap, call: cst.Call, parameter: str, function: cst.FunctionDef) -> Wrap | None:
    """A call of such a function as a wrap of what it is given; None where its other arguments do something."""
    site = wrap.site.frame.call
    arguments = dict(explicit(call.args, parameters_of(function)))
    if site is None or parameter not in arguments or any(arg.star for arg in call.args):
        return None
    if not all(is_pure(arg.value) for name, arg in arguments.items() if name != parameter):
        return None
    if any(isinstance(unit, cst.Try) for unit in site.frame.module.ancestors(site.unit)):
        return None
    return replace(wrap, call=call, site=site, template_node=arguments[parameter].value, guards=())


def _is_only_called(function: cst.FunctionDef, calls: Set[cst.Call], facts: ProgramFacts) -> bool:
    """Whether the name of a function stands nowhere in the program but in its definition, imports, and these calls."""
    name = function.name.value
    called = {part for call in calls for part in (call.func, getattr(call.func, "attr", None))}
    renamed = (
        name in module.code(node.name)
        for module in facts.modules
        for node in module.all_of(cst.ImportAlias)
        if node.asname is not None
    )
    return all(node in called or node is function.name for node in mentions(name, facts.modules)) and not any(renamed)


def _is_alone(function: cst.FunctionDef, module: Module) -> bool:
    """Whether a module has nothing but a function, and what that imports."""
    imports = {unit for _, unit in module.imports}
    units = [unit for unit in module.tree.body if unit not in imports and not is_docstring(only_statement(unit))]
    return units == [function]
