"""Mentions of multi_gpu_model that no wrap accounts for: each is refused, so that none is passed over."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import passed_as, text_of
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.strategy.other_names import other_names
from tfmigrate.understand import names
from tfmigrate.understand.import_statements import imports_of
from tfmigrate.understand.lifecycle import Facts, ProgramFacts
from tfmigrate.understand.module import Module
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import Literal, Method, ModuleValue, Opaque, Symbol, Value, options
from tfmigrate.understand.wrapper_classes import copied_by
from tfmigrate.walk import walk


def say_other_uses(draft: Draft, facts: ProgramFacts) -> None:
    """A value passed on, code that was not walked, Keras handed in from elsewhere, a copy."""
    unreached = list(_unreached(draft))
    for node in (*_passed_on(draft, facts), *(call for call in unreached if not _becomes_template(call, draft))):
        message = "multi_gpu_model is used here without a call that can be followed"
        draft.say(codes.NOT_FOLLOWED, node, message, "refuse")
    for failing, name in draft.facts.failing.items():
        template = passed_as("model", 0, failing)
        if template is not None and not any(failing is wrap.call for wrap in draft.facts.wraps):
            message = (
                f"this call is never reached: nothing defines `{name}`, and the `try` around it catches the "
                "NameError; the model is written in its place"
            )
            draft.change(codes.MULTI_GPU_MODEL, failing, message, Replace(failing, (template.value,)))
    for call, keras in _through_unknown(draft):
        message = f"`{keras}` is passed in from elsewhere: if it is Keras, this is multi_gpu_model"
        draft.say(codes.INJECTED_KERAS, call, message, "refuse")
    for cls in draft.facts.classes:
        base = copied_by(cls)
        if base is not None:
            message = (
                f"{cls.node.name.value} is a {base.node.name.value}, which splits the batch among the GPUs as "
                "multi_gpu_model did, and does more: train its model in the scope of a MirroredStrategy instead"
            )
            draft.say(codes.LOCAL_COPY, cls.node, message, "refuse")
    for call, name in draft.facts.copies.items():
        message = (
            f"{name} is a function of this project, not Keras's: if it is a copy of Keras's, name it in the setting "
            "`aliases`"
        )
        if "." in name:
            message = (
                f"the definition of {name} was not found: if it is a copy of Keras's multi_gpu_model, pass "
                "tfmigrate its file too, or name it in the setting `aliases`"
            )
        if name.partition(".")[0] in ("keras", "tensorflow", "tf_keras"):
            message = f"no version of Keras has {name}: if keras.utils.multi_gpu_model is meant, write that"
        draft.say(codes.LOCAL_COPY, call, message, "refuse")


def _passed_on(draft: Draft, facts: ProgramFacts) -> Iterator[cst.CSTNode]:
    """Mentions that are not called, at least not by a call that wraps; `getattr(utils, "multi_gpu_model")` is one."""
    accounted = {call.func for call in (*(wrap.call for wrap in draft.facts.wraps), *draft.facts.failing)}
    exported = {name for module, name in facts.exported if module is draft.module}
    accounted |= {alias.assignment.value for alias in other_names(draft) if alias.goes_with(accounted, exported)}
    for wrapper_class in {wrap.wrapper_class for wrap in facts.wraps if wrap.wrapper_class is not None}:
        accounted.update(node for node in walk(wrapper_class.node) if isinstance(node, cst.Name | cst.Attribute))
    for node, name in draft.facts.symbols.items():
        if names.canonical(name) == names.MULTI_GPU_MODEL and node not in accounted:
            yield node
    for node, holder in _looked_up(draft.facts):
        if any(_holds_it(option, facts) for option in draft.facts.options(holder)):
            yield node


def _looked_up(facts: Facts) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """Each `getattr(holder, "multi_gpu_model")`, and its holder; so do vars() and attrgetter()."""
    for call in facts.module.calls:
        if dotted(call.func) == "getattr" and any(_may_be_its_name(arg.value, facts) for arg in call.args[1:2]):
            yield call, call.args[0].value
        inner = call.func if isinstance(call.func, cst.Call) else None
        if inner is not None and facts.called(inner) == "operator.attrgetter" and call.args:
            if any(_may_be_its_name(arg.value, facts) for arg in inner.args):
                yield call, call.args[0].value
    for subscript in facts.module.all_of(cst.Subscript):
        index = subscript.slice[0].slice
        holder = _whose_names(subscript.value)
        if holder is not None and isinstance(index, cst.Index) and _may_be_its_name(index.value, facts):
            yield subscript, holder


def _may_be_its_name(node: cst.BaseExpression, facts: Facts) -> bool:
    return text_of(node) == "multi_gpu_model" or Literal("multi_gpu_model") in facts.options(node)


def _whose_names(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The module in `vars(module)` or `module.__dict__`."""
    if isinstance(node, cst.Call) and dotted(node.func) == "vars" and len(node.args) == 1:
        return node.args[0].value
    return node.value if isinstance(node, cst.Attribute) and node.attr.value == "__dict__" else None


