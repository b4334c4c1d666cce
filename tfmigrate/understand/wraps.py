"""multi_gpu_model: the call that wraps, and the two ways to take the template out of what it returned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from tfmigrate.understand.joins import join
from tfmigrate.understand.lifecycle import Together, Wrap
from tfmigrate.understand.program import dotted
from tfmigrate.understand.state import State
from tfmigrate.understand.values import (
    NOTHING,
    Arguments,
    ClassValue,
    Instance,
    Items,
    Literal,
    Parallel,
    Value,
    options,
)
from tfmigrate.walk import walk

WRAP_PARAMETERS = ("model", "gpus", "cpu_merge", "cpu_relocation")


_NEEDED = frozenset(WRAP_PARAMETERS[:2])
"""What says which model is spread over how many GPUs; the others say where its weights are kept."""


def wrap(
    state: State,
    arguments: Arguments,
    node: cst.Call,
    parameters: Sequence[str] = WRAP_PARAMETERS,
    wrapper_class: ClassValue | None = None,
    several_only: bool = False,
    returned: Together | str | None = None,
) -> Value:
    """`parameters`: those of the function called; of a copy, the first is the model and the second the number.

    `several_only`: see Wrap. `returned`: see `copies.returned_by`.
    """
    nodes: dict[str, cst.BaseExpression] = {}
    values: dict[str, Value] = {}
    problem = returned if isinstance(returned, str) else None
    spread: set[str | None] = set()
    for position, (argument, (keyword, value)) in enumerate(_paired(node.args, arguments)):
        if argument.star:
            spread.add(keyword)
            continue
        place = parameters.index(keyword) if keyword in parameters else position if keyword is None else -1
        if not 0 <= place < len(parameters):
            passed = f"`{keyword}=`, which it never had" if keyword else f"more than {len(parameters)} arguments"
            problem = f"it is given {passed}"
            continue
        key = WRAP_PARAMETERS[place] if place < 2 else parameters[place]
        nodes[key], values[key] = argument.value, value
    if "*" in spread or not spread.isdisjoint(parameters[:2]) or ("**" in spread and len(nodes.keys() & _NEEDED) < 2):
        problem = "the model or the number of GPUs is passed by *args or **kwargs: write both out"
    relocation = values.get("cpu_relocation")
    omitted = values.get("gpus", NOTHING) == NOTHING and not _asked_for(state, nodes.get("gpus"))
    new_wrap = Wrap(
        call=node,
        site=state.site,
        template=_as_model(state, values.get("model", NOTHING), node),
        template_node=nodes.get("model"),
        gpus=None if omitted else nodes.get("gpus"),
        gpus_value=None if omitted else values.get("gpus"),
        guards=state.guards,
        cpu_relocation=isinstance(relocation, Literal) and bool(relocation.value),
        wrapper_class=wrapper_class,
        problem=problem,
        several_only=several_only,
        together=returned if isinstance(returned, Together) else None,
    )
    state.facts.wraps.append(new_wrap)
    state.program_facts.wraps.append(new_wrap)
    parallel = Parallel(new_wrap)
    if new_wrap.together is None:
        return parallel
    elements = tuple(parallel if spread_out else new_wrap.template for spread_out in new_wrap.together.parallel)
    return Items(elements, new_wrap.together.kind)


def _paired(args: Sequence[cst.Arg], arguments: Arguments) -> Iterator[tuple[cst.Arg, tuple[str | None, Value]]]:
    """Each argument as it is written, with what it passes; `**` passes as many as its dict is known to hold."""
    more = len(arguments) - len(args)
    values = iter(arguments)
    for arg in args:
        expanded = more if arg.star == "**" else 0
        more -= expanded
        for _ in range(1 + expanded):
            yield arg, next(values)


def _asked_for(state: State, gpus: cst.BaseExpression | None) -> bool:
    """Whether a guard asks for the very name that is `gpus`: None is what it has when nothing is wrapped."""
    name = dotted(gpus)
    tests = [guard.node.test for guard in state.guards if not isinstance(guard.node, cst.Try)]
    asked = (dotted(part) for test in tests for part in walk(test))
    return name not in ("", "None") and name in asked


def _as_model(state: State, value: Value, node: cst.Call) -> Value:
    """What is wrapped, which can only be a model: no None, and an object of a class with an unknown base."""
    values: list[Value] = []
    for option in options(value):
        if isinstance(option, Instance) and option.site is not None and any(option.cls.unknown_bases()):
            model = state.new_model(node, origin="an instance of a class of this program")
            model.site, model.sites, model.instance = option.site, {option.site}, option
            values.append(model)
        elif option != NOTHING:
            values.append(option)
    return join(*values) if values else value


def template_by_index(state: State, node: cst.Subscript, index: Value | None) -> Value | None:
    """`parallel.layers[-2]` is the template: the layer before the one that joins the outputs."""
    layers = node.value
    if not isinstance(layers, cst.Attribute) or layers.attr.value != "layers":
        return None
    return _before_outputs(state, node, layers.value, index)


def template_by_position(state: State, arguments: Arguments, node: cst.Call) -> Value | None:
    """`parallel.get_layer(index=-2)`, which takes it out of the same list."""
    index = dict(arguments).get("index") or (arguments[1][1] if len(arguments) > 1 else None)
    return _before_outputs(state, node, node.func.value, index) if isinstance(node.func, cst.Attribute) else None


def _before_outputs(
    state: State, node: cst.Subscript | cst.Call, model: cst.BaseExpression, index: Value | None
) -> Value | None:
    if index != Literal(-2):
        return None
    receiver = state.facts.values.get(model)
    if not isinstance(receiver, Parallel):
        if _may_be_parallel(receiver):
            own = tuple(guard for guard in state.guards if guard.frame is state.frame)
            state.facts.unsure_unwraps[node] = own
        return None
    state.facts.unwraps[node] = model
    return receiver.wrap.template


def _may_be_parallel(value: Value | None) -> bool:
    return value is not None and any(isinstance(option, Parallel) for option in options(value))


def template_by_name(state: State, parallel: Parallel, arguments: Arguments, node: cst.Call) -> Value | None:
    """`parallel.get_layer('model_1')` is the template: the one layer with a name of the template's kind."""
    name = arguments[0][1] if arguments else None
    if not isinstance(name, Literal) or not isinstance(name.value, str) or not isinstance(node.func, cst.Attribute):
        return None
    kind, _, number = name.value.rpartition("_")
    if kind not in ("model", "sequential") or not number.isdigit():
        return None
    state.facts.unwraps[node] = node.func.value
    return parallel.wrap.template
