"""An expression written for another place of the program, where its names must mean the same.

Where a name comes from is asked of `reaching`. This module decides whether it may be written there: which of several
bindings is run by then, and whether the name still has that value.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Protocol

import libcst as cst

from tfmigrate.understand.blocks import Unit, only_statement
from tfmigrate.understand.folding import constant
from tfmigrate.understand.import_statements import imports_at, imports_of, is_star_import
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.names import canonical
from tfmigrate.understand.objects import frame_of_init, kept_as, methods_in, setters_of
from tfmigrate.understand.on_the_way import (
    FunctionRun,
    changed_on_the_way,
    functions_on_the_way,
    line_sets_attribute_of,
    lines_on_the_way,
    sets_attribute_of,
)
from tfmigrate.understand.program import Program
from tfmigrate.understand.purity import is_impure, is_pure
from tfmigrate.understand.reaching import holder_of, is_parameter, origin, reaching
from tfmigrate.understand.scopes import LexicalScope, Occurrence, Scopes
from tfmigrate.understand.stars import brought
from tfmigrate.understand.substitution import Substitution, Unavailable, Way
from tfmigrate.understand.values import ClassValue, Frame, Instance, ModelObject, Site, Visible
from tfmigrate.walk import children, walk
from tfmigrate.written import Written

_LONGEST = 400
"""Characters: a longer expression is too hard to read in the place of a name."""


class Known(Protocol):
    """A module as it has been read."""

    @property
    def facts(self) -> Facts: ...

    @property
    def scopes(self) -> Scopes: ...


class Carrier:
    """Rewrites expressions for other places of the program, where they must give the same values."""

    def __init__(
        self, program: Mapping[Module, Known], raised: Set[cst.CSTNode] = frozenset(), *, to_origins: bool = False
    ) -> None:
        """`raised`: assignments that will stand above every place that something is carried to; `to_origins`: an
        object's attribute is written as what the object was given for it, even where the object has a name, so that two
        objects which were given the same are seen to agree."""
        self.to_origins = to_origins
        self.scopes = {module: known.scopes for module, known in program.items()}
        self._facts = {module: known.facts for module, known in program.items()}
        self._program = Program(tuple(program))
        self._raised = raised
        self._run: dict[tuple[Frame, cst.CSTNode, Site], Sequence[FunctionRun]] = {}

    def at(
        self, node: cst.BaseExpression, source: Site, target: Frame, before: cst.CSTNode, visible: str = ""
    ) -> Written | None:
        """What gives the same value as `node` (standing at `source`) just before the unit `before` of `target`.

        None where that cannot be shown: a name is bound in between, or in a loop, or its caller is unknown. `visible`:
        what counts the GPUs of the machine, to be written for a call that does where the call cannot be.
        """
        try:
            return self._meaning(node, source, Way(target, before, visible))
        except Unavailable:
            return None

    def _meaning(self, node: cst.BaseExpression, source: Site, way: Way) -> Written:
        """As at(). Raises Unavailable."""
        step = (source, node)
        if step in way.steps:
            raise Unavailable  # it is made of itself
        if step not in way.known:
            carried = Substitution(self, source, replace(way, steps=way.steps | {step})).expression(node)
            way.known[step] = Written.at(node, {node: carried} if carried is not None else {})
        if len(way.known[step].text) > _LONGEST:
            raise Unavailable
        return way.known[step]

    def name(self, name: str, source: Site, way: Way) -> Written | None:
        """What to write for a plain name; None to keep it. Raises Unavailable."""
        frame, target = source.frame, way.target
        scopes = self.scopes[frame.module]
        scope = scopes.by_node[frame.function or frame.module.tree]
        owner = scopes.owner(name, scope)
        if owner is None:
            if hasattr(builtins, name) or self._comes_with_a_star(name, frame.module, way):
                return None
            raise Unavailable
        bindings = reaching(name, scope, scopes)
        here = frame.module is target.module
        if here and isinstance(owner.node, cst.Module) and target.function is not None:
            declared = [binding for binding in bindings if binding.scope.node is target.function]  # by `global`
            if all(self._is_settled(binding, source, target, way.before) for binding in declared):
                self._check_that_nothing_binds(bindings, owner, source, way)
                return None
        in_target = here and owner.node is (target.function or target.module.tree)
        if in_target and all(self._is_settled(binding, source, target, way.before) for binding in bindings):
            self._check_that_nothing_binds(bindings, owner, source, way)
            return None
        if len(bindings) == 1:
            if not here and self._is_imported_there_too(name, bindings[0], frame.module, way):
                return None
            return self._written(name, bindings[0], frame, way)
        earlier = self._earlier(bindings, source)
        return self._chosen(name, earlier, dict(frame.module.arms(source.unit)), frame, way)

    def _check_that_nothing_binds(
        self, bindings: Sequence[Occurrence], owner: LexicalScope, source: Site, way: Way
    ) -> None:
        """Raises Unavailable where a function that is called on the way binds this variable of the scope `owner`."""
        elsewhere = {binding.scope.node for binding in bindings if binding.scope is not owner}
        if elsewhere and any(function in elsewhere for function, _, _ in self._run_on_the_way(source, way)):
            raise Unavailable

    def check_that_nothing_sets(self, attribute: cst.Attribute, source: Site, way: Way) -> None:
        """Raises Unavailable where a function that is called on the way may set an attribute of the same object."""
        known = self._facts[source.frame.module]
        if any(sets_attribute_of(run, attribute, known) for run in self._run_on_the_way(source, way)):
            raise Unavailable
        lines = lines_on_the_way(way.target, way.before, source)
        if any(line_sets_attribute_of(line, self._facts[module], attribute, known) for module, line in lines):
            raise Unavailable

    def check_that_nothing_changes(
        self, read: cst.Name | cst.Attribute, key: str | None, source: Site, way: Way
    ) -> None:
        """Raises Unavailable where what a list or dict holds, that is read, may be changed on the way."""
        known = self._facts[source.frame.module]
        lines = [unit for _, unit in lines_on_the_way(way.target, way.before, source)]
        if changed_on_the_way(read, key, known, lines, self._run_on_the_way(source, way)):
            raise Unavailable

    def counts_gpus(self, call: cst.Call, source: Site) -> bool:
        """Whether a call returns how many GPUs TensorFlow sees."""
        return self._facts[source.frame.module].options(call) == {Visible("count")}

    def symbol(self, node: cst.CSTNode, source: Site) -> str:
        return self._facts[source.frame.module].symbols.get(node, "")

    def _run_on_the_way(self, source: Site, way: Way) -> Sequence[FunctionRun]:
        key = way.target, way.before, source
        if key not in self._run:
            self._run[key] = tuple(functions_on_the_way(way.target, way.before, source, self._facts))
        return self._run[key]

    def _is_imported_there_too(self, name: str, binding: Occurrence, module: Module, way: Way) -> bool:
        """Whether a name that a module imports is that of the same module at the target, by an import above it."""
        target = way.target
        scopes = self.scopes[target.module]
        owner = scopes.owner(name, scopes.by_node[target.function or target.module.tree])
        if owner is None or owner.node not in (target.function, target.module.tree):
            return False
        bindings = reaching(name, owner, scopes)
        imported = self._module_imported(binding, module)
        if imported is None or len(bindings) != 1 or self._module_imported(bindings[0], target.module) != imported:
            return False
        in_function = target.function is not None and isinstance(owner.node, cst.Module)
        return in_function or self._precedes(bindings[0], way.before, target.module)

    def _module_imported(self, binding: Occurrence, module: Module) -> Module | str | None:
        """The module that an import binds: one of the program, or another one by its name."""
        for statement in imports_at(binding.unit):
            for alias, _, full in imports_of(statement):
                if alias is binding.node:
                    level = len(full) - len(full.lstrip("."))
                    found = self._program.imported(full.lstrip("."), level, module)
                    return found or (full if isinstance(statement, cst.Import) else None)
        return None

    def _comes_with_a_star(self, name: str, module: Module, way: Way) -> bool:
        """Whether a name that a module does not bind can be one of `from somewhere import *`, and is there by then."""
        stars = [unit for star, unit in module.imports if is_star_import(star) and self._may_bring(star, name, module)]
        if not stars or module is not way.target.module:
            return False
        return way.target.function is not None or all(module.order[s] < module.order[way.before] for s in stars)

    def _may_bring(self, star: cst.ImportFrom, name: str, module: Module) -> bool:
        """Whether `from somewhere import *` brings a name, as far as it is known what it brings."""
        for source in self._program.reached_by_stars(self._program.star_source(star, module)):
            if isinstance(source, Module):
                brings = name in self.scopes[source].module.bound
            else:
                brings = not canonical(source).startswith("keras.") or brought(source, name) is not None
            if brings:
                return True
        return False

    def _chosen(
        self,
        name: str,
        bindings: Sequence[Occurrence],
        arms: Mapping[cst.CSTNode, cst.CSTNode],
        frame: Frame,
        way: Way,
    ) -> Written:
        """The value that a name has after these bindings, the last of which may stand in an `if`. Raises Unavailable.

        `arms`: those that are run, by their statement.
        """
        if not bindings:
            raise Unavailable
        owners = [owner for owner, block in _arms(bindings[-1], frame) if arms.get(owner) is not block]
        if not owners:
            return self._written(name, bindings[-1], frame, way)
        choice = owners[-1]
        if not isinstance(choice, cst.If):
            raise Unavailable
        blocks = [dict(_arms(binding, frame)).get(choice) for binding in bindings]

        def through(block: cst.CSTNode | None) -> Written:
            left = [one for one, own in zip(bindings, blocks, strict=True) if own is None or own is block]
            return self._chosen(name, left, {**arms, choice: block} if block is not None else arms, frame, way)

        if choice in arms:
            return through(arms[choice])
        links = [choice]
        while isinstance(links[-1].orelse, cst.If):
            links.append(links[-1].orelse)
        otherwise = links[-1].orelse
        carried = through(otherwise.body if otherwise is not None else None)
        for link in reversed(links):
            if not self._is_repeatable(link.test, Site(frame, choice), way):
                raise Unavailable
            test = self._meaning(link.test, Site(frame, choice), way)
            holds, taken = constant(test.tree), through(link.body)
            if holds is None:
                carried = Written.of(_arm(taken), " if ", _arm(test), " else ", carried)
            elif holds.value:
                carried = taken
        return carried

    def _written(self, name: str, binding: Occurrence, frame: Frame, way: Way) -> Written:
        """What to write for the value that a binding gives. Raises Unavailable."""
        if is_parameter(binding) and binding.scope.node is way.target.function:
            if frame is not way.target or not self._is_parameter_still(name, binding, way):
                raise Unavailable
            return Written.of(name)
        source = origin(binding, frame)
        if source is None or not self._is_repeatable(source[1], source[0], way):
            raise Unavailable  # it is made once, there
        # What one caller passes is not known in a function beside it, which others may call.
        holder = holder_of(binding, frame)
        if is_parameter(binding) and holder is not None and way.target not in _callers(holder):
            raise Unavailable
        return self._meaning(source[1], source[0], way)

    def _is_repeatable(self, node: cst.CSTNode, source: Site, way: Way) -> bool:
        """Whether an expression means the same when it is evaluated again elsewhere: it is pure, or counts the GPUs."""
        if is_pure(node):
            return True
        if not way.visible:
            return False
        if isinstance(node, cst.Call) and self.counts_gpus(node, source):
            return True
        return not is_impure(node) and all(self._is_repeatable(part, source, way) for part in children(node))

    def _is_parameter_still(self, name: str, parameter: Occurrence, way: Way) -> bool:
        """Whether a name of the target is bound to nothing but what was passed for it, up to `before`."""
        module = way.target.module
        loops = {owner for owner in module.ancestors(way.before) if isinstance(owner, cst.For | cst.While)}
        return not any(
            module.order[reached.unit] < module.order[way.before] or loops & set(module.ancestors(reached.unit))
            for reached in reaching(name, parameter.scope, self.scopes[module])
            if reached is not parameter
        )

    def _is_settled(self, binding: Occurrence, source: Site, target: Frame, before: cst.CSTNode) -> bool:
        """Whether a binding leaves the name the same at `before` and at `source`."""
        if not self._precedes(binding, before, target.module):
            return False
        if source.frame is not target or binding.unit is binding.scope.node:
            return True
        order = target.module.order
        return order[binding.unit] < order[source.unit] or order[source.unit] >= order[before]

    def _earlier(self, bindings: Sequence[Occurrence], source: Site) -> Sequence[Occurrence]:
        """The bindings that come before `source`, in order. Raises Unavailable where a loop makes that mean little."""
        module = source.frame.module
        loops = {owner for owner, _ in module.arms(source.unit) if isinstance(owner, cst.For | cst.While)}
        function = source.frame.function or module.tree

        def when(binding: Occurrence) -> int:
            """Its place in the order of the function's units; a parameter comes before all of them."""
            return -1 if binding.unit is function else module.order[binding.unit]

        for binding in bindings:
            if binding.scope.node is not function:
                raise Unavailable
            if binding.unit is not function and loops & set(module.ancestors(binding.unit)):
                raise Unavailable
        return sorted((earlier for earlier in bindings if when(earlier) < module.order[source.unit]), key=when)

    def _precedes(self, binding: Occurrence, before: cst.CSTNode, module: Module) -> bool:
        """Whether a binding is done with before `before` begins."""
        if binding.unit in self._raised:
            return True
        if isinstance(binding.scope.node, cst.FunctionDef) and binding.unit is binding.scope.node:
            return True
        if before in module.ancestors(binding.unit) or binding.unit is before:
            return False
        return module.order[binding.unit] < module.order[before]

    def attribute_value(self, name: str, source: Site, way: Way) -> Written:
        """What is assigned to an attribute of the object whose method `source` stands in, before it has it.

        Raises Unavailable where more than one statement assigns to it, or the one that does may be left out.
        """
        owners = source.frame.owner.ancestors() if source.frame.owner is not None else ()
        setters = [setter for cls in owners for setter in setters_of(cls, name)]
        if len(setters) != 1:
            raise Unavailable
        method, unit = setters[0]
        frame = next((frame for frame in way.target.chain() if frame.function is method), None)
        if frame is None:
            raise Unavailable
        order = frame.module.order
        begun = frame is source.frame and order[unit] < order[source.unit]
        if not (begun or (method.name.value == "__init__" and frame is not source.frame)):
            raise Unavailable
        return self._meaning(_always_set_to(unit, method, frame.module), Site(frame, unit), way)

    def attribute_made(self, name: str, source: Site, way: Way) -> Written:
        """What the object whose method `source` stands in was given for an attribute where it was made, anywhere.

        Raises Unavailable where not `__init__` alone sets it, or it is unknown what makes the object.
        """
        instance = source.frame.receiver
        instance = instance.instance if isinstance(instance, ModelObject) else instance
        if not isinstance(instance, Instance) or instance.site is None or instance.call is None:
            raise Unavailable
        owners = tuple(instance.cls.ancestors())
        attribute = kept_as(owners, name)
        setters = [setter for cls in owners for setter in setters_of(cls, attribute)]
        if len(setters) != 1 or self._is_set_on_others(attribute, owners):
            raise Unavailable
        method, unit = setters[0]
        frame = frame_of_init(instance, method)
        if frame is None:
            raise Unavailable
        return self._meaning(_always_set_to(unit, method, frame.module), Site(frame, unit), way)

    def _is_set_on_others(self, name: str, owners: Sequence[ClassValue]) -> bool:
        """Whether something else than a method sets an attribute of what may be an object of these classes."""
        own = {part for cls in owners for method in methods_in(cls) for part in walk(method)}
        return any(
            target.attr.value == name
            and not all(
                isinstance(option, Instance) and set(owners).isdisjoint(option.cls.ancestors())
                for option in facts.options(target.value) or (None,)
            )
            for facts in self._facts.values()
            for node in facts.module.all_of(cst.AssignTarget, cst.AugAssign, cst.AnnAssign)
            if node not in own
            for target in (node.target,)
            if isinstance(target, cst.Attribute)
        )


