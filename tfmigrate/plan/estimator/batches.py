"""The batches of an input function: how many rows they are made of, and what is done to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

import libcst as cst

from tfmigrate.plan.change.calls import is_false, is_none, is_true, named_arguments, text_of
from tfmigrate.plan.estimator.reader import input_refused
from tfmigrate.understand.blocks import only_statement, units_of
from tfmigrate.understand.module import Module
from tfmigrate.understand.parameters import positional
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import called_on, index_of, last_word, sole_name
from tfmigrate.understand.values import EstimatorPart, FunctionValue
from tfmigrate.walk import nodes_in, walk, words_in
from tfmigrate.written import Written

DISTRIBUTED = frozenset({"train", "eval"})
"""Roles of a dataset under the strategy; "alone" (evaluated on one device) and "predict" are the others."""
_NUMPY = ("x", "y", "batch_size", "num_epochs", "shuffle", "queue_capacity", "num_threads")
"""The parameters of numpy_input_fn."""
_ON_BATCHES = frozenset(
    {
        "repeat", "map", "shuffle", "filter", "unbatch", "flat_map", "interleave", "apply", "batch", "window", "skip",
        "take", "shard", "concatenate", "padded_batch", "enumerate", "zip", "scan", "reduce",
    }
)  # fmt: skip
_RESIZES = frozenset(
    {
        "repeat", "concatenate", "interleave", "flat_map", "filter", "shard", "take", "skip", "window", "unbatch",
        "zip", "shuffle_and_repeat",
    }
)  # fmt: skip
"""Methods of a dataset after which it has another number of rows."""
MOST_REPLICAS = 16
"""As many GPUs as one machine has at most."""
TENSORS = frozenset({"make_one_shot_iterator", "make_initializable_iterator", "get_next"})
BATCHING: Mapping[str, tuple[str, ...]] = {
    "batch": ("batch_size", "drop_remainder", "num_parallel_calls"),
    "padded_batch": ("batch_size", "padded_shapes", "padding_values", "drop_remainder"),
    # A function of tf.contrib.data and tf.data.experimental, whose result is passed to apply().
    "map_and_batch": ("map_func", "batch_size", "num_parallel_batches", "drop_remainder", "num_parallel_calls"),
}
"""What makes batches, and its parameters."""


@dataclass
class Batch:
    """One `.batch(...)` of an input function, and all that reads it."""

    module: Module
    place: cst.FunctionDef | cst.Lambda
    call: cst.Call
    size: cst.Arg
    repeated: cst.Call | None
    """`.batch(b).repeat(k)`: the repeat, which may stand in the next statement."""
    endless: bool = False
    """Whether it is fed by a `.repeat()` without end, so that there is no last round."""
    counted: bool = False
    """Whether its rows and its size are written out, so that it is known if they are fewer batches than replicas."""
    divides: bool = False
    """Whether the rows are known to be so many full batches."""
    in_place: bool = False
    """Whether its size is multiplied here, and not by the callers."""
    roles: set[str] = field(default_factory=set)
    limited: set[str] = field(default_factory=set)
    """The roles that read only so many batches."""

    @property
    def number(self) -> int | None:
        """Its size, where that is written out."""
        return self.size.value.evaluated_value if isinstance(self.size.value, cst.Integer) else None

    def is_filled_by(self, rows: int | None) -> bool:
        """Whether so many rows make full batches and no other; None: it is not known how many there are."""
        return self.number == 1 or bool(self.number and rows is not None and rows % self.number == 0)

    @property
    def may_end_short(self) -> bool:
        """Whether the last batch, or that of each epoch, may be one that is not full, with which replicas trained."""
        short = remainder_of(self.call) is None and not self.divides
        return short and (self.repeated is not None or self.drops)

    @property
    def drops(self) -> bool:
        """Whether a round in which not every replica gets a batch is left out of the dataset."""
        remainder = remainder_of(self.call)
        return not self.endless and self.roles <= DISTRIBUTED and (remainder is None or not is_false(remainder.value))


def repeated(function: FunctionValue, batch: cst.Call, calls: Sequence[cst.Call]) -> cst.Call | None:
    """What is done to the batches; a repeat() at once is returned. Raises Unconvertible for what counts them."""
    module = function.module
    repeat = None
    inside = set(walk(batch))
    carriers = _carriers(function.node, batch)
    for call in calls:
        if call in inside or not isinstance(call.func, cst.Attribute):
            continue
        name = call.func.attr.value
        around = batch in set(walk(call.func.value))
        carried = any(isinstance(part, cst.Name) and part.value in carriers for part in walk(call.func.value))
        later = around or (carried and module.position(call) > module.position(batch))
        if not later or name not in _ON_BATCHES:
            continue
        if not around and any(call in set(walk(arg)) for arg in batch.args):
            continue
        at_once = call.func.value is batch or _is_next(function.node, batch, call)
        if name == "repeat" and at_once and remainder_of(batch) is None:
            repeat = call
            continue
        if name == "map" and len(call.args) == 1 and _only_chooses(call.args[0].value):
            continue
        message = f"{name}() works on each replica's batches; put it before `.batch()` if the result is the same"
        raise input_refused(module, call, message)
    return repeat


def _is_next(function: cst.FunctionDef | cst.Lambda, batch: cst.Call, repeat: cst.Call) -> bool:
    """Whether `data = data.batch(b)` is followed by `data = data.repeat(k)` or `return data.repeat(k)`, with nothing
    between that does more to the data than prefetch it, or binds a name that `repeat` reads."""
    for block in nodes_in(function.body, cst.IndentedBlock):
        lines = [only_statement(unit) for unit in units_of(block)]
        values = [line.value if isinstance(line, cst.Assign | cst.Return) else None for line in lines]
        if batch not in values or repeat not in values:
            continue
        first, last = values.index(batch), values.index(repeat)
        name = sole_name(lines[first])
        mentioned = words_in(repeat)
        if name is None or (not isinstance(lines[last], cst.Return) and sole_name(lines[last]) != name):
            return False
        receiver = called_on(repeat)
        between = lines[first + 1 : last]
        return (
            first < last
            and isinstance(receiver, cst.Name)
            and receiver.value == name
            and all(_only_prefetches(line, name) or _is_apart(line, mentioned) for line in between)
        )
    return False


def _only_prefetches(line: cst.BaseSmallStatement | None, name: str) -> bool:
    value = line.value if isinstance(line, cst.Assign) and sole_name(line) == name else None
    func = value.func if isinstance(value, cst.Call) else None
    return (
        isinstance(func, cst.Attribute)
        and func.attr.value == "prefetch"
        and isinstance(func.value, cst.Name)
        and func.value.value == name
    )


def _is_apart(line: cst.BaseSmallStatement | None, names: Set[str]) -> bool:
    """Whether a simple statement uses none of these names."""
    return line is not None and names.isdisjoint(words_in(line))


def _only_chooses(function: cst.BaseExpression) -> bool:
    """Whether a lambda only puts the parts of a batch together anew: `lambda x: ({"a": x["a"]}, x["b"])`."""
    if not isinstance(function, cst.Lambda):
        return False
    names = {param.name.value for param in positional(function.params)}
    return _is_chosen(function.body, names)


def _is_chosen(node: cst.BaseExpression, names: Set[str]) -> bool:
    if isinstance(node, cst.Tuple | cst.List):
        return all(_is_chosen(element.value, names) for element in node.elements)
    if isinstance(node, cst.Dict):
        keyed = all(isinstance(part, cst.DictElement) and text_of(part.key) is not None for part in node.elements)
        return keyed and all(_is_chosen(part.value, names) for part in node.elements)
    if isinstance(node, cst.Subscript):
        return text_of(index_of(node)) is not None and _is_chosen(node.value, names)
    return isinstance(node, cst.Name) and node.value in names


def rows_of(scopes: Scopes, calls: Sequence[cst.Call]) -> int | None:
    """How many rows a dataset has whose arrays are written out as lists; None where that is not known."""
    slices = [call for call in calls if last_word(call.func) == "from_tensor_slices" and len(call.args) == 1]
    if len(slices) != 1 or any(last_word(call.func) in _RESIZES for call in calls):
        return None
    node = settled(slices[0].args[0].value, scopes)
    seen = {node}
    while isinstance(node, cst.Tuple) and node.elements:
        node = settled(node.elements[0].value, scopes)
        if node in seen:
            return None
        seen.add(node)
    return len(node.elements) if isinstance(node, cst.List) else None


def remainder_of(call: cst.Call) -> cst.Arg | None:
    """What a `.batch(...)` is given as its `drop_remainder`."""
    return (named_arguments(call, BATCHING[last_word(call.func)]) or {}).get("drop_remainder")


def makes_batches(call: cst.Call) -> bool:
    name = last_word(call.func)
    return name in BATCHING and (isinstance(call.func, cst.Attribute) or name == "map_and_batch")


def batch_arguments(call: cst.Call) -> dict[str, cst.Arg] | None:
    """The arguments of what makes batches, by their names; None where they cannot be read."""
    return named_arguments(call, BATCHING[last_word(call.func)])


def _carriers(function: cst.FunctionDef | cst.Lambda, batch: cst.Call) -> set[str]:
    """The variables of a function that may hold the batches, or what is made of them."""
    names: set[str] = set()
    assigns = [node for node in walk(function.body) if isinstance(node, cst.Assign | cst.AugAssign | cst.AnnAssign)]
    while True:
        before = len(names)
        for assign in assigns:
            value = assign.value
            parts = set(walk(value)) if value is not None else set()
            if batch in parts or any(isinstance(part, cst.Name) and part.value in names for part in parts):
                targets = (
                    [written.target for written in assign.targets]
                    if isinstance(assign, cst.Assign)
                    else [assign.target]
                )
                names |= words_in(*targets)
        if len(names) == before:
            return names


def is_endless(call: cst.Call) -> bool:
    """`.repeat()`, and `shuffle_and_repeat(buffer)` of tf.data.experimental."""
    name = last_word(call.func)
    parameters = {"repeat": ("count",), "shuffle_and_repeat": ("buffer_size", "count", "seed")}.get(name)
    if parameters is None or (name == "repeat" and not isinstance(call.func, cst.Attribute)):
        return False
    arguments = named_arguments(call, parameters)
    if arguments is None:
        return False
    count = arguments.get("count")
    return count is None or is_none(count.value) or count.value.deep_equals(cst.parse_expression("-1"))


def passed_as(arg: cst.Arg, value: Written) -> Written:
    """A value as the argument that it was of a call."""
    return Written.of(f"{arg.keyword.value}=" if arg.keyword else arg.star, value)


def product(size: cst.BaseExpression, count: Written) -> Written:
    """The batch of all replicas."""
    if isinstance(size, cst.Integer) and size.evaluated_value == 1:
        return count
    simple = isinstance(size, cst.Name | cst.Integer | cst.Call | cst.Attribute | cst.Subscript) or size.lpar
    return Written.of(size, " * ", count) if simple else Written.of("(", size, ") * ", count)


def of_numpy(part: EstimatorPart, role: str, tf: str) -> Written:
    """The dataset that gives what a numpy_input_fn does. Raises Unconvertible under a strategy.

    `tf`: the name of TensorFlow in its module.
    """
    module = part.site.frame.module
    arguments = named_arguments(part.node, _NUMPY)
    if arguments is None or "x" not in arguments or role in DISTRIBUTED:
        message = "numpy_input_fn returns tensors, which an Estimator under a strategy does not accept"
        raise input_refused(module, part.node, message)
    data = Written.at(arguments["x"].value)
    y = arguments.get("y")
    if y is not None and not is_none(y.value):
        data = Written.of("(", data, ", ", y.value, ")")
    links = [Written.of(f"{tf}.data.Dataset.from_tensor_slices(", data, ")")]
    shuffle = arguments.get("shuffle")
    if shuffle is not None and is_true(shuffle.value):
        capacity = arguments["queue_capacity"].value if "queue_capacity" in arguments else "1000"
        links.append(Written.of(".shuffle(", capacity, ")"))
    elif shuffle is not None and not is_false(shuffle.value):
        raise input_refused(module, shuffle.value, "`shuffle=` is neither True nor False")
    epochs = arguments.get("num_epochs")
    if epochs is not None and is_none(epochs.value):
        if role == "predict":
            message = "this dataset is infinite, so predict() would never end"
            raise input_refused(module, epochs.value, message)
        links.append(Written.of(".repeat()"))
    elif epochs is not None and module.code(epochs.value) != "1":
        links.append(Written.of(".repeat(", epochs.value, ")"))
    size = arguments["batch_size"].value if "batch_size" in arguments else "128"
    return Written.of(*links, ".batch(", size, ")")
