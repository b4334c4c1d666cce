"""Follows values through a program: one walk, in order, that carries what each name stands for.

Calls of the program's own functions are walked in place, so that every event knows the statements it runs under. A
function whose walk showed nothing but construction is summarised after the first time, which keeps the cost in
proportion to the code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import libcst as cst

from tfmigrate.understand import names
from tfmigrate.understand.copies import is_copy
from tfmigrate.understand.lifecycle import MODEL_METHODS, TRAINING, Facts, Guard, ProgramFacts, Use, Wrap
from tfmigrate.understand.program import Module, Program, Unit, dotted, imports_of, units_of
from tfmigrate.understand.stars import brought
from tfmigrate.understand.store import Store
from tfmigrate.understand.values import (
    Choice,
    ClassValue,
    Dataset,
    Entered,
    EstimatorPart,
    Frame,
    FunctionValue,
    Instance,
    Items,
    Literal,
    Made,
    Mapping,
    Method,
    ModelObject,
    ModuleValue,
    Opaque,
    Parallel,
    Parameter,
    ScopeOf,
    Site,
    Sites,
    StrategyObject,
    Super,
    Symbol,
    Value,
    Visible,
    holds_model,
    join,
    models_of,
    opaque_sites,
    options,
    sites_of,
    unbound,
)
from tfmigrate.walk import walk

_MAX_DEPTH = 24
_WALKS = 40
"""How often a statement may be walked on average, before calls are no longer followed: the cost stays linear."""
_MOST_WALKS = 100_000
"""So many in all, about ten seconds: a library with its callers is walked, but not in every combination of them."""
_Arguments = tuple[tuple[str | None, Value], ...]
_NO_DATASET = frozenset({"as_numpy_iterator", "cardinality", "get_single_element", "options", "reduce", "save"})
"""Methods of a dataset that return something else."""
_PLAIN = frozenset({"shape", "ndim", "size", "dtype"})
"""Attributes that are plain data, whatever they belong to."""
_CONTAINERS = frozenset({"list", "tuple", "dict"})
"""Builtins whose calls are displays of another spelling: `list()` is `[]`."""
NOTHING = Literal(None)
WRAP_PARAMETERS = ("model", "gpus", "cpu_merge", "cpu_relocation")


@dataclass(frozen=True)
class _Summary:
    """What a function without effects returned when it was walked: the models it made, and those it was given."""

    value: Value
    made: frozenset[ModelObject]
    given: frozenset[ModelObject]


class Interpreter:
    """Walks the modules of a program and collects the facts."""

    def __init__(self, program: Program, aliases: Sequence[str] = ()) -> None:
        """`aliases`: further qualified names that are multi_gpu_model."""
        self.program_facts = ProgramFacts({module: Facts(module) for module in program.modules})
        self._program = program
        self._aliases = frozenset(aliases)
        self._store = Store()
        self._tops = {module: Frame(module, None, None) for module in program.modules}
        self._begun: set[Module] = set()
        self._effects = 0
        """How many attributes were set, models compiled or trained, and parallel ones used so far: a function that
        does any of this is walked again at each call. One that loads weights into what it builds is not."""
        places = sum(len(module.places) for module in program.modules)
        self._left = max(2 * places, min(2_000 + _WALKS * places, _MOST_WALKS))
        self._stars: dict[Module, list[str]] = {}
        """The modules out of sight of which a module imports everything, in order."""
        self._frame = next(iter(self._tops.values()))
        self._unit: Unit = cst.SimpleStatementLine(body=())
        self._guards: tuple[Guard, ...] = ()
        self._entered_scopes: tuple[Entered, ...] = ()
        self._returns: list[Value] = []
        self._globals: dict[Frame, set[str]] = {}
        self._entered: set[cst.CSTNode] = set()
        self._summaries: dict[cst.CSTNode, _Summary] = {}
        self._functions: list[FunctionValue] = []
        self._classes: list[ClassValue] = []
        self._instances: dict[ClassValue, Value] = {}
        self._walked: set[tuple[ClassValue, cst.CSTNode]] = set()

    @property
    def facts(self) -> Facts:
        """The facts of the module that is being walked."""
        return self.program_facts.modules[self._frame.module]

    def run(self) -> ProgramFacts:
        """Walk the modules, then what nothing in them calls as its own beginning: outermost first."""
        for module in self._program.modules:
            self._load(module)
        mentioned = _mentioned_names(self._program.modules)
        self._walk_functions([f for f in self._functions if _function_name(f.node) not in mentioned])
        bases = {base for cls in self._classes for base in cls.bases}
        for cls in sorted(self._classes, key=lambda cls: cls in bases):
            self._walk_class(cls, mentioned)
        self._walk_functions(self._functions)
        return self.program_facts

    def _load(self, module: Module) -> None:
        """Run a module's top level, once."""
        if module in self._begun:
            return
        self._begun.add(module)
        with self._activation(self._tops[module]):
            self._block(module.tree)

    def _walk_functions(self, functions: Sequence[FunctionValue]) -> None:
        for function in functions:
            if function.node not in self._entered and function.owner is None:
                self._enter(function, self._unknown_arguments(function), None, None)

    # ---- the store ----

    def _lookup(self, name: str) -> Value | None:
        frame: Frame | None = self._frame
        while frame is not None:
            found = self._store.get((frame, name))
            if found is not None:
                return found
            frame = frame.closure
        return None

    def _bind(self, name: str, value: Value) -> None:
        frame = self._frame
        if name in self._globals.get(frame, ()):
            frame = self._tops[frame.module]
        self._store[(frame, name)] = value

    @property
    def _site(self) -> Site:
        return Site(self._frame, self._unit)

    # ---- statements ----

    def _block(self, block: cst.Module | cst.BaseSuite) -> bool:
        """Walk a block; False when its end is never reached."""
        outer = self._guards
        for unit in units_of(block):
            self._unit = unit
            if self._entered_scopes:
                self.program_facts.entered[self._site] = self._entered_scopes
            self._left -= 1
            reached = self._statement(unit)
            if not reached:
                self._guards = outer
                return False
        self._guards = outer
        return True

    def _statement(self, unit: Unit) -> bool:
        if isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite):
            reached = [self._small(small) for small in unit.body]
            return all(reached)
        if isinstance(unit, cst.If):
            return self._if(unit, self._site)
        if isinstance(unit, cst.For):
            iterable = self._evaluate(unit.iter)
            self._assign(unit.target, self._element(iterable))
            return self._loop(unit.body, unit.orelse)
        if isinstance(unit, cst.While):
            self._evaluate(unit.test)
            return self._loop(unit.body, unit.orelse)
        if isinstance(unit, cst.With):
            return self._with(unit)
        if isinstance(unit, cst.Try | cst.TryStar):
            return self._try(unit)
        if isinstance(unit, cst.FunctionDef):
            self._define(unit)
            return True
        if isinstance(unit, cst.ClassDef):
            self._define_class(unit)
            return True
        if isinstance(unit, cst.Match):
            self._evaluate(unit.subject)
            return self._arms(unit, [case.body for case in unit.cases], falls_through=True)
        return True

    def _nested(self, unit: Unit, body: cst.BaseSuite) -> bool:
        reached = self._block(body)
        self._unit = unit
        return reached

    def _with(self, unit: cst.With) -> bool:
        outer = self._entered_scopes
        for item in unit.items:
            value = self._evaluate(item.item)
            if item.asname is not None:
                self._assign(item.asname.name, value)
            strategies = frozenset(option.strategy for option in options(value) if isinstance(option, ScopeOf))
            if strategies or not self._enters_no_scope(item.item):
                self._entered_scopes = (*self._entered_scopes, Entered(unit, self._frame, strategies))
                self._effects += 1
        reached = self._nested(unit, unit.body)
        self._entered_scopes = outer
        return reached

    def _enters_no_scope(self, context: cst.BaseExpression) -> bool:
        """Whether a context manager is TensorFlow's own and no strategy's, or the builtin `open`."""
        if not isinstance(context, cst.Call):
            return False
        if isinstance(context.func, cst.Name) and context.func.value == "open":
            return self._lookup("open") is None
        root, *rest = self.facts.symbols.get(context.func, "").split(".")
        return root in ("tensorflow", "keras", "tf_keras") and "distribute" not in rest

    def _if(self, unit: cst.If, site: Site) -> bool:
        """`site`: where the whole chain of `elif` stands."""
        test = self._evaluate(unit.test)
        outer, before = self._guards, self._store
        states: list[Store] = []
        left: list[Store] = []
        ends: list[bool] = []
        for arm in ("body", "orelse"):
            self._store = Store(before)
            self._guards = (*outer, Guard(unit, arm, site, test))
            if arm == "body":
                reached = self._nested(unit, unit.body)
            elif isinstance(unit.orelse, cst.If):
                reached = self._if(unit.orelse, site)
            elif isinstance(unit.orelse, cst.Else):
                reached = self._nested(unit, unit.orelse.body)
            else:
                reached = True
            self._unit = unit
            ends.append(reached)
            (states if reached else left).append(self._store)
        self._store = before
        before.merge(states, left)
        self._guards = outer
        other = unit.orelse.body if isinstance(unit.orelse, cst.Else) else None
        if ends == [False, True] and not _gives_up(unit.body):
            self._guards = (*outer, Guard(unit, "orelse", site, test))
        elif ends == [True, False] and not _gives_up(other):
            self._guards = (*outer, Guard(unit, "body", site, test))
        return any(ends)

    def _arms(self, unit: Unit, bodies: Sequence[cst.BaseSuite], *, falls_through: bool) -> bool:
        before = self._store
        states = [Store(before)] if falls_through else []
        left: list[Store] = []
        for body in bodies:
            self._store = Store(before)
            (states if self._nested(unit, body) else left).append(self._store)
        self._store = before
        before.merge(states, left)
        return bool(states)

    def _loop(self, body: cst.BaseSuite, orelse: cst.Else | None) -> bool:
        unit, before = self._unit, self._store
        self._store = Store(before)
        self._nested(unit, body)
        once, self._store = self._store, before
        before.merge([Store(before), once])
        if orelse is not None:
            self._nested(unit, orelse.body)
        return True

    def _try(self, unit: cst.Try | cst.TryStar) -> bool:
        outer, before = self._guards, self._store
        states: list[Store] = []
        left: list[Store] = []
        self._store = Store(before)
        if isinstance(unit, cst.Try) and unit.handlers:
            self._guards = (*outer, Guard(unit, "body", Site(self._frame, unit)))
        reached = self._nested(unit, unit.body)
        if reached and unit.orelse is not None:
            reached = self._nested(unit, unit.orelse.body)
        (states if reached else left).append(self._store)
        for handler in unit.handlers:
            self._store = Store(before)
            if isinstance(unit, cst.Try):
                self._guards = (*outer, Guard(unit, "handler", Site(self._frame, unit)))
            if handler.name is not None:
                self._assign(handler.name.name, Opaque("an exception"))
            (states if self._nested(unit, handler.body) else left).append(self._store)
        self._store = before
        before.merge(states, left)
        self._guards = outer
        if unit.finalbody is not None:
            self._nested(unit, unit.finalbody.body)
        return bool(states)

    def _small(self, small: cst.BaseSmallStatement) -> bool:
        if isinstance(small, cst.Import):
            for alias, bound, full in imports_of(small):
                module = self._imported(dotted(alias.name), 0) if alias.asname is not None else self._imported(full, 0)
                self._bind(bound, ModuleValue(module) if module is not None else Symbol(full))
                if alias.asname is None and "." in dotted(alias.name):
                    self._imported(dotted(alias.name), 0)
        elif isinstance(small, cst.ImportFrom):
            self._import_from(small)
        elif isinstance(small, cst.Assign):
            value = self._evaluate(small.value)
            self.facts.values[small] = join(self.facts.values.get(small, value), value)
            for target in small.targets:
                self._assign(target.target, value)
        elif isinstance(small, cst.AnnAssign):
            if small.value is not None:
                self._assign(small.target, self._evaluate(small.value))
        elif isinstance(small, cst.AugAssign):
            value = self._evaluate(small.value)
            old = self._evaluate(small.target)
            if isinstance(old, Items) and isinstance(value, Items):
                self._assign(small.target, Items((*old.values, *value.values), old.kind))
            else:
                self._assign(small.target, self._combined((old, value), small))
        elif isinstance(small, cst.Expr):
            self._evaluate(small.value)
        elif isinstance(small, cst.Return):
            self._returns.append(self._evaluate(small.value) if small.value is not None else NOTHING)
            return False
        elif isinstance(small, cst.Raise):
            if small.exc is not None:
                self._evaluate(small.exc)
            return False
        elif isinstance(small, cst.Break | cst.Continue):
            return False
        elif isinstance(small, cst.Global):
            self._globals.setdefault(self._frame, set()).update(item.name.value for item in small.names)
        elif isinstance(small, cst.Assert):
            self._evaluate(small.test)
        elif isinstance(small, cst.Del):
            self._evaluate(small.target)
        return True

    def _imported(self, name: str, level: int) -> Module | None:
        """The module of this program that an import means, run if it was not yet."""
        module = self._program.imported(name, level, self._frame.module)
        if module is not None and module is not self._frame.module:
            self.program_facts.imports.add((self._frame.module, module))
            self._load(module)
            return module
        return None

    def _import_from(self, small: cst.ImportFrom) -> None:
        source, level = dotted(small.module), len(small.relative)
        module = self._imported(source, level)
        if isinstance(small.names, cst.ImportStar):
            self._star_import(source, level, module)
            return
        for alias, bound, full in imports_of(small):
            name = dotted(alias.name)
            value: Value = Symbol(full)
            if module is not None:
                self.program_facts.exported.add((module, name))
                value = self._store.get((self._tops[module], name)) or value
            if isinstance(value, Symbol):
                inner = self._imported(f"{source}.{name}" if source else name, level)
                value = ModuleValue(inner) if inner is not None else value
            self._bind(bound, value)

    def _star_import(self, source: str, level: int, module: Module | None) -> None:
        """Everything from a module of this program; what a library brings is looked up when it is used."""
        stars = self._stars.setdefault(self._frame.module, [])
        if module is not None:
            stars.extend(self._stars.get(module, ()))
            top = self._tops[module]
            for name, value in list(self._store.of(top)):
                if not name.startswith("_"):
                    self.program_facts.exported.add((module, name))
                    self._bind(name, value)
            return
        stars.append("." * level + source)
        if not level and names.canonical(f"{source}.multi_gpu_model") == names.MULTI_GPU_MODEL:
            self._bind("multi_gpu_model", Symbol(f"{source}.multi_gpu_model"))

    def _assign(self, target: cst.BaseExpression, value: Value) -> None:
        if isinstance(target, cst.Name):
            self._bind(target.value, value)
        elif isinstance(target, cst.Attribute):
            receiver = self._evaluate(target.value)
            for option in options(receiver):
                if isinstance(option, Instance | ModelObject):
                    self._store[(option, target.attr.value)] = value
                    self._effects += 1
                    if isinstance(option, ModelObject):
                        option.sites |= sites_of(value)
            if target.attr.value == "trainable":
                self.facts.toggles.append((target, receiver))
        elif isinstance(target, cst.Tuple | cst.List):
            elements = [element.value for element in target.elements]
            for position, element in enumerate(elements):
                self._assign(element, self._item(value, position, len(elements)))
        elif isinstance(target, cst.Subscript):
            receiver = self._evaluate(target.value)
            indices = [self._evaluate_slice(item.slice) for item in target.slice]
            if isinstance(receiver, Items):
                self._assign(target.value, receiver.grown((value,)))
            elif isinstance(receiver, Mapping) and isinstance(target.value, cst.Name | cst.Attribute):
                key = indices[0].value if len(indices) == 1 and isinstance(indices[0], Literal) else None
                self._assign(target.value, receiver.with_item(key if isinstance(key, str) else None, value))
        elif isinstance(target, cst.StarredElement):
            self._assign(target.value, Opaque("a starred target"))

    def _item(self, value: Value, position: int, count: int) -> Value:
        found = []
        for option in _filled(value):
            if isinstance(option, Items) and option.kind == "tuple" and len(option.values) == count:
                found.append(option.values[position])
            elif isinstance(option, Items) and option.values:
                found.append(join(*option.values))
            else:
                found.append(self._derived(option, "an element"))
        return join(*found)

    def _element(self, value: Value) -> Value:
        found = []
        for option in _filled(value):
            if isinstance(option, Items) and option.values:
                found.append(join(*option.values))
            elif isinstance(option, Mapping):
                found.append(Opaque("a key"))
            else:
                found.append(self._derived(option, "an element"))
        return join(*found)

    def _derived(self, value: Value, origin: str) -> Value:
        """A part of something not followed: keeps where the whole came from."""
        if isinstance(value, Made):
            return value
        if isinstance(value, Opaque):
            return value
        return Opaque(origin, sites_of(value))

    def _define(self, unit: cst.FunctionDef, owner: ClassValue | None = None) -> FunctionValue:
        for decorator in unit.decorators:
            self._evaluate(decorator.decorator)
        for parameter in _parameters(unit.params):
            if parameter.default is not None:
                self._evaluate(parameter.default)
        function = FunctionValue(unit, self._frame, owner)
        self._functions.append(function)
        if owner is None:
            self._bind(unit.name.value, function)
        return function

    def _define_class(self, unit: cst.ClassDef) -> None:
        bases = tuple(self._evaluate(base.value) for base in unit.bases)
        cls = ClassValue(unit, self._frame, bases)
        self._bind(unit.name.value, cls)
        self._classes.append(cls)
        saved = self._unit
        for member in units_of(unit.body):
            if isinstance(member, cst.FunctionDef):
                self._unit = member
                function = self._define(member, cls)
                if not any(dotted(item.decorator).endswith((".setter", ".deleter")) for item in member.decorators):
                    cls.members[member.name.value] = function
            elif isinstance(member, cst.SimpleStatementLine):
                self._unit = member
                for small in member.body:
                    if isinstance(small, cst.Assign):
                        value = self._evaluate(small.value)
                        for target in small.targets:
                            if isinstance(target.target, cst.Name):
                                cls.members[target.target.value] = value
                    elif isinstance(small, cst.Expr):
                        self._evaluate(small.value)
        self._unit = saved

    def _walk_class(self, cls: ClassValue, mentioned: set[str]) -> None:
        """Walk the methods that nothing called on this class, inherited too: __init__ first, inner helpers last."""
        instance = self._instances.get(cls) or self._new_instance(cls)
        methods = sorted(
            cls.methods(),
            key=lambda m: (_function_name(m.node) != "__init__", _function_name(m.node) in mentioned),
        )
        for method in methods:
            done = method.node in self._entered if method.owner is cls else (cls, method.node) in self._walked
            if not done:
                self._mark(cls, method)
                arguments = ((None, instance), *self._unknown_arguments(method)[1:])
                self._enter(method, arguments, None, None)

    def _mark(self, cls: ClassValue, method: FunctionValue) -> None:
        self._walked.update((ancestor, method.node) for ancestor in cls.ancestors())

    def _new_instance(self, cls: ClassValue) -> Value:
        base = next((name for name in cls.outside_bases() if names.canonical(name) in names.MODEL_CLASSES), None)
        instance: Value
        if base is not None:
            instance = self._model(cls.node, frozenset(), frozenset(), "an instance of a Model subclass", base)
            instance.site = Site(cls.closure, cls.node)  # until a call of the class says where it is made
            instance.instance = Instance(cls)
        else:
            instance = Instance(cls)
        self._instances.setdefault(cls, instance)
        return instance

    def _unknown_arguments(self, function: FunctionValue) -> _Arguments:
        """What a caller out of sight may pass; a part of a model that is the default may be meant too."""
        frame = Frame(function.module, function.node, function.closure)
        values: list[Value] = []
        for parameter in _positional(function.node.params):
            default = self._default(parameter.default, function) if parameter.default is not None else NOTHING
            unknown = Parameter(frame, parameter.name.value)
            values.append(join(default, unknown) if _is_keras(default) else unknown)
        return tuple((None, value) for value in values)

    # ---- calls ----

    @contextmanager
    def _activation(self, frame: Frame) -> Iterator[list[Value]]:
        saved = self._frame, self._unit, self._guards, self._entered_scopes, self._returns
        self._frame, self._returns = frame, []
        if frame.call is None:
            self._guards = ()
            self._entered_scopes = ()
        try:
            yield self._returns
        finally:
            self._frame, self._unit, self._guards, self._entered_scopes, self._returns = saved

    def _enter(
        self, function: FunctionValue, arguments: _Arguments, call: Site | None, call_node: cst.Call | None
    ) -> Value:
        """Walk a function's body with these arguments and return what it returns."""
        self._entered.add(function.node)
        frame = Frame(function.module, function.node, function.closure, call, call_node, function.owner)
        with self._activation(frame) as returns:
            self._bind_parameters(function, arguments, frame)
            if isinstance(function.node, cst.Lambda):
                self._unit = call.unit if call is not None else self._unit
                return self._evaluate(function.node.body)
            self._block(function.node.body)
            if function.is_generator:
                return Made("generator", _function_name(function.node), frozenset())
            return join(*returns) if returns else NOTHING

    def _bind_parameters(self, function: FunctionValue, arguments: _Arguments, frame: Frame) -> None:
        params = function.node.params
        declared = _positional(params)
        positional = [value for keyword, value in arguments if keyword is None]
        by_name = {keyword: value for keyword, value in arguments if keyword is not None}
        spread = "*" in by_name or "**" in by_name
        for position, parameter in enumerate([*declared, *params.kwonly_params]):
            name = parameter.name.value
            if position < len(positional) and position < len(declared):
                value = positional[position]
            elif name in by_name:
                value = by_name[name]
            elif parameter.default is not None and not spread:
                value = self._default(parameter.default, function)
            else:
                value = Parameter(frame, name)
            self._store[(frame, name)] = value
        for star in (params.star_arg, params.star_kwarg):
            if isinstance(star, cst.Param):
                self._store[(frame, star.name.value)] = Opaque("extra arguments")

    def _default(self, node: cst.BaseExpression, function: FunctionValue) -> Value:
        """A parameter's default, which is made once, where the function is defined."""
        saved = self._frame, self._unit
        self._frame = function.closure
        if isinstance(function.node, cst.FunctionDef):
            self._unit = function.node
        try:
            return self._evaluate(node)
        finally:
            self._frame, self._unit = saved

    def _call_function(self, function: FunctionValue, arguments: _Arguments, node: cst.Call | None) -> Value:
        active = [frame.function for frame in self._frame.chain()]
        if function.node in active or len(active) > _MAX_DEPTH or self._left < 0:
            return Opaque("a recursive call", frozenset((self._site,)))
        summary = self._summaries.get(function.node)
        if summary is None:
            before, first = self._footprint(), len(self.program_facts.models)
            value = self._enter(function, arguments, self._site, node)
            plain = self._footprint() == before
            if not plain or any(holds_model(argument) for _, argument in arguments):
                return value
            given = frozenset().union(*(models_of(argument) for _, argument in arguments))
            summary = _Summary(value, frozenset(self.program_facts.models[first:]), given)
            self._summaries[function.node] = summary
            return value
        return self._renewed(summary, arguments, node if node is not None else function.node)

    def _footprint(self) -> tuple[int, int]:
        """Changes with everything a call can do beside returning a value."""
        return len(self.program_facts.wraps), self._effects

    def _renewed(self, summary: _Summary, arguments: _Arguments, node: cst.CSTNode) -> Value:
        """A summary as if made by this call: the same kinds of things, built on each other alike, made here."""
        here = frozenset((self._site,))
        sites: Sites = frozenset().union(*(sites_of(argument) for _, argument in arguments))
        models = frozenset().union(*(models_of(argument) for _, argument in arguments))
        fresh: dict[ModelObject, ModelObject] = {}

        def model(old: ModelObject) -> ModelObject:
            if old not in summary.made:
                return old
            if old not in fresh:
                fresh[old] = self._model(node, sites, frozenset(), old.origin, old.maker)
                fresh[old].on = built_on(old.on)
                fresh[old].instance = old.instance
            return fresh[old]

        def built_on(old: frozenset[ModelObject]) -> frozenset[ModelObject]:
            return models.union(model(one) for one in old if one in summary.made or one not in summary.given)

        def value(old: Value) -> Value:
            if isinstance(old, Made):
                return Made(old.kind, old.name, here | sites, built_on(old.models), old.config)
            if isinstance(old, ModelObject):
                return model(old)
            if isinstance(old, Items):
                return Items(tuple(map(value, old.values)), old.kind)
            if isinstance(old, Mapping):
                return Mapping(old.keys, tuple(map(value, old.values)))
            if isinstance(old, Choice):
                return join(*map(value, old.options))
            if isinstance(old, Opaque):
                return Opaque(old.origin, here | sites, node)
            return old

        return value(summary.value)

    def _arguments(self, node: cst.Call) -> _Arguments:
        values: list[tuple[str | None, Value]] = []
        for argument in node.args:
            value = self._evaluate(argument.value)
            if argument.star:
                values.append((argument.star, value))
            else:
                values.append((argument.keyword.value if argument.keyword is not None else None, value))
        return tuple(values)

    def _call(self, node: cst.Call) -> Value:
        if isinstance(node.func, cst.Name) and node.func.value == "super" and self._lookup("super") is None:
            return self._super()
        callee = self._evaluate(node.func)
        arguments = self._arguments(node)
        if isinstance(node.func, cst.Name) and node.func.value == "len" and arguments == ((None, Visible("gpus")),):
            return Visible("count")
        if isinstance(node.func, cst.Name) and node.func.value in _CONTAINERS and isinstance(callee, Opaque):
            container = _container(node.func.value, arguments)
            if container is not None:
                return container
        if isinstance(callee, Method) and isinstance(callee.receiver, ScopeOf):
            self.program_facts.scopes_elsewhere = True
        if any(isinstance(option, ScopeOf) for _, value in arguments for option in options(value)):
            self.program_facts.scopes_elsewhere = True
        methods = [o for o in options(callee) if isinstance(o, Method) and o.function is None]
        if methods and (methods[0].name in MODEL_METHODS or any(models_of(m.receiver) for m in methods)):
            receiver = join(*(method.receiver for method in methods))
            use = Use(methods[0].name, node, self._site, receiver, arguments)
            self.facts.uses.append(use)
            self.program_facts.uses.append(use)
            if use.method in TRAINING | {"compile"} or any(isinstance(o, Parallel) for o in options(receiver)):
                self._effects += 1
        return join(*(self._apply(option, arguments, node) for option in options(callee)))

    def _super(self) -> Value:
        """`super()` in a method: the object, seen as its next base class."""
        function, owner = self._frame.function, self._frame.owner
        if owner is not None and isinstance(function, cst.FunctionDef) and function.params.params:
            receiver = self._store.get((self._frame, function.params.params[0].name.value))
            if isinstance(receiver, Instance | ModelObject):
                return Super(receiver, owner)
        return Opaque("super()")

    def _apply(self, callee: Value, arguments: _Arguments, node: cst.Call) -> Value:
        if isinstance(callee, Symbol):
            return self._call_symbol(callee.name, arguments, node)
        if isinstance(callee, FunctionValue):
            if callee.owner is None and is_copy(callee.node):
                return self._wrap(arguments, node, tuple(p.name.value for p in _positional(callee.node.params)))
            if _function_name(callee.node) == "multi_gpu_model" and callee.owner is None:
                self.facts.copies[node] = "multi_gpu_model"
            return self._call_function(callee, arguments, node)
        if isinstance(callee, ClassValue):
            return self._instantiate(callee, arguments, node)
        if isinstance(callee, Method):
            return self._call_method(callee, arguments, node)
        if isinstance(callee, Made) and callee.kind in ("layer", "tensor"):
            return self._layered(callee, arguments)
        if isinstance(callee, ModelObject | Parallel):
            result = self._layered(callee, arguments)
            if isinstance(result, Made):
                return Made("tensor", result.name, result.sites, result.models | models_of(callee))
            return result
        values = tuple(value for _, value in arguments)
        if isinstance(callee, Opaque) and any(_is_keras(value) for value in values):
            return self._layered(callee, arguments)
        return self._combined(values, node)

    def _layered(self, callee: Value, arguments: _Arguments) -> Made:
        """What a layer or a model returns: a tensor. An unknown value passed to it is a tensor too, made elsewhere."""
        values = (callee, *(value for _, value in arguments))
        sites: Sites = frozenset().union(*(opaque_sites(value) for value in values))
        models = frozenset().union(*(models_of(value) for value in values))
        return Made("tensor", "", sites | {self._site}, models)

    def _combined(self, values: Sequence[Value], node: cst.CSTNode) -> Value:
        """The result of an operation not followed further: a tensor where Keras objects flow in, else unknown.

        Unknown values beside a Keras object are taken for settings (`head(features, num_classes)`).
        """
        if not any(_is_keras(value) for value in values):
            return Opaque("a call", frozenset((self._site,)), node)
        sites: Sites = frozenset().union(*(sites_of(value) for value in values))
        models = frozenset().union(*(models_of(value) for value in values))
        return Made("tensor", "", sites | {self._site}, models)

    def _wrapped_by(self, cls: ClassValue) -> tuple[str, ...] | None:
        """The parameters of a Model subclass that only dresses up the parallel model ("ModelMGPU"), or None.

        Its __init__ wraps its first parameter for its second and takes over the result's __dict__.
        """
        initialiser = cls.members.get("__init__")
        if not isinstance(initialiser, FunctionValue) or not isinstance(initialiser.node, cst.FunctionDef):
            return None
        if not any(names.canonical(base) in names.MODEL_CLASSES for base in cls.outside_bases()):
            return None
        parameters = [param.name.value for param in _positional(initialiser.node.params)][1:]
        nodes = list(walk(initialiser.node.body))
        takes_over = any(isinstance(part, cst.Attribute) and part.attr.value == "__dict__" for part in nodes)
        for call in nodes:
            if takes_over and isinstance(call, cst.Call) and self._is_wrap_in(call.func, cls.closure):
                passed = [arg.value.value for arg in call.args if isinstance(arg.value, cst.Name)]
                if len(passed) >= 2 and passed[:2] == parameters[:2]:
                    return tuple(parameters)
        return None

    def _is_wrap_in(self, node: cst.BaseExpression, frame: Frame) -> bool:
        saved, self._frame = self._frame, frame
        try:
            value = self._evaluate(node)
        finally:
            self._frame = saved
        return isinstance(value, Symbol) and names.canonical(value.name) == names.MULTI_GPU_MODEL

    def _instantiate(self, cls: ClassValue, arguments: _Arguments, node: cst.Call) -> Value:
        parameters = self._wrapped_by(cls)
        if parameters is not None:
            self._entered.update(method.node for method in cls.methods())
            wrap = self._wrap(arguments, node, parameters)
            assert isinstance(wrap, Parallel)
            wrap.wrap.dress = cls
            return wrap
        instance = self._new_instance(cls)
        if isinstance(instance, ModelObject):
            instance.site, instance.node = self._site, node
            instance.sites |= {self._site}.union(*(sites_of(value) for _, value in arguments))
        elif isinstance(instance, Instance):
            instance.site = self._site
        bases = [names.canonical(name) for name in cls.outside_bases()]
        initialiser = cls.lookup("__init__")
        if isinstance(initialiser, FunctionValue):
            active = [frame.function for frame in self._frame.chain()]
            if initialiser.node not in active and len(active) <= _MAX_DEPTH and self._left > 0:
                self._enter(initialiser, ((None, instance), *arguments), self._site, node)
        if any(names.is_layer(base) for base in bases):
            return Made("layer", cls.node.name.value, frozenset((self._site,)))
        return instance

    def _call_symbol(self, name: str, arguments: _Arguments, node: cst.Call) -> Value:
        here = frozenset((self._site,))
        known = names.canonical(name)
        values = tuple(value for _, value in arguments)
        keras_sites: Sites = frozenset().union(*(sites_of(value) for value in values))
        models = frozenset().union(*(models_of(value) for value in values))
        if known == names.MULTI_GPU_MODEL or name in self._aliases:
            return self._wrap(arguments, node)
        listed = names.lists_devices(name)
        if listed is not None:
            return Visible("gpus" if Literal("GPU") in values else listed)
        if name.rsplit(".", 1)[-1] == "multi_gpu_model" and values:
            self.facts.copies[node] = name
        strategy = names.strategy_class(name)
        if strategy is not None:
            made = StrategyObject(strategy, self._site, node)
            self.program_facts.strategies.append(made)
            self._effects += 1
            return made
        if names.makes_dataset(name):
            return Dataset()
        part = names.estimator_name(name)
        if part is not None:
            return self._estimator_part(part, arguments, node)
        if name.endswith("experimental_set_strategy"):
            self.program_facts.scopes_elsewhere = True
        if known in names.MODEL_CLASSES:
            flowing = frozenset().union(*(opaque_sites(value) for value in values))
            return self._model(node, flowing, models, "constructed", name)
        if known in names.MODEL_LOADERS:
            return self._model(node, frozenset(), models, "loaded", name)
        if names.is_pretrained(known):
            return self._model(node, keras_sites, models, "a pretrained network", name)
        if known == "keras.layers.Input":
            return Made("tensor", known, here)
        if names.is_layer(known):
            return Made("layer", known, here | keras_sites, models, node)
        if names.is_optimizer(known):
            return Made("optimizer", known, here, frozenset(), node)
        if names.is_metric(known):
            return Made("metric", known, here)
        if known.startswith("keras.layers."):
            return self._layered(NOTHING, arguments)
        if any(_is_keras(value) for value in values):
            return self._combined(values, node)
        return Opaque(f"a call of {name}", here, node)

    def _estimator_part(self, part: str, arguments: _Arguments, node: cst.Call) -> Value:
        self._effects += 1
        if part == "train_and_evaluate":
            receiver = next((value for keyword, value in arguments if keyword in (None, "estimator")), NOTHING)
            self.program_facts.estimator_uses.append(Use(part, node, self._site, receiver, arguments))
            return Opaque("the result of train_and_evaluate()", frozenset((self._site,)), node)
        made = EstimatorPart(part, self._site, node, arguments)
        self.program_facts.estimators.append(made)
        return made

    def _model(
        self, node: cst.CSTNode, sites: Sites, on: frozenset[ModelObject], origin: str, maker: str = ""
    ) -> ModelObject:
        model = ModelObject(self._site, node, {self._site, *sites}, on, origin, maker)
        self.program_facts.models.append(model)
        return model

    def _wrap(self, arguments: _Arguments, node: cst.Call, parameters: Sequence[str] = WRAP_PARAMETERS) -> Value:
        """`parameters`: those of the function called; of a copy, the first is the model and the second the number."""
        nodes: dict[str, cst.BaseExpression] = {}
        values: dict[str, Value] = {}
        problem = None
        for position, (argument, (keyword, value)) in enumerate(zip(node.args, arguments, strict=True)):
            if argument.star:
                problem = "its arguments are passed as *args or **kwargs"
                continue
            place = parameters.index(keyword) if keyword in parameters else position if keyword is None else -1
            if not 0 <= place < len(parameters):
                problem = f"it has an argument {keyword or 'too many'!r} that multi_gpu_model never had"
                continue
            key = WRAP_PARAMETERS[place] if place < 2 else parameters[place]
            nodes[key], values[key] = argument.value, value
        relocation = values.get("cpu_relocation")
        wrap = Wrap(
            call=node,
            site=self._site,
            template=self._as_model(values.get("model", NOTHING), node),
            template_node=nodes.get("model"),
            gpus=nodes.get("gpus") if values.get("gpus") != NOTHING else None,
            gpus_value=values.get("gpus") if values.get("gpus") != NOTHING else None,
            guards=self._guards,
            cpu_relocation=isinstance(relocation, Literal) and bool(relocation.value),
            problem=problem,
        )
        self.facts.wraps.append(wrap)
        self.program_facts.wraps.append(wrap)
        return Parallel(wrap)

    def _as_model(self, value: Value, node: cst.Call) -> Value:
        """What is wrapped, which can only be a model: no None, and an object of a class whose base is not in sight."""
        found: list[Value] = []
        for option in options(value):
            if isinstance(option, Instance) and option.site is not None and any(option.cls.unknown_bases()):
                model = self._model(node, frozenset(), frozenset(), "an instance of a class of this program")
                model.site, model.sites, model.instance = option.site, {option.site}, option
                found.append(model)
            elif option != NOTHING:
                found.append(option)
        return join(*found) if found else value

    def _call_method(self, method: Method, arguments: _Arguments, node: cst.Call) -> Value:
        receiver = method.receiver
        if method.function is not None:
            owner = receiver.instance if isinstance(receiver, ModelObject) else receiver
            if isinstance(owner, Instance):
                self._mark(owner.cls, method.function)
            return self._call_function(method.function, ((None, receiver), *arguments), node)
        if isinstance(receiver, Items) and method.name in ("append", "extend", "insert") and arguments:
            if isinstance(node.func, cst.Attribute):
                added = arguments[-1][1]
                more = (added,) if method.name != "extend" else added.values if isinstance(added, Items) else ()
                self._assign(node.func.value, receiver.grown(more))
            return NOTHING
        if isinstance(receiver, Mapping) and method.name in ("values", "get", "items", "pop"):
            return Items(receiver.values, "list") if receiver.values else Opaque("a value of a dict")
        if isinstance(receiver, ModelObject | Parallel):
            return self._model_method(receiver, method.name, arguments, node)
        if isinstance(receiver, Dataset) and method.name not in _NO_DATASET:
            return Dataset((*receiver.batches, node)) if method.name in ("batch", "padded_batch") else receiver
        if isinstance(receiver, EstimatorPart):
            self._effects += 1
            self.program_facts.estimator_uses.append(Use(method.name, node, self._site, receiver, arguments))
        if isinstance(receiver, StrategyObject) and method.name == "scope":
            return ScopeOf(receiver)
        if isinstance(receiver, Made) and receiver.kind == "layer":
            return self._layered(receiver, arguments)
        return self._combined((receiver, *(value for _, value in arguments)), node)

    def _model_method(
        self, receiver: ModelObject | Parallel, name: str, arguments: _Arguments, node: cst.Call
    ) -> Value:
        if name == "add" and isinstance(receiver, ModelObject):
            receiver.sites |= {self._site}.union(*(opaque_sites(value) for _, value in arguments))
            receiver.on |= frozenset().union(*(models_of(value) for _, value in arguments))
            return NOTHING
        if name == "get_layer":
            if isinstance(receiver, Parallel) and _names_template(arguments) and isinstance(node.func, cst.Attribute):
                self.facts.unwraps[node] = node.func.value
                return receiver.wrap.template
            return Made("layer", "", sites_of(receiver), models_of(receiver))
        if name == "predict":
            return Opaque("predictions", frozenset((self._site,)), node)
        return Opaque(f"the result of {name}()", frozenset((self._site,)), node)

    # ---- expressions ----

    def _evaluate(self, node: cst.BaseExpression) -> Value:
        value = self._expression(node)
        for option in options(value):
            if isinstance(option, Symbol) and isinstance(node, cst.Name | cst.Attribute):
                self.facts.symbols[node] = option.name
        if isinstance(node, cst.Name | cst.Attribute | cst.Call | cst.Subscript):
            known = self.facts.values.get(node)
            self.facts.values[node] = value if known is None else join(known, value)
        return value

    def _expression(self, node: cst.BaseExpression) -> Value:
        if isinstance(node, cst.Name):
            return self._name(node)
        if isinstance(node, cst.Attribute):
            return join(*(self._attribute(option, node.attr.value) for option in options(self._evaluate(node.value))))
        if isinstance(node, cst.Call):
            return self._call(node)
        if isinstance(node, cst.Integer | cst.Float | cst.SimpleString):
            return Literal(node.evaluated_value)  # type: ignore[arg-type]
        if isinstance(node, cst.UnaryOperation):
            value = self._evaluate(node.expression)
            if isinstance(value, Literal) and isinstance(value.value, int) and isinstance(node.operator, cst.Minus):
                return Literal(-value.value)
            return value if _is_keras(value) else Opaque("an expression")
        if isinstance(node, cst.Tuple | cst.List | cst.Set):
            values = tuple(
                self._element(self._evaluate(element.value))
                if isinstance(element, cst.StarredElement)
                else self._evaluate(element.value)
                for element in node.elements
            )
            return Items(values, "tuple" if isinstance(node, cst.Tuple) else "list")
        if isinstance(node, cst.Dict):
            return self._dict(node)
        if isinstance(node, cst.IfExp):
            return self._conditional(node)
        if isinstance(node, cst.BooleanOperation):
            return self._boolean(node)
        if isinstance(node, cst.BinaryOperation):
            left, right = self._evaluate(node.left), self._evaluate(node.right)
            if isinstance(left, Items) and isinstance(right, Items):
                return Items((*left.values, *right.values), left.kind)
            return self._combined((left, right), node)
        if isinstance(node, cst.Comparison):
            number = self._evaluate(node.left)
            limits = [self._evaluate(comparison.comparator) for comparison in node.comparisons]
            return _several(node, limits[0]) if number == Visible("count") else Opaque("a comparison")
        if isinstance(node, cst.Subscript):
            return self._subscript(node)
        if isinstance(node, cst.Lambda):
            function = FunctionValue(node, self._frame)
            if node not in self._entered:
                self._enter(function, self._unknown_arguments(function), self._site, None)
            return function
        if isinstance(node, cst.ListComp | cst.SetComp | cst.GeneratorExp):
            listed = self._comprehension(node.for_in)
            element = self._evaluate(node.elt)
            return (
                Visible("gpus") if listed == Visible("devices") and _asks_for_gpus(node) else Items((element,), "list")
            )
        if isinstance(node, cst.DictComp):
            self._comprehension(node.for_in)
            self._evaluate(node.key)
            return Mapping((None,), (self._evaluate(node.value),))
        if isinstance(node, cst.NamedExpr):
            value = self._evaluate(node.value)
            self._assign(node.target, value)
            return value
        if isinstance(node, cst.Await):
            return self._evaluate(node.expression)
        if isinstance(node, cst.Yield):
            if isinstance(node.value, cst.From):
                self._evaluate(node.value.item)
            elif node.value is not None:
                self._evaluate(node.value)
            return Opaque("a yield")
        if isinstance(node, cst.FormattedString):
            for part in node.parts:
                if isinstance(part, cst.FormattedStringExpression):
                    self._evaluate(part.expression)
        return Opaque("an expression")

    def _name(self, node: cst.Name) -> Value:
        if node.value in ("True", "False", "None"):
            return Literal({"True": True, "False": False, "None": None}[node.value])
        value = self._lookup(node.value)
        stars = self._stars.get(self._frame.module, ()) if value is None else ()
        for source in reversed(stars):
            known = brought(source, node.value)
            if known is not None:
                return Symbol(known)
        if stars and node.value == "multi_gpu_model":
            # Nothing else in the module binds it, so one of the star imports must.
            return Symbol(names.MULTI_GPU_MODEL)
        return value if value is not None else unbound(node.value)

    def _attribute(self, value: Value, name: str) -> Value:
        if isinstance(value, Symbol):
            return Symbol(f"{value.name}.{name}")
        if isinstance(value, ModuleValue):
            return self._member(value.module, name)
        if isinstance(value, Instance):
            return self._instance_attribute(value, value.cls, name)
        if isinstance(value, ModelObject | Parallel):
            return self._model_attribute(value, name)
        if isinstance(value, ClassValue):
            return value.lookup(name) or Opaque(f"the attribute {name}")
        if isinstance(value, Super):
            for base in value.owner.bases:
                found = base.lookup(name) if isinstance(base, ClassValue) else None
                if isinstance(found, FunctionValue):
                    return Method(value.receiver, name, found)
            return Method(value.receiver, name)
        if isinstance(value, Made):
            return Method(value, name) if value.kind != "tensor" else value
        if isinstance(value, Opaque | Parameter):
            return Opaque(f"the {name} of data") if name in _PLAIN else Method(value, name)
        if isinstance(value, Items | Mapping | Literal | Dataset | StrategyObject | EstimatorPart | ScopeOf):
            return Method(value, name)
        return Opaque(f"the attribute {name}")

    def _member(self, module: Module, name: str) -> Value:
        found = self._store.get((self._tops[module], name))
        if found is not None:
            self.program_facts.exported.add((module, name))
            return found
        if module.path.endswith("__init__.py"):
            inner = self._program.imported(name, 1, module)
            if inner is not None:
                self._load(inner)
                return ModuleValue(inner)
        return Opaque(f"the name {name} of another module")

    def _instance_attribute(self, owner: Instance | ModelObject, cls: ClassValue, name: str) -> Value:
        found = self._store.get((owner, name)) or cls.lookup(name)
        if isinstance(found, FunctionValue) and found.owner is not None:
            if any(dotted(item.decorator) == "property" for item in _decorators(found.node)):
                return self._call_function(found, ((None, owner),), None)
            if any(dotted(item.decorator) == "staticmethod" for item in _decorators(found.node)):
                return found
            return Method(owner, name, found)
        return found if found is not None else Opaque(f"the attribute {name}")

    def _model_attribute(self, value: ModelObject | Parallel, name: str) -> Value:
        if isinstance(value, ModelObject):
            stored = self._store.get((value, name))
            if stored is not None:
                return stored
            if value.instance is not None and value.instance.cls.lookup(name) is not None:
                return self._instance_attribute(value, value.instance.cls, name)
        if name in ("output", "outputs", "input", "inputs"):
            return Made("tensor", name, sites_of(value), models_of(value))
        if name == "layers":
            return Made("layers", name, sites_of(value), models_of(value))
        return Method(value, name)

    def _subscript(self, node: cst.Subscript) -> Value:
        value = self._evaluate(node.value)
        unwrapped = self._unwrapped(node)
        if unwrapped is not None:
            return unwrapped
        indices = [self._evaluate_slice(item.slice) for item in node.slice]
        index = indices[0] if len(indices) == 1 else None
        found = []
        for option in _filled(value):
            position = index.value if isinstance(index, Literal) and isinstance(index.value, int) else None
            if (
                isinstance(option, Items)
                and position is not None
                and -len(option.values) <= position < len(option.values)
            ):
                found.append(option.values[position])
            elif isinstance(option, Items) and option.values:
                found.append(join(*option.values))
            elif isinstance(option, Mapping) and option.values:
                key = index.value if isinstance(index, Literal) else None
                exact = [v for k, v in zip(option.keys, option.values, strict=True) if k is not None and k == key]
                found.append(exact[-1] if exact else join(*option.values))
            elif isinstance(option, Made) and option.kind == "layers":
                found.append(Made("layer", "", option.sites, option.models))
            elif isinstance(option, Made | Opaque | Method):
                found.append(option)
            else:
                found.append(Opaque("an element"))
        return join(*found)

    def _unwrapped(self, node: cst.Subscript) -> Value | None:
        """`parallel.layers[-2]` is the template: the layer before the one that joins the outputs."""
        layers = node.value
        index = node.slice[0].slice if len(node.slice) == 1 else None
        if not isinstance(layers, cst.Attribute) or layers.attr.value != "layers" or not isinstance(index, cst.Index):
            return None
        receiver = self.facts.values.get(layers.value)
        if not isinstance(receiver, Parallel) or self._evaluate(index.value) != Literal(-2):
            return None
        self.facts.unwraps[node] = layers.value
        return receiver.wrap.template

    def _evaluate_slice(self, item: cst.BaseSlice) -> Value | None:
        if isinstance(item, cst.Index):
            return self._evaluate(item.value)
        if isinstance(item, cst.Slice):
            for part in (item.lower, item.upper, item.step):
                if part is not None:
                    self._evaluate(part)
        return None

    def _dict(self, node: cst.Dict) -> Value:
        keys: list[str | None] = []
        values: list[Value] = []
        for element in node.elements:
            values.append(self._evaluate(element.value))
            key = self._evaluate(element.key) if isinstance(element, cst.DictElement) else None
            keys.append(key.value if isinstance(key, Literal) and isinstance(key.value, str) else None)
        return Mapping(tuple(keys), tuple(values))

    def _conditional(self, node: cst.IfExp) -> Value:
        test = self._evaluate(node.test)
        outer = self._guards
        found = []
        for arm, part in (("body", node.body), ("orelse", node.orelse)):
            self._guards = (*outer, Guard(node, arm, self._site, test))
            found.append(self._evaluate(part))
        self._guards = outer
        return join(*found)

    def _boolean(self, node: cst.BooleanOperation) -> Value:
        left, right = self._evaluate(node.left), self._evaluate(node.right)
        if isinstance(node.operator, cst.Or):
            remaining = [option for option in options(left) if option != NOTHING]
            if len(remaining) == 1 and isinstance(remaining[0], ModelObject | Parallel) and left == remaining[0]:
                return left
            return join(*remaining, right)
        return join(left, right)

    def _comprehension(self, clause: cst.CompFor) -> Value:
        """Binds the targets; the value that the outermost loop runs over."""
        iterable = self._evaluate(clause.iter)
        self._assign(clause.target, self._element(iterable))
        for condition in clause.ifs:
            self._evaluate(condition.test)
        if clause.inner_for_in is not None:
            self._comprehension(clause.inner_for_in)
        return iterable


