"""The facts: what the program does to each model, in the order it does it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import libcst as cst

from tfmigrate.understand import names
from tfmigrate.understand.blocks import only_statement
from tfmigrate.understand.contents import models_of
from tfmigrate.understand.module import Module
from tfmigrate.understand.syntax import sole_target
from tfmigrate.understand.values import (
    Arguments,
    ClassValue,
    Entered,
    EstimatorPart,
    Frame,
    Instance,
    Made,
    ModelObject,
    Opaque,
    Parallel,
    Site,
    Sites,
    StrategyObject,
    Value,
    Visible,
    options,
)
from tfmigrate.written import Written

TRAINING = frozenset({"fit", "fit_generator", "train_on_batch"})
INFERENCE = frozenset(
    {
        "evaluate",
        "predict",
        "evaluate_generator",
        "predict_generator",
        "predict_on_batch",
        "test_on_batch",
        "predict_classes",
        "predict_proba",
    }
)
SAVING = frozenset({"save", "save_weights", "to_json", "to_yaml"})
LOADING = frozenset({"load_weights", "set_weights"})
MODEL_METHODS = TRAINING | INFERENCE | SAVING | LOADING | {"compile"}
"""Methods that are noted whatever they are called on, because it may be a model."""


@dataclass(frozen=True)
class Guard:
    """A condition the wrap stands under. `arm` is "body", "orelse" (also: after an arm that returned) or "handler"."""

    node: cst.If | cst.IfExp | cst.Try
    arm: str
    site: Site
    test: Value | None = None
    """What the condition was found to be; a `try` has none."""

    @property
    def frame(self) -> Frame:
        return self.site.frame

    @property
    def needs_several(self) -> bool | None:
        """Whether its arm is for machines with at least two GPUs, or for the others; None for any other question."""
        if self.test == Visible("several"):
            return self.arm == "body"
        return self.arm != "body" if self.test == Visible("one") else None


@dataclass(frozen=True)
class Together:
    """The tuple or list in which a copy of multi_gpu_model gives back the parallel model beside its template."""

    kind: str
    parallel: tuple[bool, ...]
    """For each of its elements whether it is the parallel model; the others are the template."""

    def written(self, template: cst.BaseExpression) -> Written:
        """With the template in each place."""
        opening, closing = "()" if self.kind == "tuple" else "[]"
        after = "," if opening == "(" and len(self.parallel) == 1 else ""
        elements = Written.joined([Written.at(template)] * len(self.parallel), ", ")
        return Written.of(opening, elements, after, closing)


@dataclass(eq=False)
class Wrap:
    """One evaluation of multi_gpu_model."""

    call: cst.Call
    site: Site
    template: Value
    template_node: cst.BaseExpression | None
    gpus: cst.BaseExpression | None
    gpus_value: Value | None
    """None when the argument is omitted: then every visible GPU is used (standalone Keras 2.1.6 to 2.3.1)."""
    guards: tuple[Guard, ...]
    cpu_relocation: bool = False
    wrapper_class: ClassValue | None = None
    """The Model subclass of the program that wraps when it is instantiated; `call` is that instantiation."""
    problem: str | None = None
    several_only: bool = False
    """Whether the function, a copy that the project keeps, gives the model back as it is for one GPU."""
    together: Together | None = None
    """None where the call is the parallel model itself."""

    def may_make(self, value: Value) -> bool:
        """Whether a value may be a parallel model that this call makes."""
        return any(isinstance(option, Parallel) and option.wrap.call is self.call for option in options(value))

    @cached_property
    def unfollowed(self) -> frozenset[Value]:
        """What is wrapped that unknown code makes, where that is all that a call gave back: the parts of such a result
        are not told from each other."""
        return frozenset(
            option
            for option in options(self.template)
            if isinstance(option, Opaque) and option.sites and all(_binds(site, option.node) for site in option.sites)
        )


def _binds(site: Site, call: cst.CSTNode | None) -> bool:
    """Whether a place is the assignment `name = call()`."""
    target = sole_target(statement) if (statement := only_statement(site.unit)) is not None else None
    return isinstance(target, cst.Name | cst.Attribute) and getattr(statement, "value", None) is call


@dataclass(frozen=True, eq=False)
class Use:
    """A method called on something that may be a model: compile, fit, save, load_weights, add, ..."""

    method: str
    call: cst.Call
    site: Site
    receiver: Value
    arguments: Arguments
    wraps: Sequence[Wrap]
    """All of the program, also those that come later."""
    trainable: tuple[tuple[ModelObject, Value], ...] = ()
    """Of a compile(): what `trainable` was set to by then, of the model and of those it is built on."""

    @cached_property
    def models(self) -> frozenset[ModelObject]:
        return models_of(self.receiver)

    @cached_property
    def parallel(self) -> frozenset[Wrap]:
        """The wraps whose parallel models it may be called on."""
        return frozenset(option.wrap for option in options(self.receiver) if isinstance(option, Parallel))

    @property
    def is_of_model(self) -> bool:
        """Whether it is surely called on a model: a parallel one is, and what it wraps, wherever that was built."""
        return bool(self.models or self.parallel) or any(self.may_be_unfollowed(wrap) for wrap in self.wraps)

    def may_be_unfollowed(self, wrap: Wrap) -> bool:
        """Whether it may be called on what a wrap is given and unknown code makes."""
        return bool(wrap.unfollowed) and not wrap.unfollowed.isdisjoint(options(self.receiver))

    @property
    def is_of_keras(self) -> bool:
        """Whether the method is that of Keras's models, and none that a class of the program defines."""
        own = (model.instance.cls for model in self.models if model.instance is not None)
        return self.is_of_model and all(cls.lookup(self.method) is None for cls in own)

    @property
    def line(self) -> int:
        """Of the call, in the file it stands in; counted from 1."""
        return self.site.frame.module.position(self.call)[0]

    def place(self, here: Module) -> str:
        """Where the call stands, in words for a message of module `here`."""
        return self.site.frame.module.place(self.call, here)

    @cached_property
    def parts(self) -> Sites:
        """Where the optimizer and the metric objects passed to compile() were made."""
        sites = set(self.optimizer_parts)
        for _, value in self.arguments:
            sites.update(_made(value, ("optimizer", "metric")))
        return frozenset(sites)

    @cached_property
    def optimizer_parts(self) -> Sites:
        """Where the optimizer passed to compile() was made."""
        sites: set[Site] = set()
        optimizer = self.argument(0, "optimizer")
        for option in options(optimizer) if optimizer is not None else ():
            sites.update(_made(option, ("optimizer",)))
            if isinstance(option, Opaque):
                sites.update(option.sites)
            if isinstance(option, Instance) and option.site is not None:
                sites.add(option.site)  # an optimizer class of the program's own
        return frozenset(sites)

    @property
    def optimizers(self) -> Iterator[tuple[Site, cst.CSTNode | None]]:
        """Where, and by which call, the optimizer objects that compile() is given were made."""
        argument = self.argument(0, "optimizer")
        for option in options(argument) if argument is not None else ():
            if isinstance(option, Made) and option.kind == "optimizer":
                yield from ((site, option.config) for site in option.sites)

    def argument(self, position: int, name: str) -> Value | None:
        """The value passed as `name`, by keyword or position."""
        for keyword, value in self.arguments:
            if keyword == name:
                return value
        positional = [value for keyword, value in self.arguments if keyword is None]
        return positional[position] if position < len(positional) else None


