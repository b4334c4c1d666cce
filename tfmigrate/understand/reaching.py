"""Where values come from: what a name is bound to, and what a call passes for a parameter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from tfmigrate.understand.blocks import only_statement
from tfmigrate.understand.module import Module
from tfmigrate.understand.parameters import nameable
from tfmigrate.understand.scopes import LexicalScope, Occurrence, Scopes
from tfmigrate.understand.values import Frame, FunctionValue, Site
from tfmigrate.walk import walk


def reaching(name: str, scope: LexicalScope, scopes: Scopes) -> list[Occurrence]:
    """Every place that binds the variable which a name is in a scope."""
    return [mention for mention in scopes.of_variable(name, scope) if mention.binds]


def bindings_of(node: cst.CSTNode, scopes: Scopes) -> list[Occurrence]:
    """Every place that binds the variable which a name is; none for what is no name of a variable."""
    return [mention for mention in scopes.mentions_of(node) if mention.binds]


def assigned(binding: Occurrence) -> cst.BaseExpression | None:
    """The expression a name is bound to by a plain `name = expression`."""
    if not isinstance(binding.unit, cst.SimpleStatementLine):
        return None
    for small in binding.unit.body:
        if isinstance(small, cst.Assign) and any(target.target is binding.node for target in small.targets):
            return small.value
    return None


def value_of(binding: Occurrence) -> cst.BaseExpression | None:
    """The expression a name is bound to: by `name = expression`, with a type, or as one of `name, other = one, two`."""
    small = only_statement(binding.unit)
    if isinstance(small, cst.AnnAssign):
        return small.value if small.target is binding.node else None
    values = unpacked(binding)
    if values is None:
        return assigned(binding)
    names = next(target.target for target in small.targets if binding.node in walk(target.target))  # type: ignore[union-attr]
    if not isinstance(names, cst.Tuple | cst.List) or not isinstance(values, cst.Tuple | cst.List):
        return None
    pairs = list(zip(names.elements, values.elements, strict=False))
    starred = any(isinstance(element, cst.StarredElement) for element in (*names.elements, *values.elements))
    if starred or len(names.elements) != len(values.elements):
        return None
    return next((value.value for name, value in pairs if name.value is binding.node), None)


def added(binding: Occurrence) -> cst.BaseExpression | None:
    """The expression that `name += expression` adds to a name."""
    small = only_statement(binding.unit)
    if isinstance(small, cst.AugAssign) and small.target is binding.node and isinstance(small.operator, cst.AddAssign):
        return small.value
    return None


def unpacked(binding: Occurrence) -> cst.BaseExpression | None:
    """The expression that a name is bound to a part of, by `name, other = expression`."""
    small = only_statement(binding.unit)
    if not isinstance(small, cst.Assign) or assigned(binding) is not None:
        return None
    return small.value if any(binding.node in walk(target.target) for target in small.targets) else None


def sole_assignment(binding: Occurrence) -> cst.Assign | None:
    """The `name = value`, alone on its line, that binds a name."""
    small = only_statement(binding.unit)
    if isinstance(small, cst.Assign) and len(small.targets) == 1 and small.targets[0].target is binding.node:
        return small
    return None


def bound_once(node: cst.Name, scopes: Scopes, reads: int | None = None) -> cst.BaseExpression | None:
    """The value of a name that is bound in one place only, and read in `reads` places where that is given."""
    bindings = bindings_of(node, scopes)
    if len(bindings) != 1 or (reads is not None and len(scopes.mentions_of(node)) - 1 != reads):
        return None
    return value_of(bindings[0])


def settled(node: cst.BaseExpression, scopes: Scopes) -> cst.BaseExpression:
    """An expression, or what it is by another name, through every name that is bound in one place only."""
    seen = {node}
    while isinstance(node, cst.Name):
        value = bound_once(node, scopes)
        if value is None or value in seen:
            return node
        seen.add(value)
        node = value
    return node


def value_above(node: cst.BaseExpression, module: Module, scopes: Scopes) -> cst.BaseExpression | None:
    """An expression, or what a name was bound to last above it; None where an `if` or a loop has a say in that."""
    seen: set[cst.BaseExpression] = set()
    while isinstance(node, cst.Name) and node not in seen:
        seen.add(node)
        binding = binding_above(node, module, scopes)
        value = value_of(binding) if binding is not None else None
        if value is None:
            return None
        node = value
    return node


def binding_above(node: cst.Name, module: Module, scopes: Scopes) -> Occurrence | None:
    """The last place above a name that binds it; None where an `if`, a loop or a call has a say in that."""
    mention = scopes.occurrence(node)
    if mention is None:
        return None
    place = module.position(node)
    bindings = bindings_of(node, scopes)
    if len(bindings) > 1 and any(one.scope is not mention.scope for one in bindings):
        return None
    above = [one for one in bindings if module.position(one.unit) < place and one.unit is not mention.unit]
    last = max(above, key=lambda one: module.position(one.node), default=None)
    if last is None or not set(module.arms(last.unit)) <= set(module.arms(mention.unit)):
        return None
    # In a loop that the binding stands outside of, one below may have been run in the turn before.
    again = _loops(mention.unit, module).issubset(_loops(last.unit, module))
    return last if len(bindings) == 1 or again else None


def _loops(unit: cst.CSTNode, module: Module) -> set[cst.CSTNode]:
    """The loops in each of whose turns a unit is run again, or its condition asked."""
    around = (owner for owner in module.ancestors(unit) if isinstance(owner, cst.For | cst.While))
    return {*around, *((unit,) if isinstance(unit, cst.While) else ())}


def values_of(
    node: cst.BaseExpression, frame: Frame, scopes: Mapping[Module, Scopes]
) -> Iterator[tuple[Frame, cst.BaseExpression]]:
    """An expression of an activation, and those that a name in its place may have its value from: what it is assigned
    anywhere, and what the caller passes for it. Each once."""
    pending = [(frame, node)]
    seen: set[tuple[Frame, cst.BaseExpression]] = set()
    while pending:
        frame, node = pending.pop()
        if (frame, node) in seen:
            continue
        seen.add((frame, node))
        yield frame, node
        known = (origin for origin in origins(node, frame, scopes[frame.module]) if origin is not None)
        pending.extend((site.frame, value) for site, value in known)


def final_values(
    node: cst.BaseExpression, frame: Frame, scopes: Mapping[Module, Scopes]
) -> list[cst.BaseExpression] | None:
    """The expressions, no names themselves, that an expression of an activation may have its value from.

    None where a name on the way is bound otherwise too, by an import or a loop, or by a caller that is unknown.
    """
    values: list[cst.BaseExpression] = []
    for holder, value in values_of(node, frame, scopes):
        sources = origins(value, holder, scopes[holder.module])
        if isinstance(value, cst.Name) and (not sources or None in sources):
            return None
        values.extend([] if isinstance(value, cst.Name) else [value])
    return values


def origins(node: cst.BaseExpression, frame: Frame, scopes: Scopes) -> list[tuple[Site, cst.BaseExpression] | None]:
    """For each place that binds a name of an activation: see origin(). Nothing for what is no name."""
    if not isinstance(node, cst.Name):
        return []
    scope = scopes.by_node[frame.function or frame.module.tree]
    return [origin(binding, frame) for binding in reaching(node.value, scope, scopes)]


def origin(binding: Occurrence, frame: Frame) -> tuple[Site, cst.BaseExpression] | None:
    """What gives a variable its value where it is bound, and where that stands; None where it is not an expression, or
    that of an unknown caller.

    `frame`: an activation that sees the variable.
    """
    holder = holder_of(binding, frame)
    if holder is None:
        return None
    if is_parameter(binding):
        return passed(binding.node.value, holder) if isinstance(binding.node, cst.Name) else None
    value = value_of(binding)
    return (Site(holder, binding.unit), value) if value is not None else None


def is_parameter(binding: Occurrence) -> bool:
    """Whether a name is bound by the call of its function."""
    return binding.unit is binding.scope.node and not isinstance(binding.scope.node, cst.ClassDef)


def holder_of(binding: Occurrence, frame: Frame) -> Frame | None:
    """The activation whose variable a binding makes, as it is seen from another one."""
    holder: Frame | None = frame
    while holder is not None and (holder.function or holder.module.tree) is not binding.scope.node:
        holder = holder.closure
    return holder


def parameters_of(function: cst.FunctionDef | cst.Lambda) -> list[str]:
    """The names that a caller can pass a value by, in their order."""
    return [param.name.value for param in nameable(function.params)]


def named(args: Sequence[cst.Arg], parameters: Sequence[str]) -> Iterator[tuple[str, cst.Arg]]:
    """Each argument with its parameter's name, in order of appearance; "" for one without a known parameter."""
    for position, arg in enumerate(args):
        place = parameters[position] if position < len(parameters) else ""
        yield arg.keyword.value if arg.keyword is not None else place, arg