def _filled(value: Value) -> Iterable[Value]:
    """The alternatives of what elements are taken from: a list that is empty on some paths has none there."""
    found = options(value)
    return [option for option in found if not isinstance(option, Items) or option.values] or found


def _asks_for_gpus(node: cst.BaseComp) -> bool:
    """Whether a comprehension over all devices keeps the GPUs."""
    return any(
        isinstance(part, cst.SimpleString) and "GPU" in str(part.evaluated_value).upper()
        for clause in node.for_in.ifs
        for part in walk(clause.test)
    )


def _several(node: cst.Comparison, limit: Value) -> Value:
    """What a comparison of the number of GPUs with a number asks: whether there are at least two, or at most one."""
    operator = node.comparisons[0].operator
    if len(node.comparisons) == 1:
        if (type(operator), limit) in ((cst.GreaterThan, Literal(1)), (cst.GreaterThanEqual, Literal(2))):
            return Visible("several")
        if (type(operator), limit) in ((cst.LessThanEqual, Literal(1)), (cst.LessThan, Literal(2))):
            return Visible("one")
    return Opaque("a comparison")


def _gives_up(block: cst.BaseSuite | None) -> bool:
    """Whether a block ends by raising: then nothing that comes later hangs on its condition."""
    last = units_of(block)[-1:] if block is not None else ()
    lines = [unit for unit in last if isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite)]
    return any(isinstance(small, cst.Raise) for line in lines for small in line.body)


