"""Follows values through a program: one walk, in order, that carries what each name stands for.

Calls of the program's own functions are walked in place, so that every event knows the statements it runs under. A
function whose walk showed nothing but construction is summarised after the first time, which keeps the cost in
proportion to the code.

Here is the recursion: modules, statements, expressions. What each of them means stands in a module of its name:
branches, assignments, imports, functions, classes, calls, attributes, containers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import libcst as cst

from tfmigrate.understand import branches, containers, machine
from tfmigrate.understand.assignments import assign
from tfmigrate.understand.attributes import attribute
from tfmigrate.understand.blocks import Unit, units_of
from tfmigrate.understand.calls import call
from tfmigrate.understand.classes import define_class, walk_methods
from tfmigrate.understand.contents import is_keras
from tfmigrate.understand.functions import annotation, define, enter, name_of, unknown_arguments, walk_lambda
from tfmigrate.understand.imports import import_modules, import_names, through_star
from tfmigrate.understand.joins import join
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.module import Module
from tfmigrate.understand.numbers import calculated
from tfmigrate.understand.ordering import in_order
from tfmigrate.understand.parameters import positional
from tfmigrate.understand.program import Program
from tfmigrate.understand.state import State
from tfmigrate.understand.tensors import combined
from tfmigrate.understand.values import (
    NOTHING,
    Entered,
    FunctionValue,
    Items,
    Literal,
    Mapping,
    ModelObject,
    Opaque,
    Parallel,
    ScopeOf,
    Symbol,
    Value,
    Visible,
    options,
    unbound,
)
from tfmigrate.understand.wrapper_classes import wrapper_parameters
from tfmigrate.understand.wraps import template_by_index, template_kept


def interpret(program: Program, aliases: Sequence[str] = ()) -> ProgramFacts:
    """The facts of a program. `aliases`: further qualified names that are multi_gpu_model."""
    return Interpreter(program, aliases).run()


class Interpreter:
    """Walks the modules of a program and collects the facts."""

    def __init__(self, program: Program, aliases: Sequence[str] = ()) -> None:
        self.state = State(program, aliases)
        self._begun: set[Module] = set()

    def run(self) -> ProgramFacts:
        """Walk the modules, then what nothing in them calls as its own beginning: outermost first."""
        state = self.state
        for module in state.program.modules:
            self.load(module)
        mentioned = _mentioned_names(state.program.modules)
        uncalled = [function for function in state.functions if name_of(function) not in mentioned]
        self._walk_functions([function for function in uncalled if not self._takes_objects(function)])
        bases = {base for cls in state.classes for base in cls.bases}
        wrapper_classes = [cls for cls in state.classes if wrapper_parameters(self, cls) is not None]
        for cls in sorted(state.classes, key=lambda cls: cls in bases):
            if cls not in wrapper_classes:
                walk_methods(self, cls, mentioned)
        self._walk_functions(state.functions)
        for cls in wrapper_classes:  # Last, because the calls of one say which models it wraps.
            walk_methods(self, cls, mentioned)
        _drop_wraps_of_nothing(state.program_facts)
        return state.program_facts

    def _takes_objects(self, function: FunctionValue) -> bool:
        """Whether a parameter is annotated with a class of the program, whose methods say what its objects hold."""
        return any(annotation(self, parameter, function) is not None for parameter in positional(function.node.params))

    def load(self, module: Module) -> None:
        """Run a module's top level, once."""
        if module in self._begun:
            return
        self._begun.add(module)
        with self.state.activation(self.state.tops[module]):
            self.block(module.tree)

    def _walk_functions(self, functions: Sequence[FunctionValue]) -> None:
        for function in functions:
            if function.node not in self.state.entered and function.owner is None:
                # What it does to objects whose class alone is known may be done to others, or never.
                with self.state.perhaps() if self._takes_objects(function) else nullcontext():
                    enter(self, function, unknown_arguments(self, function), None, None)

    # ---- statements ----

    def block(self, block: cst.Module | cst.BaseSuite) -> bool:
        """Walk a block; False when its end is never reached."""
        state = self.state
        outer = state.unit, state.guards
        reached = True
        for unit in units_of(block):
            state.unit = unit
            if state.scopes:
                state.program_facts.entered[state.site] = state.scopes
            state.left -= 1
            reached = self._statement(unit)
            if not reached:
                break
        state.unit, state.guards = outer
        return reached

    def _statement(self, unit: Unit) -> bool:
        """False when what follows is never reached."""
        if isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite):
            reached = [self._small(small) for small in unit.body]
            return all(reached)
        if isinstance(unit, cst.If):
            return branches.walk_if(self, unit, self.state.site)
        if isinstance(unit, cst.For):
            iterable = self.evaluate(unit.iter)
            assign(self, unit.target, containers.element_of(iterable))
            branches.walk_loop(self, unit.body, unit.orelse)
        elif isinstance(unit, cst.While):
            self.evaluate(unit.test)
            branches.walk_loop(self, unit.body, unit.orelse)
        elif isinstance(unit, cst.With):
            return self._with(unit)
        elif isinstance(unit, cst.Try | cst.TryStar):
            return branches.walk_try(self, unit)
        elif isinstance(unit, cst.Match):
            return branches.walk_match(self, unit)
        elif isinstance(unit, cst.FunctionDef):
            define(self, unit)
        elif isinstance(unit, cst.ClassDef):
            define_class(self, unit)
        return True

    def _with(self, unit: cst.With) -> bool:
        state = self.state
        outer = state.scopes
        for item in unit.items:
            value = self.evaluate(item.item)
            if item.asname is not None:
                assign(self, item.asname.name, value)
            strategies = frozenset(option.strategy for option in options(value) if isinstance(option, ScopeOf))
            if strategies or not _enters_no_scope(state, item.item):
                state.scopes = (*state.scopes, Entered(unit, state.frame, strategies))
                state.effects += 1
        reached = self.block(unit.body)
        state.scopes = outer
        return reached

    def _small(self, small: cst.BaseSmallStatement) -> bool:
        """False when what follows is never reached."""
        if isinstance(small, cst.Import):
            import_modules(self, small)
        elif isinstance(small, cst.ImportFrom):
            import_names(self, small)
        elif isinstance(small, cst.Assign):
            value = self.evaluate(small.value)
            known = self.state.facts.values
            known[small] = join(known.get(small, value), value)
            for target in small.targets:
                assign(self, target.target, value)
        elif isinstance(small, cst.AnnAssign):
            if small.value is not None:
                assign(self, small.target, self.evaluate(small.value))
        elif isinstance(small, cst.AugAssign):
            value = self.evaluate(small.value)
            assign(self, small.target, self._operation(self.evaluate(small.target), value, small))
        elif isinstance(small, cst.Expr):
            self.evaluate(small.value)
        elif isinstance(small, cst.Return | cst.Raise | cst.Break | cst.Continue):
            self._leave(small)
            return False
        elif isinstance(small, cst.Global):
            self.state.declare_global(item.name.value for item in small.names)
        elif isinstance(small, cst.Assert):
            self.evaluate(small.test)
        elif isinstance(small, cst.Del):
            self.evaluate(small.target)
        return True

    def _leave(self, small: cst.Return | cst.Raise | cst.Break | cst.Continue) -> None:
        if isinstance(small, cst.Return):
            self.state.returns.append(self.evaluate(small.value) if small.value is not None else NOTHING)
        elif isinstance(small, cst.Raise) and small.exc is not None:
            self.evaluate(small.exc)

    # ---- expressions ----

    def evaluate(self, node: cst.BaseExpression) -> Value:
        """What an expression stands for. That of a name, an attribute, a call or a subscript is kept in the facts."""
        value = self._expression(node)
        facts = self.state.facts
        if isinstance(node, cst.Name | cst.Attribute):
            named = [option.name for option in options(value) if isinstance(option, Symbol)]
            if named:
                facts.symbols[node] = min(named)  # whatever the order of the set
        if isinstance(node, cst.Name | cst.Attribute | cst.Call | cst.Subscript):
            known = facts.values.get(node)
            facts.values[node] = value if known is None else join(known, value)
        return value

    def _expression(self, node: cst.BaseExpression) -> Value:
        evaluate = _OF_KIND.get(type(node))
        return evaluate(self, node) if evaluate is not None else Opaque("an expression")

    def _literal(self, node: cst.Integer | cst.Float | cst.SimpleString) -> Value:
        return Literal(node.evaluated_value)  # type: ignore[arg-type]

    def _attribute(self, node: cst.Attribute) -> Value:
        name, owner = node.attr.value, self.evaluate(node.value)
        template = template_kept(self.state, owner, node)
        if template is not None:
            return template
        return join(*(attribute(self, option, name) for option in in_order(owner)))

    def _binary(self, node: cst.BinaryOperation) -> Value:
        left = self.evaluate(node.left)
        return self._operation(left, self.evaluate(node.right), node)

    def _comparison(self, node: cst.Comparison) -> Value:
        number = self.evaluate(node.left)
        limits = [self.evaluate(comparison.comparator) for comparison in node.comparisons]
        return machine.compared(node, number, limits[0])

    def _named(self, node: cst.NamedExpr) -> Value:
        value = self.evaluate(node.value)
        assign(self, node.target, value)
        return value

    def _yield(self, node: cst.Yield) -> Value:
        if node.value is not None:
            self.evaluate(node.value.item if isinstance(node.value, cst.From) else node.value)
        return Opaque("a yield")

    def _formatted(self, node: cst.FormattedString) -> Value:
        for part in node.parts:
            if isinstance(part, cst.FormattedStringExpression):
                self.evaluate(part.expression)
        return Opaque("an expression")

    def _name(self, name: str) -> Value:
        if name in ("True", "False", "None"):
            return Literal({"True": True, "False": False, "None": None}[name])
        return self.state.lookup(name) or through_star(self.state, name) or unbound(name)

    def _subscript(self, node: cst.Subscript) -> Value:
        value = self.evaluate(node.value)
        part = containers.sliced(self, node, value)
        if part is not None:
            return part
        index = containers.index_of(self, node)
        return template_by_index(self.state, node, index) or containers.item_of(value, index)

    def _negated(self, node: cst.UnaryOperation) -> Value:
        value = self.evaluate(node.expression)
        if isinstance(value, Literal) and isinstance(value.value, int) and isinstance(node.operator, cst.Minus):
            return Literal(-value.value)
        return value if is_keras(value) else Opaque("an expression", node=node)

    def _operation(self, left: Value, right: Value, node: cst.CSTNode) -> Value:
        known = containers.repeated(left, right, node) if isinstance(node, cst.BinaryOperation) else None
        known = known or containers.concatenated(left, right)
        return known or calculated(left, right, node) or combined(self.state, (left, right), node)

    def _either(self, node: cst.BooleanOperation) -> Value:
        """`a or b`, `a and b`: either; where `a` is surely a model, `a or b` is it."""
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        if not isinstance(node.operator, cst.Or):
            return join(left, right)
        if isinstance(left, ModelObject | Parallel):
            return left
        return join(*(option for option in options(left) if option != NOTHING), right)

    def _comprehension(self, node: cst.BaseComp) -> Value:
        run_over = self._clause(node.for_in)
        if isinstance(node, cst.DictComp):
            self.evaluate(node.key)
            return Mapping((None,), (self.evaluate(node.value),))
        assert isinstance(node, cst.BaseSimpleComp)
        element = self.evaluate(node.elt)
        return Visible("gpus") if machine.keeps_gpus(node, run_over) else Items((element,), "list", counted=False)

    def _clause(self, clause: cst.CompFor) -> Value:
        """Binds the targets; the value that the outermost loop runs over."""
        iterable = self.evaluate(clause.iter)
        assign(self, clause.target, containers.element_of(iterable))
        for condition in clause.ifs:
            self.evaluate(condition.test)
        if clause.inner_for_in is not None:
            self._clause(clause.inner_for_in)
        return iterable


