"""What an expression of a model function can stand for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst

from tfmigrate.understand.values import ClassValue
from tfmigrate.written import Written

TRAIN, EVAL, PREDICT = "TRAIN", "EVAL", "PREDICT"
MODES = frozenset({TRAIN, EVAL, PREDICT})
MODE_NAMES = {TRAIN: TRAIN, EVAL: EVAL, PREDICT: PREDICT, "INFER": PREDICT}
MODE_VALUES = {TRAIN: "train", EVAL: "eval", PREDICT: "infer"}
"""What ModeKeys of tf.estimator are."""


@dataclass(frozen=True)
class Plain:
    """Python's own: numbers, texts, modules, lists of such."""


@dataclass(frozen=True)
class Features:
    """All the features."""


@dataclass(frozen=True)
class IsDict:
    """A test whether the features are a dict."""


@dataclass(frozen=True)
class Labels:
    form: str = ""
    """"onehot", or another operation that was done to them."""
    flat: bool = field(default=False, compare=False)
    """Whether they are one row of all that a batch holds."""


@dataclass(frozen=True)
class Mode:
    """The mode that model_fn is called in."""


@dataclass(frozen=True)
class Params:
    """The dict of parameters."""


@dataclass(frozen=True)
class Config:
    """The RunConfig."""


@dataclass(frozen=True)
class Training:
    """A test of the mode."""

    modes: frozenset[str]
    """Those in which it holds."""


@dataclass(frozen=True)
class Layer:
    """A layer that is made to be called further down."""

    made: cst.Call
    kind: str
    """Its class in Keras."""


@dataclass(eq=False)
class Object:
    """An object of a class of the program that is no layer of Keras: it builds a part of the model in its methods."""

    cls: ClassValue
    attributes: dict[str, Thing] = field(default_factory=dict)
    """Those that are something other than plain."""


@dataclass(frozen=True)
class Initializer:
    """An initializer that Keras has under another name; it is written where a layer takes it."""

    made: cst.Call


@dataclass(frozen=True)
class Tensor:
    """What a layer returns, or one of the features."""

    node: cst.BaseExpression
    raw: bool = False
    """Whether it is a feature that no layer had yet."""


@dataclass(frozen=True)
class Tensors:
    """A list of tensors."""


@dataclass(frozen=True)
class Reading:
    """What is computed of the model's output, and is no part of the model."""

    node: cst.BaseExpression
    of: Tensor
    form: str = ""
    """"argmax", "squeezed" or another operation's name."""
    flat: bool = field(default=False, compare=False)
    """Whether it is one row of all that a batch holds, where the output had more than two dimensions."""


@dataclass(frozen=True)
class Each:
    """The losses of single samples."""

    node: cst.Call


@dataclass(frozen=True)
class Variables:
    """The trainable variables of the graph."""


@dataclass(frozen=True)
class Penalty:
    """The halves of the squares of trainable variables, summed up: what tf.nn.l2_loss of each of them gives."""

    factor: Written
    """What the sum is multiplied by; empty for 1."""
    names: Written
    """Which variables, as a condition on NAME; empty for all of them."""
    texts: tuple[str, ...] = ()
    """What is looked for in their names."""


NAME = "path"
"""What the name of a variable is called in the condition of a penalty."""


@dataclass(frozen=True)
class Loss:
    code: Written
    """The loss of Keras."""
    penalty: Penalty | None = None
    """What is added to it for the weights."""


@dataclass(frozen=True)
class OfSamples:
    """The losses of single samples by a loss of Keras, whose mean is this one; or their sum."""

    mean: Loss
    summed: bool = False


@dataclass(frozen=True)
class Rate:
    """A schedule of the learning rate."""

    keras: Written
    """Its class in Keras."""
    settings: tuple[tuple[str, Written], ...]
    """The keywords of that class, each with its code."""


@dataclass(frozen=True)
class Optimizer:
    keras: Written
    settings: tuple[tuple[str, Written | Rate], ...]


@dataclass(frozen=True)
class TrainOp:
    """A step of the training. Of a list of them its loss is not known."""

    optimizer: Optimizer | None
    loss: Loss | None = None


@dataclass(frozen=True)
class Gradients:
    """What compute_gradients() of an optimizer returns."""

    optimizer: Optimizer
    loss: Loss


@dataclass(frozen=True)
class Logs:
    """A hook that only logs, or a list of such."""


@dataclass(frozen=True)
class Step:
    """The global step."""


@dataclass(frozen=True)
class Updates:
    """The collection of operations that update moving averages."""


@dataclass(frozen=True)
class Metric:
    keras: Written
    settings: str = ""
    """Its arguments beside its name."""


@dataclass(frozen=True)
class MetricPart:
    """The value of a metric (0), or the operation that updates it (1)."""

    metric: Metric
    place: int


@dataclass(frozen=True)
class Items:
    """A dict with some of these as its values."""

    entries: tuple[tuple[str, Thing], ...]

    def entry(self, name: str) -> Thing | None:
        return next((thing for key, thing in self.entries if key == name), None)


@dataclass(frozen=True)
class Spec:
    """An EstimatorSpec."""

    predictions: tuple[cst.BaseExpression, Thing] | None
    loss: Thing | None
    train_op: Thing | None
    metrics: Thing | None


@dataclass(frozen=True)
class Export:
    """What is exported of the model beside its output."""


@dataclass(frozen=True)
class Choice:
    """A plain value that is another one in some modes."""

    by_mode: tuple[tuple[str, cst.BaseExpression | None], ...]
    """None where it is not known."""

    def of(self, modes: frozenset[str]) -> dict[str, cst.BaseExpression | None]:
        return {mode: node for mode, node in self.by_mode if mode in modes}


@dataclass(frozen=True)
class Several:
    """A name that stands for something else in each mode."""

    by_mode: tuple[tuple[str, Thing], ...]


Thing = (
    Plain | Features | IsDict | Labels | Mode | Params | Config | Training | Layer | Initializer | Tensor | Tensors
    | Reading | Each | OfSamples | Loss | Rate | Optimizer | Gradients | Logs | TrainOp | Step | Updates | Metric
    | MetricPart | Items | Spec | Export | Several | Object | Variables | Penalty
    | Choice
)  # fmt: skip
PLAIN = Plain()
STAYS = (Plain, Features, Tensor, Tensors, Layer, Object)
"""Whose statements stay in the function that builds the Keras model."""


def within(thing: Thing, modes: frozenset[str]) -> Thing:
    """What a thing is in these modes."""
    if isinstance(thing, Choice):
        values = list(thing.of(modes).values())
        same = all(node is not None and values[0] is not None and node.deep_equals(values[0]) for node in values)
        return PLAIN if same or len(values) == 1 else thing
    if not isinstance(thing, Several):
        return thing
    things = list({id(kept_thing): kept_thing for mode, kept_thing in thing.by_mode if mode in modes}.values())
    return things[0] if len(things) == 1 else thing


def outputs_of(thing: Thing) -> Iterator[Tensor]:
    """The tensor that a value is, or is computed from."""
    if isinstance(thing, Reading):
        yield thing.of
    elif isinstance(thing, Tensor):
        yield thing
