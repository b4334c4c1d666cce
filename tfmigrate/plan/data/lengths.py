"""Whether a number of steps is the length of a Sequence, written out as its own `__len__` has it."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan.change.calls import named_arguments
from tfmigrate.understand.blocks import is_docstring, only_statement, units_of
from tfmigrate.understand.expressions import names_in
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.objects import receiver_of
from tfmigrate.understand.reaching import bound, bound_once, parameters_of, settled
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import attribute_of
from tfmigrate.understand.values import FunctionValue, Instance
from tfmigrate.walk import walk
from tfmigrate.written import Written


def is_length(steps: cst.BaseExpression, data: cst.BaseExpression, scopes: Scopes) -> bool:
    """`len(data)` or `data.__len__()`, whatever `data` is, or a variable that is bound to it and nothing else."""
    if isinstance(steps, cst.Name):
        value = bound_once(steps, scopes)
        return value is not None and not isinstance(value, cst.Name) and is_length(value, data, scopes)
    if not isinstance(steps, cst.Call):
        return False
    if isinstance(steps.func, cst.Attribute) and steps.func.attr.value == "__len__":
        return steps.func.value.deep_equals(data)
    plain = isinstance(steps.func, cst.Name) and (steps.func.value, len(steps.args)) == ("len", 1)
    return plain and steps.args[0].value.deep_equals(data)


def is_own_length(
    steps: cst.BaseExpression, data: cst.BaseExpression, value: Instance, facts: Facts, scopes: Scopes
) -> bool:
    """Whether `steps` computes what the `__len__` of an object does, which `data` was made as: with what the object was
    given in the place of its attributes."""
    maker, asked = settled(data, scopes), settled(steps, scopes)
    returned = _only_return(value.cls.lookup("__len__"))
    kept = dict(_kept(value.cls.lookup("__init__"), maker)) if isinstance(maker, cst.Call) else {}
    if returned is None:
        return False
    method, length = returned
    receiver = receiver_of(method)
    attributes = [part for part in _attributes(length, receiver) if part.attr.value in kept]
    own: dict[cst.BaseExpression, Written] = {part: Written.at(kept[part.attr.value]) for part in attributes}
    computed = _normal(Written.at(length, own).text)
    free = names_in(length) - {receiver} if receiver is not None else names_in(length)
    left = {node.id for node in ast.walk(computed) if isinstance(node, ast.Name)}
    here = value.cls.closure.module is facts.module
    anywhere = all(hasattr(builtins, name) or (here and _is_of_module(name, scopes)) for name in free & left)
    return anywhere and receiver not in left and ast.dump(computed) == ast.dump(_normal(facts.module.code(asked)))


def is_length_of_flow(
    steps: cst.BaseExpression, data: cst.BaseExpression, flow: cst.Call, facts: Facts, scopes: Scopes
) -> bool:
    """Whether `steps` is as many batches as `ImageDataGenerator.flow(x, y, batch_size)` makes of the rows of `x`: their
    quotient rounded up, which Keras 2 did with one that was not rounded."""
    flow_call = settled(data, scopes)
    arguments = named_arguments(flow, _FLOW)
    if flow_call is not flow or arguments is None or "subset" in arguments or "x" not in arguments:
        return False
    size = facts.module.code(arguments["batch_size"].value) if "batch_size" in arguments else "32"
    length = _normal(f"math.ceil(len({facts.module.code(arguments['x'].value)}) / {size})")
    asked = _normal(facts.module.code(settled(steps, scopes)))
    if isinstance(asked, ast.BinOp) and isinstance(asked.op, ast.Div):
        asked = ast.BinOp(asked.left, ast.MatMult(), asked.right)
    return ast.dump(asked) == ast.dump(length)


_FLOW = ("x", "y", "batch_size")


def _only_return(method: object) -> tuple[cst.FunctionDef, cst.BaseExpression] | None:
    node = method.node if isinstance(method, FunctionValue) else None
    if not isinstance(node, cst.FunctionDef):
        return None
    lines = [small for unit in units_of(node.body) if not is_docstring(small := only_statement(unit))]
    small = lines[0] if len(lines) == 1 else None
    return (node, small.value) if isinstance(small, cst.Return) and small.value is not None else None


def _kept(method: object, creation: cst.Call) -> Iterator[tuple[str, cst.BaseExpression]]:
    """The attributes that `__init__` gives the value of a parameter, each with what the call passes for it."""
    node = method.node if isinstance(method, FunctionValue) else None
    arguments = bound(creation.args, parameters_of(node)[1:]) if isinstance(node, cst.FunctionDef) else None
    if arguments is None or not isinstance(node, cst.FunctionDef):
        return
    receiver = receiver_of(node)
    for unit in units_of(node.body):
        for small in unit.body if isinstance(unit, cst.SimpleStatementLine) else ():
            if not isinstance(small, cst.Assign) or len(small.targets) != 1:
                continue
            target = small.targets[0].target
            pairs: list[tuple[cst.BaseExpression, cst.BaseExpression]] = [(target, small.value)]
            if isinstance(target, cst.Tuple) and isinstance(small.value, cst.Tuple):
                pairs = [(place.value, item.value) for place, item in zip(target.elements, small.value.elements)]
            for place, what in pairs:
                attribute = next(iter(_attributes(place, receiver)), None)
                if (
                    attribute is not None
                    and attribute is place
                    and isinstance(what, cst.Name)
                    and what.value in arguments
                ):
                    yield attribute.attr.value, arguments[what.value].value


def _attributes(node: cst.CSTNode, receiver: str | None) -> Iterator[cst.Attribute]:
    for part in walk(node):
        if isinstance(part, cst.Attribute) and attribute_of(receiver, part) is not None:
            yield part


def _is_of_module(name: str, scopes: Scopes) -> bool:
    """Whether a name is bound once, at the module's top: the same one in a method and where the object is used."""
    bindings = scopes.bindings(name)
    return len(bindings) == 1 and bindings[0].scope is scopes.module


def _normal(text: str) -> ast.AST:
    """The expression with one form for each way to round a quotient down, or up, and to count rows."""
    tree: ast.Expression = _Rounding().visit(ast.parse(f"({text})", mode="eval"))
    return tree.body


class _Rounding(ast.NodeTransformer):
    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if ast.unparse(node).endswith(".shape[0]") and isinstance(node.value, ast.Attribute):
            return ast.Call(ast.Name("len", ast.Load()), [node.value.value], [])
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if len(node.args) != 1 or node.keywords:
            return node
        (inner,), name = node.args, ast.unparse(node.func)
        if name == "float":
            return inner
        quotient = isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Div)
        if name in ("np.floor", "numpy.floor", "math.floor", "int") and quotient:
            return ast.BinOp(inner.left, ast.FloorDiv(), inner.right)  # type: ignore[attr-defined]
        if name in ("np.ceil", "numpy.ceil", "math.ceil") and quotient:
            return ast.BinOp(inner.left, ast.MatMult(), inner.right)  # type: ignore[attr-defined]
        rounded = isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.FloorDiv | ast.MatMult)
        return inner if name == "int" and rounded else node