def _made(value: Value, kinds: tuple[str, ...]) -> Sites:
    sites: set[Site] = set()
    for option in options(value):
        if isinstance(option, Made) and option.kind in kinds:
            sites.update(option.sites)
        for item in getattr(option, "values", ()):
            sites.update(_made(item, kinds))
    return frozenset(sites)


@dataclass(frozen=True, eq=False)
class Toggle:
    """An assignment to `x.trainable`, also by setattr()."""

    node: cst.BaseExpression
    """`x.trainable`, or the call of setattr()."""
    receiver: Value
    """What x stood for."""
    assigned: Value
    site: Site


@dataclass(frozen=True)
class DeviceChoice:
    """Where a program says which GPUs it uses, or how: TensorFlow takes it only before they are started."""

    node: cst.BaseExpression
    """The call, or the item of `os.environ` that is assigned to."""
    site: Site


@dataclass
class ProgramFacts:
    """What the interpreter found out about modules that belong together."""

    modules: dict[Module, Facts] = field(default_factory=dict)
    wraps: list[Wrap] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    models: list[ModelObject] = field(default_factory=list)
    strategies: list[StrategyObject] = field(default_factory=list)
    """Every strategy that the program makes, in the order it makes them."""
    estimators: list[EstimatorPart] = field(default_factory=list)
    """Every object of tf.estimator that the program makes."""
    estimator_uses: list[Use] = field(default_factory=list)
    """Methods called on them, and train_and_evaluate(), whose receiver is the Estimator."""
    entered: dict[Site, tuple[Entered, ...]] = field(default_factory=dict)
    """The scopes round a place, callers' included, outermost first; absent where there is none."""
    scopes_elsewhere: bool = False
    """Whether a scope is entered otherwise than by `with`, so that what is not in `entered` may be in one."""
    device_choices: list[DeviceChoice] = field(default_factory=list)
    """In the order in which the program makes them."""
    imports: set[tuple[Module, Module]] = field(default_factory=set)
    """Which module imports which."""
    import_sites: dict[tuple[Module, Module], Site] = field(default_factory=dict)
    """Where the first does so to the second."""
    exported: set[tuple[Module, str]] = field(default_factory=set)
    """Names of a module that another one imports."""

    def module_of(self, node: cst.CSTNode) -> Module:
        """The module that an expression with a known value stands in."""
        return next(module for module, facts in self.modules.items() if node in facts.values)


