"""multi_gpu_model: the call that wraps, and the two ways to take the template out of what it returned."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from tfmigrate.understand import names
from tfmigrate.understand.joins import join
from tfmigrate.understand.lifecycle import Together, Wrap
from tfmigrate.understand.state import State
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import (
    NOTHING,
    Arguments,
    ClassValue,
    Instance,
    Items,
    Literal,
    Made,
    Method,
    ModelObject,
    Parallel,
    Value,
    is_unbound,
    options,
    unbound,
)
from tfmigrate.understand.wrapper_classes import template_attributes
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
    passed = _Passed.of(node.args, arguments, parameters)
    undefined = _caught_name(state, passed.values.get("model", NOTHING))
    if undefined is not None:
        state.facts.failing[node] = undefined
        return unbound(undefined)
    gpus, relocation = passed.nodes.get("gpus"), passed.values.get("cpu_relocation")
    omitted = passed.values.get("gpus", NOTHING) == NOTHING and not _asked_for(state, gpus)
    new_wrap = Wrap(
        call=node,
        site=state.site,
        template=_as_model(state, passed.values.get("model", NOTHING), node),
        template_node=passed.nodes.get("model"),
        gpus=None if omitted else gpus,
        gpus_value=None if omitted else passed.values.get("gpus"),
        guards=state.guards,
        cpu_relocation=isinstance(relocation, Literal) and bool(relocation.value),
        wrapper_class=wrapper_class,
        problem=passed.problem or (returned if isinstance(returned, str) else None),
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


@dataclass(frozen=True)
class _Passed:
    """What is passed to multi_gpu_model, by its own names for it."""

    nodes: Mapping[str, cst.BaseExpression]
    values: Mapping[str, Value]
    problem: str | None
    """What cannot be read of it."""

    @staticmethod
    def of(args: Sequence[cst.Arg], arguments: Arguments, parameters: Sequence[str]) -> _Passed:
        nodes: dict[str, cst.BaseExpression] = {}
        values: dict[str, Value] = {}
        problem = None
        spread: set[str | None] = set()
        for position, (argument, (keyword, value)) in enumerate(_paired(args, arguments)):
            if argument.star:
                spread.add(keyword)
                continue
            place = parameters.index(keyword) if keyword in parameters else position if keyword is None else -1
            if not 0 <= place < len(parameters):
                what = f"`{keyword}=`, which does not exist" if keyword else f"more than {len(parameters)} arguments"
                problem = f"it gets {what}"
                continue
            key = WRAP_PARAMETERS[place] if place < 2 else parameters[place]
            nodes[key], values[key] = argument.value, value
        unnamed = "**" in spread and len(nodes.keys() & _NEEDED) < 2
        if "*" in spread or unnamed or not spread.isdisjoint(parameters[:2]):
            problem = "the model or the number of GPUs is passed by *args or **kwargs: write both out"
        return _Passed(nodes, values, problem)


def _paired(args: Sequence[cst.Arg], arguments: Arguments) -> Iterator[tuple[cst.Arg, tuple[str | None, Value]]]:
    """Each argument as it is written, with what it passes; `**` passes as many as its dict is known to hold."""
    more = len(arguments) - len(args)
    values = iter(arguments)
    for arg in args:
        expanded = more if arg.star == "**" else 0
        more -= expanded
        for _ in range(1 + expanded):
            yield arg, next(values)


def _caught_name(state: State, model: Value) -> str | None:
    """The name in `self.model` that nothing defines, where a `try` catches what that raises."""
    holder = model.receiver if isinstance(model, Method) else model
    if not is_unbound(holder) or state.facts.stars:
        return None
    name = holder.origin.removeprefix("the name ")
    caught = any(guard.arm == "body" and _catches_names(guard.node) for guard in state.guards)
    return name if caught and not hasattr(builtins, name) else None


def _catches_names(node: cst.CSTNode) -> bool:
    if not isinstance(node, cst.Try):
        return False
    caught = (part for handler in node.handlers if handler.type is not None for part in walk(handler.type))
    return any(handler.type is None for handler in node.handlers) or any(
        dotted(part) in ("NameError", "Exception", "BaseException") for part in caught
    )


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
    """`parallel.layers[-2]` is the template: the layer before the one that joins the outputs; `layers[3]` is, of one
    input and two GPUs."""
    layers = node.value
    if not isinstance(layers, cst.Attribute) or layers.attr.value != "layers":
        return None
    return _at_template(state, node, layers.value, index)


def template_by_position(state: State, arguments: Arguments, node: cst.Call) -> Value | None:
    """`parallel.get_layer(index=-2)`, which takes it out of the same list."""
    index = dict(arguments).get("index") or (arguments[1][1] if len(arguments) > 1 else None)
    return _at_template(state, node, node.func.value, index) if isinstance(node.func, cst.Attribute) else None


def template_kept(state: State, receiver: Value, node: cst.Attribute) -> Value | None:
    """`parallel.inner_model`: what an object of a class of parallel models keeps, unless the program asks whether it
    has that."""
    parallels = [option for option in options(receiver) if isinstance(option, Parallel)]
    classes = {parallel.wrap.wrapper_class for parallel in parallels}
    name = node.attr.value
    if not classes or any(cls is None or name not in template_attributes(cls) for cls in classes):
        return None
    if not any(_asks_for_attribute(call, name) for call in state.frame.module.calls):
        state.facts.unwraps[node] = node.value
    return join(*(parallel.wrap.template for parallel in parallels))


def _asks_for_attribute(call: cst.Call, name: str) -> bool:
    """`hasattr(model, "inner_model")`"""
    asked = call.args[1].value if len(call.args) == 2 and dotted(call.func) == "hasattr" else None
    return isinstance(asked, cst.SimpleString) and asked.evaluated_value == name


def _at_template(
    state: State, node: cst.Subscript | cst.Call, model: cst.BaseExpression, index: Value | None
) -> Value | None:
    receiver = state.facts.values.get(model)
    if receiver is None:
        return None
    if isinstance(receiver, Parallel):
        if not _is_place(state, index, receiver.wrap):
            return None
        state.facts.unwraps[node] = model
        return receiver.wrap.template
    parallels = [option for option in options(receiver) if isinstance(option, Parallel)]
    if parallels and all(_is_place(state, index, parallel.wrap) for parallel in parallels):
        state.facts.unsure_unwraps[node] = tuple(guard for guard in state.guards if guard.frame is state.frame)
    return None


def _is_place(state: State, index: Value | None, wrap: Wrap) -> bool:
    """Whether the template stands at a place among the parallel model's layers: behind the inputs and the slice of each
    input for each GPU, before what joins the outputs."""
    if index == Literal(-2):
        return True
    if not isinstance(index, Literal) or type(index.value) is not int or index.value <= 0:
        return False
    inputs, gpus = {_inputs_of(state, option) for option in options(wrap.template)}, _number(wrap.gpus_value)
    return gpus is not None and len(inputs) == 1 and index.value == (inputs.pop() or 0) * (1 + gpus)


def _number(gpus: Value | None) -> int | None:
    if isinstance(gpus, Items):
        return len(gpus.values) if gpus.counted else None
    return gpus.value if isinstance(gpus, Literal) and type(gpus.value) is int else None


def _inputs_of(state: State, model: Value) -> int | None:
    """How many inputs a model has, where the call that makes it shows that."""
    if not isinstance(model, ModelObject):
        return None
    maker = names.canonical(model.maker)
    if maker == "keras.models.Sequential" and model.instance is None:
        return 1
    call, facts = model.node, state.program_facts.modules[model.site.frame.module]
    if maker != "keras.models.Model" or not isinstance(call, cst.Call) or facts.symbols.get(call.func) != model.maker:
        return None
    given = _given_inputs(call)
    if isinstance(given, cst.List | cst.Tuple):
        return len(given.elements) if all(isinstance(each, cst.Element) for each in given.elements) else None
    value = facts.values.get(given) if given is not None else None
    if isinstance(value, Items):
        return len(value.values) if value.counted else None
    return 1 if isinstance(value, Made) and value.kind == "tensor" and value.name == "keras.layers.Input" else None


def _given_inputs(call: cst.Call) -> cst.BaseExpression | None:
    """The inputs that a Model is made of."""
    named = [arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value in ("inputs", "input")]
    first = call.args[0].value if call.args and call.args[0].keyword is None and not call.args[0].star else None
    return named[0] if named else first


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