_OF_KIND: dict[type[cst.BaseExpression], Callable[[Interpreter, Any], Value]] = {
    cst.Name: lambda interpreter, node: interpreter._name(node.value),
    cst.Attribute: Interpreter._attribute,
    cst.Call: call,
    **dict.fromkeys((cst.Integer, cst.Float, cst.SimpleString), Interpreter._literal),
    **dict.fromkeys((cst.Tuple, cst.List, cst.Set), containers.display),
    cst.Dict: containers.dict_display,
    cst.Subscript: Interpreter._subscript,
    cst.UnaryOperation: Interpreter._negated,
    cst.BinaryOperation: Interpreter._binary,
    cst.BooleanOperation: Interpreter._either,
    cst.Comparison: Interpreter._comparison,
    cst.IfExp: branches.conditional,
    cst.Lambda: walk_lambda,
    **dict.fromkeys((cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp), Interpreter._comprehension),
    cst.NamedExpr: Interpreter._named,
    cst.Await: lambda interpreter, node: interpreter.evaluate(node.expression),
    cst.Yield: Interpreter._yield,
    cst.FormattedString: Interpreter._formatted,
}
"""What evaluates an expression, by its kind; any other is opaque."""


def _enters_no_scope(state: State, context: cst.BaseExpression) -> bool:
    """Whether a context manager is TensorFlow's own and no strategy's, or the builtin `open`."""
    if not isinstance(context, cst.Call):
        return False
    if isinstance(context.func, cst.Name) and context.func.value == "open":
        return state.lookup("open") is None
    root, *rest = state.facts.symbols.get(context.func, "").split(".")
    return root in ("tensorflow", "keras", "tf_keras") and "distribute" not in rest


def _mentioned_names(modules: Sequence[Module]) -> set[str]:
    """Every name that is mentioned other than by the `def` that makes it."""
    defined = {node.name for module in modules for node in module.all_of(cst.FunctionDef)}
    return {node.value for module in modules for node in module.all_of(cst.Name) if node not in defined}


def _drop_wraps_of_nothing(facts: ProgramFacts) -> None:
    """Of a call that wraps a model those activations do not count in which none has been made: Keras refuses None.

    They are those of a base class, whose subclasses build.
    """
    wrapped = {wrap.call for wrap in facts.wraps if wrap.template != NOTHING}
    for wraps in (facts.wraps, *(module.wraps for module in facts.modules.values())):
        wraps[:] = [wrap for wrap in wraps if wrap.template != NOTHING or wrap.call not in wrapped]
