"""Optimizers that compile() is given by name, with the defaults of their time."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import named_arguments
from tfmigrate.plan.edits import Remark, Remove, Replace
from tfmigrate.plan.keras.compiled_functions import settings_passed
from tfmigrate.plan.keras.flavours import flavour_of
from tfmigrate.plan.keras.named_elsewhere import literals, words_named
from tfmigrate.plan.keras.old_defaults import NADAM, WHY_SQUARED, concerns, depends_on_version, story
from tfmigrate.plan.names.context import Context
from tfmigrate.plan.names.tables import Tables
from tfmigrate.rules import Default
from tfmigrate.settings import Settings
from tfmigrate.understand.blocks import units_of
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.reaching import settled, sole_assignment
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import assigned_in, dotted
from tfmigrate.understand.values import options
from tfmigrate.walk import nodes_in


def check(context: Context) -> Iterator[CallChange]:
    """`compile(optimizer='adadelta')` took the defaults of its time. The name may stand in a variable that is bound
    once: each compile() gets an optimizer of its own, and whatever else reads the variable still reads the name."""
    facts, settings, tables, tf = context.facts, context.settings, context.tables, context.tf
    exported = {name for module, name in context.migration.facts.exported if module is facts.module}
    seen: set[cst.CSTNode] = set()
    named: dict[object, CallChange] = {}
    for use in facts.uses:
        if use.method != "compile" or use.call in seen:
            continue
        arguments = named_arguments(use.call, ("optimizer", "loss", "metrics"))
        argument = arguments.get("optimizer") if arguments is not None else None
        if argument is None:
            changes = _among_settings(use, context)
            named.update(((change.code, change.node, change.message), change) for change in changes)
            continue
        literal = _set_once(settled(argument.value, context.scopes), context)
        if not isinstance(literal, cst.SimpleString):
            changes = _named_elsewhere(use, argument.value, context)
            named.update(((change.code, change.node, change.message), change) for change in changes)
            continue
        seen.add(use.call)
        text = str(literal.evaluated_value)
        if text.lower() == "nadam" and codes.NADAM_MOMENTUM in tables.wanted:
            yield CallChange(codes.NADAM_MOMENTUM, argument.value, NADAM, action="warn")
        rows = _changed_defaults(text, use, facts, settings, tables)
        if not rows:
            yield from _of_unknown_version(text, argument.value, use, context)
            continue
        written = ", ".join(f"{row.argument}={row.old!r}" for row in rows)
        was = "; ".join(map(story, rows))
        code = f"{tf}.keras.optimizers.{rows[0].of.rsplit('.', 1)[-1]}({written})"
        message = f"the optimizer {text!r} took the defaults of its time, written out here: {was}"
        squared = any(row.argument == "epsilon" for row in rows)
        why = (Remark(argument.value, WHY_SQUARED),) if squared else ()
        more = (*why, *_idle_variable(argument.value, facts, context.scopes, exported))
        first, *others = dict.fromkeys(tables.codes[row] for row in rows)
        yield CallChange(first, argument.value, message, Replace(argument.value, code), more=more)
        yield from (CallChange(rule, argument.value, message) for rule in others)
    yield from named.values()


def _set_once(node: cst.BaseExpression, context: Context) -> cst.BaseExpression:
    """The text that `self.optimizer` is, where one line of the program alone sets an attribute of that name."""
    if not isinstance(node, cst.Attribute):
        return node
    name = node.attr.value
    if any(dotted(call.func) == "setattr" for module in context.modules for call in module.calls):
        return node
    kinds = (cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.For, cst.WithItem)
    targets = (part for module in context.modules for kind in kinds for part in module.all_of(kind))
    setters = [part for part in targets if _sets(part, name)]
    values = assigned_in(context.facts.module.tree, dotted(node)) if len(setters) == 1 else []
    return values[0] if len(values) == 1 and isinstance(values[0], cst.SimpleString) else node


def _sets(part: cst.CSTNode, name: str) -> bool:
    """Whether a target is an attribute of that name, or has one in it."""
    target = part.asname if isinstance(part, cst.WithItem) else getattr(part, "target", None)
    return target is not None and any(each.attr.value == name for each in nodes_in(target, cst.Attribute))


def _of_unknown_version(text: str, node: cst.CSTNode, use: Use, context: Context) -> Iterator[CallChange]:
    """Defaults that depend on the version a program was written for, which nothing tells."""
    flavour = flavour_of(use, context.facts)
    for default in context.tables.defaults:
        if default.of.rsplit(".", 1)[-1].lower() == text.lower():
            message = depends_on_version(default, flavour, context.settings)
            if message is not None:
                what = f"the optimizer {text!r} took the defaults of its time: {message}"
                yield CallChange(context.tables.codes[default], node, what, action="warn")


def _idle_variable(
    node: cst.BaseExpression, facts: Facts, scopes: Scopes, exported: Container[str]
) -> Iterator[Remove]:
    """The assignment of a module's variable that nothing else reads; those of functions go with their last reader."""
    mentions = scopes.mentions_of(node)
    if len(mentions) != 2 or (isinstance(node, cst.Name) and node.value in exported):
        return
    binding = next((mention for mention in mentions if mention.binds), None)
    if binding is None or binding.scope is not scopes.module:
        return
    assignment = sole_assignment(binding)
    alone = len(units_of(facts.module.places[binding.unit].block)) == 1
    if assignment is not None and isinstance(assignment.value, cst.SimpleString) and not alone:
        yield Remove(assignment)


def _changed_defaults(optimizer: str, use: Use, facts: Facts, settings: Settings, tables: Tables) -> list[Default]:
    return [
        default
        for default in tables.defaults
        if default.of.rsplit(".", 1)[-1].lower() == optimizer.lower()
        and concerns(default, flavour_of(use, facts), settings)
    ]


def _named_elsewhere(use: Use, argument: cst.BaseExpression, context: Context) -> Iterator[CallChange]:
    """`compile(optimizer=name)`: the name comes from elsewhere and may serve others too, so it is reported."""
    yield from _possible(words_named(argument, use, context.migration), use, argument, context)


def _among_settings(use: Use, context: Context) -> Iterator[CallChange]:
    """The same of `compile(**settings)`."""
    settings, value = settings_passed(use), use.argument(0, "optimizer")
    if settings is not None and value is not None:
        yield from _possible(sorted(literals(options(value))), use, settings, context)


def _possible(words: Iterable[str], use: Use, argument: cst.BaseExpression, context: Context) -> Iterator[CallChange]:
    tables = context.tables
    for word in words:
        rows = _changed_defaults(word, use, context.facts, context.settings, tables)
        for rule in dict.fromkeys(tables.codes[row] for row in rows):
            was = "; ".join(story(row) for row in rows if tables.codes[row] == rule)
            message = (
                f"the optimizer may be {word!r}, named elsewhere: {was}; create the optimizer where its name is "
                "chosen, and write out the old values"
            )
            yield CallChange(rule, argument, message, action="warn")
