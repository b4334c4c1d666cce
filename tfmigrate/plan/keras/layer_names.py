"""`name="conv1/bn"`: Keras 3 takes no slash in the name of a layer or a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cached_property

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, is_none, keywords, text_of
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.loads_by_name import files_by_name
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.loops import Expression, Loops, Number, Taken
from tfmigrate.understand.reaching import bindings_of, default_of, parameters_of, value_of
from tfmigrate.understand.scopes import Occurrence
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import Literal, Made, ModelObject, Opaque, Value
from tfmigrate.walk import nodes_in
from tfmigrate.written import Code, as_operand

_MODELS = frozenset({"keras.models.Model", "keras.models.Sequential", "keras.Model", "keras.Sequential", "keras.Input"})


_BASES = ("keras.layers.", "keras.models.", "keras.Model", "keras.Sequential", "keras.engine.")


def check(context: Context) -> Iterator[CallChange]:
    """Slashes of names become underscores; get_layer() finds a layer by either."""
    slashes = context.migration.once(_Slashes)
    yield from _looked_up(slashes, context)
    yield from _loaded(context)
    for call in context.facts.module.calls:
        name = keywords(call).get("name")
        if name is None or not _is_named_by_keras(call, context.facts):
            continue
        if slashes.may_be_in(name.value):
            message = "Keras 3 allows no slash in the name of a layer or a model: an underscore replaces it"
            code = _plain(name.value, slashes, context)
            if slashes.may_be(is_none, name.value):
                code = (name.value, " and ", *code)
            yield CallChange(codes.LAYER_NAMES, call, message, Replace(name.value, code))
        if slashes.may_be(_is_empty, name.value) and _is_of_keras(call, context.facts):
            yield _without_empty(call, name.value)


def _is_empty(node: cst.BaseExpression) -> bool:
    return text_of(node) == ""


def _without_empty(call: cst.Call, name: cst.BaseExpression) -> CallChange:
    """`name=""`, by which old Keras chose a name itself, as it does for None."""
    message = "old Keras replaced an empty name with its own, today's Keras keeps it: "
    if _is_empty(name):
        return CallChange(codes.LAYER_NAMES, name, f"{message}it is removed", Revision(call, dropped=("name",)))
    edit = Revision(call, wrapped=((name, (name, " or None")),))
    return CallChange(codes.LAYER_NAMES, name, f"{message}it becomes None", edit)


def _is_of_keras(call: cst.Call, facts: Facts) -> bool:
    name = facts.canonical(call.func)
    return name.startswith("keras.layers.") or name in _MODELS


def _is_named_by_keras(call: cst.Call, facts: Facts) -> bool:
    return _is_of_keras(call, facts) or any(
        isinstance(option, ModelObject) or (isinstance(option, Made) and option.kind in ("layer", "tensor"))
        for option in facts.options(call)
    )


def _looked_up(slashes: _Slashes, context: Context) -> Iterator[CallChange]:
    """`model.get_layer("a/b")`: the names of keras.applications have slashes on Keras 2 alone."""
    helper = Helper.of(context.draft, "layer_called")
    message = "Keras 3 allows no slash in the name of a layer: the layer is looked up with an underscore instead"
    computed: list[CallChange] = []
    for call in context.facts.module.calls:
        func, name = call.func, call.args[0].value if len(call.args) == 1 else None
        if not isinstance(func, cst.Attribute) or func.attr.value != "get_layer" or name is None:
            continue
        word = call.args[0].keyword
        if call.args[0].star or (word is not None and word.value != "name") or not slashes.may_be_in(name):
            continue
        if isinstance(name, cst.SimpleString):
            code = (
                "next(layer for layer in ",
                func.value,
                f".layers if layer.name.replace({context.quote}/{context.quote}, {context.quote}_{context.quote}) == ",
                name.value.replace("/", "_"),
                ")",
            )
            yield CallChange(codes.LAYER_NAMES, call, message, Replace(call, code))
        else:
            edit = Replace(call, (f"{helper}(", func.value, ", ", name, ")"))
            computed.append(CallChange(codes.LAYER_NAMES, call, message, edit))
    yield from helper.brought_by([change.node for change in computed], computed)


def _loaded(context: Context) -> Iterator[CallChange]:
    """Files of old programs, which hold the names with slashes."""
    loads = [call for module, call in context.migration.once(files_by_name) if module is context.facts.module]
    slashed = bool(loads) and context.migration.once(_slashes_of_layers)
    if slashed:
        message = (
            "weights are loaded by the names of layers, some of which had slashes: files of old programs have those, "
            "so these layers silently get no weights: load by order where the models are the same, or replace "
            "the slashes of the names in the file first"
        )
        yield from (CallChange(codes.LAYER_NAMES, call, message, action="warn") for call in loads)


def _slashes_of_layers(migration: Migration) -> bool:
    """Whether some layer of a program is given a name with a slash."""
    slashes = migration.once(_Slashes)
    return any(
        name is not None and facts.canonical(call.func).startswith("keras.layers.") and slashes.may_be_in(name.value)
        for facts in migration.facts.modules.values()
        for call in facts.module.calls
        for name in (keywords(call).get("name"),)
    )


def _plain(name: cst.BaseExpression, slashes: _Slashes, context: Context) -> Code:
    """The name with underscores for slashes: in its literals where those are all that have any."""
    literals = _in_literals(name, slashes, context)
    if literals is not None:
        return literals
    swap = f".replace({context.quote}/{context.quote}, {context.quote}_{context.quote})"
    return (*as_operand(name), swap)


def _in_literals(node: cst.BaseExpression, slashes: _Slashes, context: Context) -> Code | None:
    """`f"{name}/bn"`, `name + "/bn"`, `"%s/bn" % name` with another literal; None where `name` may bring a slash."""
    if isinstance(node, cst.SimpleString):
        return (node.value.replace("/", "_"),)
    if isinstance(node, cst.FormattedString):
        return _in_formatted(node, slashes, context)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add | cst.Modulo) and not node.lpar:
        left, right = (
            (part,) if slashes.are_not_in(part) else _in_literals(part, slashes, context)
            for part in (node.left, node.right)
        )
        operator = context.facts.module.code(node.operator)
        return (*left, operator, *right) if left is not None and right is not None else None
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "format":
        return _in_template(node, node.func.value, slashes, context)
    return None


def _in_formatted(node: cst.FormattedString, slashes: _Slashes, context: Context) -> Code | None:
    code = context.facts.module.code
    if any(isinstance(part, cst.FormattedStringExpression) and not slashes.are_not_in(part) for part in node.parts):
        return None
    parts = (
        part.value.replace("/", "_") if isinstance(part, cst.FormattedStringText) else code(part) for part in node.parts
    )
    return (node.start + "".join(parts) + node.end,)


def _in_template(call: cst.Call, template: cst.BaseExpression, slashes: _Slashes, context: Context) -> Code | None:
    """The call of format() of a text that is written out."""
    if not isinstance(template, cst.SimpleString) or any(arg.star for arg in call.args):
        return None
    if not all(slashes.are_not_in(arg.value) for arg in call.args):
        return None
    return (template.value.replace("/", "_"), context.facts.module.code(call)[len(template.value) :])


def _parts(node: cst.CSTNode) -> Sequence[cst.CSTNode] | None:
    """What an f-string or an operator puts a text together of; None for anything else."""
    if isinstance(node, cst.FormattedStringExpression):
        return (node.expression,)
    if isinstance(node, cst.FormattedString):
        return node.parts
    return (node.left, node.right) if isinstance(node, cst.BinaryOperation) else None


def _sources(node: cst.CSTNode) -> Sequence[cst.CSTNode] | None:
    """These parts, or what a text is chosen from, or what format() is called on and given."""
    if isinstance(node, cst.BooleanOperation | cst.ConcatenatedString):
        return (node.left, node.right)
    if isinstance(node, cst.IfExp):
        return (node.body, node.orelse)
    if isinstance(node, cst.Tuple):
        return [element.value for element in node.elements]
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "format":
        return (node.func.value, *(arg.value for arg in node.args))
    return _parts(node)


_Parameter = tuple[cst.FunctionDef, str]
"""One of a function's parameters, by its name."""