def _holds_it(value: Value, facts: ProgramFacts) -> bool:
    """Whether a value is a module of Keras's that has multi_gpu_model, or one of the program's that imports it."""
    if isinstance(value, Symbol):
        return names.canonical(f"{value.name}.multi_gpu_model") == names.MULTI_GPU_MODEL
    if not isinstance(value, ModuleValue):
        return False
    name = cst.Name("multi_gpu_model")
    return value.module in facts.modules and _is_imported_name(value.module, name)


def _unreached(draft: Draft) -> Iterator[cst.Call]:
    """Calls in code that was never walked, by the name that the import gives."""
    for call in draft.module.calls:
        if call.func not in draft.facts.values and _is_imported_name(draft.module, call.func):
            yield call


def _becomes_template(call: cst.Call, draft: Draft) -> bool:
    """Write the model for a call behind the end of its block, which never runs; whether it is such a call."""
    template = passed_as("model", 0, call)
    if template is None or template.star or call not in draft.module.unreached:
        return False
    message = "this call is never reached: the model is written in its place"
    draft.change(codes.MULTI_GPU_MODEL, call, message, Replace(call, (template.value,)))
    return True


def _is_imported_name(module: Module, node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.Name):
        for statement, _ in module.imports:
            for _, bound, full in imports_of(statement):
                if bound == node.value and names.canonical(full) == names.MULTI_GPU_MODEL:
                    return True
    return isinstance(node, cst.Attribute) and names.canonical(dotted(node)) == names.MULTI_GPU_MODEL


def _through_unknown(draft: Draft) -> Iterator[tuple[cst.BaseExpression, str]]:
    """Calls of `something.utils.multi_gpu_model` where `something` is unknown, and its code."""
    for call in draft.module.calls:
        if _names_a_home(dotted(call.func)) and _is_unknown(draft.facts.values.get(call.func)):
            yield call, dotted(call.func).rsplit(".", 2)[0]
    for node, holder in _looked_up(draft.facts):
        if _names_a_home(f"{dotted(holder)}.multi_gpu_model") and _is_unknown(draft.facts.values.get(holder)):
            yield node, dotted(holder).rpartition(".")[0]


def _names_a_home(name: str) -> bool:
    """`something.utils.multi_gpu_model`, whatever `something` is."""
    parts = name.split(".")
    tails = (".".join(["keras", *parts[-count:]]) for count in (2, 3) if len(parts) > count)
    return any(names.canonical(tail) == names.MULTI_GPU_MODEL for tail in tails)


def _is_unknown(value: Value | None) -> bool:
    return value is not None and any(
        isinstance(option, Opaque) or (isinstance(option, Method) and option.function is None)
        for option in options(value)
    )
