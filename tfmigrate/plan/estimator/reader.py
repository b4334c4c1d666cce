"""What the readers of a model function share: what its names stand for, and the plan that grows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import is_false, is_true
from tfmigrate.plan.edits import Edit, Remove
from tfmigrate.plan.estimator.things import MODES, Plain, Spec, Tensor, Thing, Training
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.module import Module
from tfmigrate.written import Code, Written


class Unconvertible(Exception):
    """Why an Estimator stays as it is: a code, the place, and words for the user."""

    def __init__(self, code: str, module: Module, node: cst.CSTNode, message: str) -> None:
        super().__init__(message)
        self.code, self.module, self.node, self.message = code, module, node, message


def input_refused(module: Module, node: cst.CSTNode, message: str) -> Unconvertible:
    return Unconvertible(codes.ESTIMATOR_INPUT, module, node, message)


SQUARES = frozenset({"square", "math.square", "squared_difference", "math.squared_difference"})


@dataclass(frozen=True)
class Predicting:
    """How predictions are computed of the model's output."""

    output: str
    """The name of the output."""
    lines: tuple[Written, ...]
    """Lines that bind what they are computed from."""
    whole: Written
    """The predictions."""
    by_name: bool
    """Whether they are a dict."""
    names: frozenset[str]
    """All names in this."""


@dataclass
class Outcome:
    """What is known of the model that an Estimator becomes."""

    module: Module
    """Where it is made."""
    metrics: tuple[str, ...] = field(default=(), kw_only=True)
    """The names of its metrics."""
    chosen: tuple[str, ...] = field(default=(), kw_only=True)
    """The features that it reads, where a dataset may give others beside them."""

    @property
    def outermost(self) -> cst.CSTNode:
        """What stands at the top of that module: what is defined before that is seen by all."""
        return self.module.tree.body[0]


@dataclass
class Build(Outcome):
    """The plan for one model function."""

    function: cst.FunctionDef
    edits: list[tuple[Module, Edit]] = field(default_factory=list)
    parameters: tuple[str, ...] = ()
    """Those that it keeps: features, and perhaps params."""
    readings: Code | None = None
    """The generator of predictions, None where nothing is predicted."""
    predicted_from: frozenset[str] = frozenset()
    """The names that it reads, beside those that it binds itself."""
    predicting: Predicting | None = None
    """The same, by its parts."""
    penalised: bool = False
    """Whether a penalty of the weights is added to the loss."""
    names_exports: bool = False
    """Whether a spec has export_outputs."""
    keys: frozenset[str] = frozenset()
    """The features that it reads by name; none where it reads them whole."""
    notes: list[tuple[cst.CSTNode, str]] = field(default_factory=list)
    divisors: list[tuple[Module, cst.BaseExpression]] = field(default_factory=list)
    """By what sums of losses are divided, which must be the batch of one replica."""
    functions: set[cst.FunctionDef] = field(default_factory=set)
    """Every function that was read."""
    computing: set[cst.FunctionDef] = field(default_factory=set)
    """Those of them that computed losses and metrics alone, and go."""

    @property
    def outermost(self) -> cst.CSTNode:
        """The function, or what it stands in at the top of the module: what is defined before that is seen by all."""
        return [self.function, *self.module.ancestors(self.function)][-1]


@dataclass(frozen=True)
class Weighted:
    """A layer with variables."""

    kind: str
    """What TensorFlow 1 calls such a layer by itself."""
    own: cst.BaseExpression | None
    """The name that it is given."""
    scopes: tuple[cst.BaseExpression, ...]
    keras: Written | None
    """The name that it has in Keras; None where that is Keras's own."""
    words: tuple[tuple[str, str], ...]
    """What its variables are called in TensorFlow 1 and in Keras."""


class Reader(ABC):
    """One reading. What a kind of call means stands in a module of its own, as functions that are given the reader."""

    def __init__(self, facts: ProgramFacts, plan: Build, tf: str, quote: str) -> None:
        self.program = facts
        self.plan = plan
        self.tf = tf
        self.quote = quote
        self.module = plan.module
        self.names: dict[str, Thing] = {}
        self.modes = MODES
        """Those in which the statement runs that is being read."""
        self.specs: dict[str, Spec] = {}
        self.removed: list[cst.BaseSmallStatement] = []
        self.outputs: list[Tensor] = []
        """What losses, metrics and predictions are computed from."""
        self.updates_are_run = False
        """Whether the moving averages of batch normalizations are updated."""
        self.normalised: cst.Call | None = None
        """A batch normalization."""
        self.layer_names: dict[str, cst.CSTNode] = {}
        """The names that layers have, each with the first layer of that name."""
        self.scope_names: list[str] = []
        """The names of the variable scopes round the statement that is read, where they are written out."""
        self.scopes: list[cst.BaseExpression] = []
        """The names of the variable scopes round the statement that is read, as they are written."""
        self.dropouts: set[cst.Call] = set()
        """The calls that drop something in training, and nothing elsewhere."""
        self.ranks: dict[cst.BaseExpression, int | None] = {}
        """How many dimensions tensors have, where that is known."""
        self.weighted: list[Weighted] = []
        """The layers with variables that the model has in training, in the order in which they are made."""
        self.penalised: list[int] = []
        """How many of them there were where a penalty of the weights was computed."""
        self.repeats = 0
        """In how many loops, and functions that are called more than once, that statement stands."""

    @property
    @abstractmethod
    def within(self) -> cst.FunctionDef:
        """The function that is read: that of the model, or one that it calls."""

    @abstractmethod
    def read(self, node: cst.BaseExpression) -> Thing:
        """What an expression stands for. Raises Unconvertible."""

    def needs_plain(self, node: cst.BaseExpression) -> None:
        if not isinstance(self.read(node), Plain):
            raise self.refuse(codes.NO_KERAS_LAYER, node, "this depends on the data or the mode")

    def symbol(self, node: cst.BaseExpression, module: Module | None = None) -> str | None:
        """The name of something of TensorFlow, without `tensorflow.`; None for anything else.

        `module`: where it stands, if that is not the module that is read.
        """
        name = self.program.modules[module or self.module].symbols.get(node)
        if name is None:
            return None
        name = names.plain(name)
        return name[len("tensorflow.") :] if name.startswith("tensorflow.") else None

    def symbol_of_call(self, node: cst.BaseExpression) -> str | None:
        """The name of the function of TensorFlow that an expression calls."""
        return self.symbol(node.func) if isinstance(node, cst.Call) else None

    def edit(self, edit: Edit) -> None:
        self.plan.edits.append((self.module, edit))

    def remove(self, small: cst.BaseSmallStatement) -> None:
        self.removed.append(small)
        self.edit(Remove(small))

    def refuse(self, code: str, node: cst.CSTNode, message: str) -> Unconvertible:
        return Unconvertible(code, self.module, node, message)


def training_modes(reader: Reader, node: cst.BaseExpression) -> frozenset[str] | None:
    """The modes in which what is passed as `training=` is true; None where that is not known."""
    if is_true(node) or is_false(node):
        return MODES if is_true(node) else frozenset()
    thing = reader.read(node)
    return thing.modes if isinstance(thing, Training) else None