class _Slashes:
    """Which expressions may be text with a slash in it, as far as it is followed through the program."""

    def __init__(self, migration: Migration) -> None:
        self._modules = tuple(migration.facts.modules.values())
        self._drafts = tuple(migration.drafts.values())
        self._known: dict[cst.CSTNode, bool] = {}

    def may_be_in(self, node: cst.CSTNode) -> bool:
        if node not in self._known:
            self._known[node] = False  # While it is looked at: a name in a loop leads back to itself.
            self._known[node] = self._look(node)
        return self._known[node]

    def are_not_in(self, node: cst.CSTNode, seen: Set[cst.CSTNode] = frozenset()) -> bool:
        """Whether an expression is sure to bring no slash: it is a number, or text that is known."""
        if isinstance(node, cst.SimpleString | cst.FormattedStringText):
            return "/" not in node.value
        parts = _parts(node)
        if parts is not None:
            return all(self.are_not_in(part, seen) for part in parts)
        builtin = dotted(node.func) if isinstance(node, cst.Call) else ""
        if isinstance(node, cst.Integer) or builtin in ("int", "len") or node in self._own_names:
            return True
        if isinstance(node, cst.Call) and builtin == "str":
            return all(self.are_not_in(arg.value, seen) for arg in node.args)
        known = [value for facts in self._modules for value in facts.options(node)]
        if known and all(isinstance(value, Literal) and "/" not in str(value.value) for value in known):
            return not self._may_be_given(node)
        return isinstance(node, cst.Name) and node not in seen and self._is_bound_to_none(node, seen | {node})

    def _is_bound_to_none(self, node: cst.Name, seen: Set[cst.CSTNode]) -> bool:
        """Whether a name is bound, and never to something with a slash."""
        bindings = [(binding, draft.loops) for draft in self._drafts for binding in bindings_of(node, draft.scopes)]
        return bool(bindings) and all(self._binds_none(binding, loops, node, seen) for binding, loops in bindings)

    def _binds_none(self, binding: Occurrence, loops: Loops, node: cst.Name, seen: Set[cst.CSTNode]) -> bool:
        """Whether one place that binds a name gives it nothing with a slash: a loop that counts does not."""
        if isinstance(binding.unit, cst.FunctionDef):
            calls = self._calls.get(binding.unit.name.value, ())
            if not calls or any(arg.star for call in calls for arg in call.args):
                return False
            return all(self.are_not_in(value, seen) for value in self._passed_for(node))
        in_loop = loops.taken_from(binding)
        if in_loop:
            return all(self._takes_none(value, seen) for value in in_loop)
        value = value_of(binding)
        return value is not None and self.are_not_in(value, seen)

    def _takes_none(self, value: Taken | None, seen: Set[cst.CSTNode]) -> bool:
        return value == Number() or (isinstance(value, Expression) and self.are_not_in(value.node, seen))

    def may_be(self, wanted: Callable[[cst.BaseExpression], bool], node: cst.BaseExpression) -> bool:
        """Whether an expression, or what a parameter may be given, is such a one: None, for example, which has no
        replace()."""
        pending = [node]
        seen: set[_Parameter] = set()
        while pending:
            node = pending.pop()
            if wanted(node):
                return True
            parameter = self._parameter(node)
            if parameter is not None and parameter not in seen:
                seen.add(parameter)
                pending.extend(value for value, _ in self._passed(parameter))
        return False

    def _look(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.SimpleString | cst.FormattedStringText):
            return "/" in node.value
        sources = _sources(node)
        if sources is not None:
            return any(map(self.may_be_in, sources))
        return self._may_be_given(node) or any(
            self._holds(value, node) for facts in self._modules for value in facts.options(node)
        )

    def _may_be_given(self, node: cst.CSTNode) -> bool:
        """Whether a parameter may be given a text with a slash."""
        return isinstance(node, cst.Name) and any(map(self.may_be_in, self._passed_for(node)))

    def _passed_for(self, node: cst.Name) -> Iterator[cst.BaseExpression]:
        """What a parameter is given anywhere, where this rule does not write that without slashes."""
        parameter = self._parameter(node)
        for value, call in self._passed(parameter) if parameter is not None else ():
            named = call is not None and any(arg.value is value for arg in call.args if arg.keyword is not None)
            if call is None or not named or node.value != "name" or not self._is_mended(call):
                yield value

    def _parameter(self, node: cst.BaseExpression) -> _Parameter | None:
        """The parameter that a name is."""
        function = self._functions.get(node)
        if function is None or not isinstance(node, cst.Name) or node.value not in parameters_of(function):
            return None
        return function, node.value

    def _passed(self, parameter: _Parameter) -> Iterator[tuple[cst.BaseExpression, cst.Call | None]]:
        """What a parameter is given anywhere, its default too, and the calls that give it: what is known of its values
        need not be of every call."""
        function, name = parameter
        words = parameters_of(function)
        default = default_of(name, function)
        if default is not None:
            yield default, None
        position = words.index(name) - (words[0] == "self")
        for call in self._calls.get(function.name.value, ()):
            plain = [arg for arg in call.args if arg.keyword is None and not arg.star]
            if 0 <= position < len(plain):
                yield plain[position].value, call
            elif name in (named := keywords(call)):
                yield named[name].value, call

    def _is_mended(self, call: cst.Call) -> bool:
        """Whether the name in a call is one that this rule writes without slashes."""
        return _is_named_by_keras(call, self._facts_of[call])

    @cached_property
    def _facts_of(self) -> Mapping[cst.Call, Facts]:
        """The facts of the module that a call stands in."""
        return {call: facts for facts in self._modules for call in facts.module.calls}

    @cached_property
    def _functions(self) -> Mapping[cst.CSTNode, cst.FunctionDef]:
        """The function that a name stands in."""
        functions = (inner for facts in self._modules for inner in facts.module.all_of(cst.FunctionDef))
        return {node: function for function in functions for node in nodes_in(function, cst.Name)}

    @cached_property
    def _own_names(self) -> Set[cst.CSTNode]:
        """`self.name` in layers and models of the program's own: Keras has refused a slash there."""
        return {
            node
            for facts in self._modules
            for cls in facts.module.all_of(cst.ClassDef)
            if any(facts.canonical(base.value).startswith(_BASES) for base in cls.bases)
            for node in nodes_in(cls, cst.Attribute)
            if dotted(node) == "self.name"
        }

    @cached_property
    def _calls(self) -> Mapping[str, list[cst.Call]]:
        """Calls by the last part of the name that is called."""
        calls: dict[str, list[cst.Call]] = {}
        for call in (each for facts in self._modules for each in facts.module.calls):
            name = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
            if isinstance(name, cst.Name):
                calls.setdefault(name.value, []).append(call)
        return calls

    def _holds(self, value: Value, node: cst.CSTNode) -> bool:
        if isinstance(value, Literal):
            return isinstance(value.value, str) and "/" in value.value
        further = value.node if isinstance(value, Opaque) else None
        return further is not None and further is not node and self.may_be_in(further)