def explicit(args: Sequence[cst.Arg], parameters: Sequence[str]) -> Iterator[tuple[str, cst.Arg]]:
    """As named(), without what *args and **kwargs pass, and without unnamed arguments after *args."""
    places = True
    for name, arg in named(args, parameters):
        places = places and arg.star != "*"
        if not arg.star and (places or arg.keyword is not None):
            yield name, arg


def explicit_of(call: cst.Call, function: FunctionValue) -> Iterator[tuple[str, cst.Arg]]:
    """What a call passes to a function of the program, as explicit(); a method's own object is not among it."""
    words = parameters_of(function.node)
    return explicit(call.args, words[1:] if function.owner is not None and words[:1] == ["self"] else words)


def bound(args: Sequence[cst.Arg], parameters: Sequence[str]) -> dict[str, cst.Arg] | None:
    """Each argument under its parameter's name, in order of appearance; None with *args, **kwargs or too many."""
    arguments = dict(named(args, parameters))
    return None if "" in arguments or any(arg.star for arg in args) else arguments


def passed(name: str, frame: Frame) -> tuple[Site, cst.BaseExpression] | None:
    """What the caller of an activation passes for a parameter, or its default, and where that stands."""
    function, call = frame.function, frame.call_node
    if not isinstance(function, cst.FunctionDef) or call is None or frame.call is None:
        return None
    names = parameters_of(function)
    if frame.owner is not None and not is_static(function) and not _passes_itself(call, frame.call):
        if names[:1] == [name]:
            return (frame.call, call.func.value) if isinstance(call.func, cst.Attribute) else None
        names = names[1:]
    arguments = dict(explicit(call.args, names))
    if name in arguments:
        return frame.call, arguments[name].value
    if name not in names or any(arg.star for arg in call.args):
        return None
    default = default_of(name, function)
    return (Site(frame.closure, function), default) if default is not None and frame.closure is not None else None


def default_of(name: str, function: cst.FunctionDef | cst.Lambda) -> cst.BaseExpression | None:
    """What a parameter stands for where a call passes nothing."""
    return next((param.default for param in nameable(function.params) if param.name.value == name), None)


def is_static(function: cst.FunctionDef | cst.Lambda) -> bool:
    """Whether a method is not given its object."""
    kinds = (
        decorator.decorator for decorator in (function.decorators if isinstance(function, cst.FunctionDef) else ())
    )
    return any(isinstance(kind, cst.Name) and kind.value == "staticmethod" for kind in kinds)


def _passes_itself(call: cst.Call, site: Site) -> bool:
    """Whether a method is called on its class and given the object: `Base.__init__(self, model)`."""
    around = site.frame.function
    first = call.args[0].value if call.args and call.args[0].keyword is None else None
    own = parameters_of(around)[:1] if isinstance(around, cst.FunctionDef) and site.frame.owner is not None else []
    return isinstance(first, cst.Name) and [first.value] == own