def _arm(expression: Written) -> Written:
    """Between the words of an `a if b else c`."""
    loose = isinstance(expression.tree, cst.IfExp | cst.Lambda) and not expression.tree.lpar
    return Written.of("(", expression, ")") if loose else expression


def _callers(frame: Frame) -> Iterator[Frame]:
    """The activations that a call runs in, the nearest first."""
    yield from frame.call.frame.chain() if frame.call is not None else ()


def _arms(binding: Occurrence, frame: Frame) -> Sequence[tuple[cst.CSTNode, cst.CSTNode]]:
    """(compound statement, block) for each arm that a binding of a frame stands in; a parameter stands in none."""
    function = frame.function or frame.module.tree
    return tuple(frame.module.arms(binding.unit)) if binding.unit is not function else ()


def _always_set_to(unit: Unit, method: cst.FunctionDef, module: Module) -> cst.BaseExpression:
    """What a line assigns to its one attribute whenever its method is run. Raises Unavailable where it may not be."""
    small = only_statement(unit)
    if isinstance(small, cst.Assign) and len(small.targets) == 1:
        target, value = small.targets[0].target, small.value
    elif isinstance(small, cst.AnnAssign) and small.value is not None:
        target, value = small.target, small.value
    else:
        raise Unavailable
    if not isinstance(target, cst.Attribute) or not is_pure(value):  # one of several: `self.a, self.b = both`
        raise Unavailable
    if any(owner is not method for owner, _ in module.arms(unit) if method in module.ancestors(owner)):
        raise Unavailable
    return value