@dataclass
class Facts:
    """What the interpreter found out about one module."""

    module: Module
    wraps: list[Wrap] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    models: list[ModelObject] = field(default_factory=list)
    symbols: dict[cst.CSTNode, str] = field(default_factory=dict)
    """Every expression that names something of a library, with the qualified name as it was imported."""
    stars: list[str] = field(default_factory=list)
    """The modules outside the program that the module star-imports, itself or through others of it, in order."""
    handed_on: dict[cst.ImportAlias, str] = field(default_factory=dict)
    """Names of a library that an import takes from a module of the program, which has them by a star import."""
    values: dict[cst.CSTNode, Value] = field(default_factory=dict)
    """What each call's receiver, argument and assigned expression stood for (joined over activations)."""
    toggles: list[Toggle] = field(default_factory=list)
    """Each as often as it was met."""
    unwraps: dict[cst.BaseExpression, cst.BaseExpression] = field(default_factory=dict)
    """Expressions that take the template out of a parallel model (`parallel.layers[-2]`), and the model's own."""
    unsure_unwraps: dict[cst.Subscript | cst.Call, tuple[Guard, ...]] = field(default_factory=dict)
    """The same of what may be a parallel model, and may be another; with its function's conditions for it."""
    classes: list[ClassValue] = field(default_factory=list)
    """The classes that the module defines, as often as it was seen to."""
    copies: dict[cst.Call, str] = field(default_factory=dict)
    """Calls of a function of that name which is not Keras's: a copy kept in the project, by its qualified name."""
    failing: dict[cst.Call, str] = field(default_factory=dict)
    """Calls of multi_gpu_model that are never made, as a `try` catches the NameError of that name in the model."""

    def canonical(self, node: cst.CSTNode) -> str:
        """What an expression names in a library, one name for each thing: see names.canonical(); "" for any other."""
        return names.canonical(self.symbols.get(node, ""))

    def called(self, node: cst.CSTNode | None) -> str:
        """What of a library a call calls, by its qualified name as it was imported; "" for any other call or node."""
        return self.symbols.get(node.func, "") if isinstance(node, cst.Call) else ""

    def options(self, node: cst.CSTNode) -> frozenset[Value]:
        """All that an expression can stand for; nothing where it was never evaluated."""
        value = self.values.get(node)
        return options(value) if value is not None else frozenset()