def _parameters(params: cst.Parameters) -> list[cst.Param]:
    return [*_positional(params), *params.kwonly_params]


def _positional(params: cst.Parameters) -> list[cst.Param]:
    return [*params.posonly_params, *params.params]


def _decorators(node: cst.FunctionDef | cst.Lambda) -> Sequence[cst.Decorator]:
    return node.decorators if isinstance(node, cst.FunctionDef) else ()


def _function_name(node: cst.FunctionDef | cst.Lambda) -> str:
    return node.name.value if isinstance(node, cst.FunctionDef) else "<lambda>"


def _container(name: str, arguments: _Arguments) -> Value | None:
    """What `list()`, `list(items)`, `dict(a=x)` and the like are, where their elements are known."""
    values = tuple(value for _, value in arguments)
    if name == "dict":
        return Mapping(tuple(key for key, _ in arguments), values) if all(key for key, _ in arguments) else None
    if not values:
        return Items((), name)
    return Items(values[0].values, name) if isinstance(values[0], Items) else None


def _is_keras(value: Value) -> bool:
    return any(
        isinstance(option, Made | ModelObject | Parallel)
        or (isinstance(option, Items | Mapping) and any(_is_keras(item) for item in option.values))
        for option in options(value)
    )


def _names_template(arguments: _Arguments) -> bool:
    """`parallel.get_layer('model_1')`: the one layer with a name of the template's kind."""
    name = arguments[0][1] if arguments else None
    return (
        isinstance(name, Literal)
        and isinstance(name.value, str)
        and name.value.rsplit("_", 1)[0] in ("model", "sequential")
        and name.value.rsplit("_", 1)[-1].isdigit()
    )


def _mentioned_names(modules: Sequence[Module]) -> set[str]:
    """Every name that is mentioned other than by the `def` that makes it."""
    nodes = [node for module in modules for node in module.nodes]
    defined = {node.name for node in nodes if isinstance(node, cst.FunctionDef)}
    return {node.value for node in nodes if isinstance(node, cst.Name) and node not in defined}


def interpret(program: Program, aliases: Sequence[str] = ()) -> ProgramFacts:
    """The facts of a program."""
    return Interpreter(program, aliases).run()
