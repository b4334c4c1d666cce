"""The template and the parallel model become one object: which of the two names stays."""

from __future__ import annotations

import libcst as cst

from tfmigrate.plan.strategy.merged import Merge, wrapped_assignment
from tfmigrate.plan.strategy.naming import Naming
from tfmigrate.understand.lifecycle import Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.purity import is_pure
from tfmigrate.understand.reaching import binding_above, value_of
from tfmigrate.understand.scopes import LexicalScope, Scopes
from tfmigrate.understand.syntax import dotted


def merge(module: Module, scopes: Scopes, wraps: tuple[Wrap, ...], exported: frozenset[str]) -> Merge:
    """Decide names for the wraps of one module; names that another module imports keep what they are."""
    removed: list[cst.Assign | cst.Del] = []
    shortened: dict[cst.Del, tuple[cst.BaseExpression, ...]] = {}
    unpacked: list[tuple[cst.Assign, tuple[cst.BaseExpression, ...]]] = []
    renamed: dict[cst.Name, str] = {}
    replaced: dict[cst.BaseExpression, str] = {}
    brief: set[cst.Name] = set()
    done: set[tuple[LexicalScope, str]] = set()
    for wrap in wraps:
        several = _unpacked(wrap, module, scopes)
        if several is not None and several[1]:
            unpacked.append(several)
        elif several is not None:
            removed.append(several[0])
        statement = wrapped_assignment(wrap)
        if statement is None or wrap.template_node is None:
            continue
        target = statement.targets[0].target
        if module.code(target) == _bare(wrap.template_node, module) or _holds_already(target, wrap, module, scopes):
            removed.append(statement)
            continue
        if not isinstance(target, cst.Name) or not isinstance(wrap.template_node, cst.Name):
            continue
        if wrap.site.frame.function is None and exported & {target.value, wrap.template_node.value}:
            continue
        function = wrap.site.frame.function
        scope = scopes.by_node[function if function is not None else module.tree]
        owner = scopes.owner(target.value, scope) or scope
        if (owner, target.value) in done:
            continue
        done.add((owner, target.value))
        naming = Naming(module, scopes, scope, target.value, wrap.template_node.value, wraps)
        merged = _one_name(naming, exported)
        if merged is not None:
            removed.extend(merged.removed)
            renamed.update(merged.renamed)
            replaced.update(merged.replaced)
            shortened.update(merged.shortened)
            brief |= merged.brief
    once = tuple(dict.fromkeys(removed))
    several_of = tuple(dict(unpacked).items())
    less = tuple(shortened.items())
    return Merge(once, tuple(renamed.items()), tuple(replaced.items()), several_of, less, frozenset(brief))


def _one_name(naming: Naming, exported: frozenset[str]) -> Merge | None:
    """How the two models of a wrap come to one name; None where they keep two."""
    merged = naming.keep_template()
    if merged is not None:
        return naming.under_the_better_name(merged) or merged
    return naming.without_the_parallel(exported) or naming.keep_parallel() or naming.until_bound_again()


def _unpacked(wrap: Wrap, module: Module, scopes: Scopes) -> tuple[cst.Assign, tuple[cst.BaseExpression, ...]] | None:
    """`parallel, plain = spread(model)`, and those of its targets that must be bound to the model: it is one of them
    already, perhaps, and `_` is none where nothing reads it."""
    unit = wrap.site.unit
    if not isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite):
        return None
    if wrap.together is None or wrap.template_node is None:
        return None
    for small in unit.body:
        if not isinstance(small, cst.Assign) or small.value is not wrap.call or len(small.targets) != 1:
            continue
        target = small.targets[0].target
        if not isinstance(target, cst.Tuple | cst.List) or len(target.elements) != len(wrap.together.parallel):
            return None
        elements = [element.value for element in target.elements if isinstance(element, cst.Element)]
        if len(elements) < len(target.elements):
            return None
        plain = _bare(wrap.template_node, module)
        bound = [node for node in elements if module.code(node) != plain and not _is_unread(node, wrap, module, scopes)]
        return small, tuple(bound)
    return None


def _is_unread(node: cst.BaseExpression, wrap: Wrap, module: Module, scopes: Scopes) -> bool:
    function = wrap.site.frame.function
    scope = scopes.by_node[function if function is not None else module.tree]
    return dotted(node) == "_" and all(mention.binds for mention in scopes.of_variable("_", scope))


def _holds_already(target: cst.BaseExpression, wrap: Wrap, module: Module, scopes: Scopes) -> bool:
    """Whether a name is bound to the template just above: `model = self.model`, and `if several: model = wrap(...)`."""
    template = wrap.template_node
    if not isinstance(target, cst.Name) or not isinstance(template, cst.Attribute):
        return False
    binding = binding_above(target, module, scopes)
    value = value_of(binding) if binding is not None else None
    if binding is None or value is None or dotted(value) == "" or dotted(value) != dotted(template):
        return False
    first, last = module.order[binding.unit], module.order[wrap.site.unit]
    between = (unit for unit in module.places if first < module.order[unit] < last)
    return all(isinstance(unit, cst.If) and is_pure(unit.test) for unit in between)


def _bare(node: cst.BaseExpression, module: Module) -> str:
    """Its code, without the parentheses round it."""
    text = module.code(node)
    for _ in node.lpar:
        text = text[1:-1].strip()
    return text
