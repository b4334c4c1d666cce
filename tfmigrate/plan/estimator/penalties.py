"""Penalties of the weights: `loss + 1e-4 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])`.

In Keras each weight gets its regularizer (`add_penalty` of helpers/), half the factor, as an L2 is not halved. Which
weights are left out is decided by names, and Keras names weights otherwise than TensorFlow 1, which had scopes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import text_of
from tfmigrate.plan.estimator.reader import Reader, Weighted
from tfmigrate.plan.estimator.things import NAME, TRAIN, Loss, Penalty, Plain, Thing, Variables
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import parameters_of
from tfmigrate.understand.syntax import asked_in
from tfmigrate.walk import nodes_in, walk, words_in
from tfmigrate.written import Written

ONE = Written.of("")
_DENSE = (("kernel", "kernel"), ("bias", "bias"))
_NORM = (("gamma", "gamma"), ("beta", "beta"))
_COLLECTION = "REGULARIZATION_LOSSES"
COLLECTING = frozenset({"get_regularization_loss", "get_regularization_losses", "get_total_loss"})
"""Functions of tf.losses that read that collection."""
REGULARIZERS = frozenset(
    f"contrib.{module}.{kind}_regularizer" for module in ("layers", "slim") for kind in ("l1", "l2", "l1_l2")
)
PART = (
    "only one replica's part of these regularization losses was trained, half of the penalty on two replicas "
    "(TensorFlow 1.15): decide how large it should be, give the layers that `kernel_regularizer=`, and remove this; "
    "Keras adds it"
)
_CONTRIB = {"Dense": ("fully_connected", "weights", "biases"), "Conv2D": ("Conv", "weights", "biases")}


def note_layer(
    reader: Reader, keras: str, own: cst.BaseExpression | None, name: Written | None, *, contrib: bool = False
) -> None:
    """Note a layer that is made, `keras` being its class, where it has variables."""
    if TRAIN not in reader.modes or not (keras.startswith(("Dense", "Conv")) or keras == "BatchNormalization"):
        return
    words = _NORM if keras == "BatchNormalization" else _DENSE
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", keras).lower()
    if contrib and keras in _CONTRIB:
        kind, *old = _CONTRIB[keras]
        words = ((old[0], "kernel"), (old[1], "bias"))
    elif contrib:
        kind = "BatchNorm"
    reader.weighted.append(Weighted(kind, own, tuple(reader.scopes), name, words))


def note_model(reader: Reader) -> None:
    """Note a layer or model of Keras, whose variables have the same names in TensorFlow 1."""
    if TRAIN in reader.modes:
        reader.weighted.append(Weighted("", None, (), None, ()))


# ---- regularizers of layers ----


def leave_out(reader: Reader, node: cst.BaseExpression) -> None:
    """Plan that a layer goes without its regularizer, whose losses stood in a collection that nothing read."""
    if any(_collects(known) for known in reader.program.modules.values()):
        raise reader.refuse(codes.ESTIMATOR_LOSS, node, PART)
    message = (
        "this regularizer is removed: TensorFlow 1 does not add it to the loss by itself, nor does this program, so "
        "the model was trained without it; Keras would add it"
    )
    reader.plan.notes.append((node, message))


def _collects(facts: Facts) -> bool:
    """Whether a module reads the losses of regularizers."""
    words = (symbol.rpartition(".")[2] for symbol in facts.symbols.values() if symbol.startswith("tensorflow."))
    return any(word in COLLECTING or word == _COLLECTION for word in words) or any(
        text_of(node) == _COLLECTION.lower() for node in facts.module.all_of(cst.SimpleString)
    )


def is_collection(reader: Reader, node: cst.BaseExpression) -> bool:
    return (reader.symbol(node) or "").endswith(_COLLECTION) or text_of(node) == _COLLECTION.lower()


# ---- what a penalty is ----


def read_listed(reader: Reader, node: cst.BaseComp) -> Penalty | None:
    """`[tf.nn.l2_loss(v) for v in tf.trainable_variables() if ...]`; None for another comprehension."""
    loop = node.for_in
    if not isinstance(node, cst.ListComp | cst.GeneratorExp) or loop.inner_for_in is not None:
        return None
    over = reader.names.get(loop.iter.value) if isinstance(loop.iter, cst.Name) else None
    direct = reader.symbol_of_call(loop.iter) == "trainable_variables" and isinstance(reader.read(loop.iter), Variables)
    if not isinstance(loop.target, cst.Name) or not (direct or isinstance(over, Variables)):
        return None
    factor = _halved_squares(reader, node.elt, loop.target.value)
    if factor is None:
        message = "a sum over the variables of the graph is only supported for tf.nn.l2_loss"
        raise reader.refuse(codes.ESTIMATOR_LOSS, node.elt, message)
    conditions = [_condition(reader, part.test, loop.target.value) for part in loop.ifs]
    reader.penalised.append(len(reader.weighted))
    texts = tuple(text for _, found in conditions for text in found)
    tests = [code for code, _ in conditions]
    if len(tests) > 1:
        tests = [Written.of("(", code, ")") if isinstance(code.tree, cst.BooleanOperation) else code for code in tests]
    return Penalty(factor, Written.joined(tests, " and "), texts)


def _halved_squares(reader: Reader, node: cst.BaseExpression, variable: str) -> Written | None:
    """What `tf.nn.l2_loss(v)` is multiplied by; None where this is not that."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            factor = _halved_squares(reader, one, variable)
            if factor is not None and isinstance(reader.read(other), Plain):
                return _times(reader, factor, other)
        return None
    if reader.symbol_of_call(node) != "nn.l2_loss":
        return None
    assert isinstance(node, cst.Call)
    subject = node.args[0].value if node.args else None
    if isinstance(subject, cst.Call) and reader.symbol_of_call(subject) == "cast" and subject.args:
        subject = subject.args[0].value  # to float32, for the variables of half precision
    return ONE if isinstance(subject, cst.Name) and subject.value == variable else None


def _condition(reader: Reader, node: cst.BaseExpression, variable: str) -> tuple[Written, list[str]]:
    """A condition on the name of a variable, with NAME for that name, and the texts that are looked for in it."""
    replaced: dict[cst.BaseExpression, Written] = {}
    texts: list[str] = []
    for part in asked_in(node):
        text = text_of(part.left) if isinstance(part, cst.Comparison) and len(part.comparisons) == 1 else None
        target = part.comparisons[0] if isinstance(part, cst.Comparison) else None
        known = target is not None and isinstance(target.operator, cst.In | cst.NotIn)
        if text is None or target is None or not known or not _is_name(target.comparator, variable):
            message = "the penalized variables are chosen by something other than a string in their names"
            raise reader.refuse(codes.ESTIMATOR_LOSS, part, message)
        replaced[target.comparator] = Written.of(NAME)
        texts.append(text)
    return Written.at(node, replaced), texts


def _is_name(node: cst.BaseExpression, variable: str) -> bool:
    """`v.name`, and `v.op.name`."""
    if not isinstance(node, cst.Attribute) or node.attr.value != "name":
        return False
    inner = node.value
    if isinstance(inner, cst.Attribute) and inner.attr.value == "op":
        inner = inner.value
    return isinstance(inner, cst.Name) and inner.value == variable


# ---- what is computed of it ----


def combined(reader: Reader, node: cst.BinaryOperation, left: Thing, right: Thing) -> Loss | Penalty | None:
    """A loss and a penalty, added; a penalty, multiplied or divided by a plain number; None for anything else."""
    if isinstance(node.operator, cst.Add):
        return added(reader, node, [left, right])
    if isinstance(node.operator, cst.Multiply):
        if isinstance(left, Penalty) and isinstance(right, Plain):
            return scaled(reader, left, node.right)
        if isinstance(right, Penalty) and isinstance(left, Plain):
            return scaled(reader, right, node.left)
    if isinstance(node.operator, cst.Divide) and isinstance(left, Penalty) and isinstance(right, Plain):
        _needs_lasting(reader, node.right)
        return Penalty(Written.of(left.factor or "1.0", " / ", _tight(node.right)), left.names, left.texts)
    return None


def added(reader: Reader, node: cst.CSTNode, things: Sequence[Thing]) -> Loss | Penalty | None:
    """The sum of a loss and a penalty; None where these are other things."""
    losses = [thing for thing in things if isinstance(thing, Loss)]
    penalties = [thing for thing in things if isinstance(thing, Penalty)]
    if len(things) == len(penalties) == 1:
        return penalties[0]
    if len(losses) != 1 or len(penalties) != 1 or len(things) != 2:
        return None
    (loss,), (penalty,) = losses, penalties
    if loss.penalty is not None:
        message = "two weight penalties are added to the loss"
        raise reader.refuse(codes.ESTIMATOR_LOSS, node, message)
    return Loss(loss.code, penalty)


def scaled(reader: Reader, penalty: Penalty, factor: cst.BaseExpression) -> Penalty:
    return Penalty(_times(reader, penalty.factor, factor), penalty.names, penalty.texts)


def _times(reader: Reader, factor: Written, node: cst.BaseExpression) -> Written:
    _needs_lasting(reader, node)
    code = _tight(node)
    return Written.of(factor, " * ", code) if factor else code


def _tight(node: cst.BaseExpression) -> Written:
    code = Written.at(node)
    loose = isinstance(node, cst.BinaryOperation | cst.IfExp | cst.UnaryOperation | cst.BooleanOperation)
    return Written.of("(", code, ")") if loose and not node.lpar else code


def _needs_lasting(reader: Reader, node: cst.BaseExpression) -> None:
    """Refuse a factor that may be another one, or unknown, at the end of the model function, where it is written."""
    function = reader.plan.function
    names = words_in(node)
    inside = reader.within
    own = set() if inside is function else {*_bound_in(inside), *parameters_of(inside)}
    bound = list(_bound_in(function))
    changing = {name for name in names if bound.count(name) + (name in parameters_of(function)) > 1}
    elsewhere = reader.module is not reader.plan.module
    if names & own or changing or reader.repeats or (inside is not function and elsewhere):
        message = (
            f"the factor `{reader.module.code(node)}` of the weight penalty does not always have this value at the "
            "end of model_fn"
        )
        raise reader.refuse(codes.ESTIMATOR_LOSS, node, message)


def _bound_in(function: cst.FunctionDef) -> Iterator[str]:
    """The names that a function binds, each as often as it does."""
    for part in walk(function.body):
        if isinstance(part, cst.AssignTarget | cst.AugAssign | cst.For):
            yield from (name.value for name in nodes_in(part.target, cst.Name))


# ---- what is written ----


def lines_of(reader: Reader, penalty: Penalty, model: str, helper: str, fresh: Mapping[str, str]) -> Iterator[Written]:
    """The lines that give each weight its regularizer; `fresh`: names that are free there. Raises Unconvertible."""
    if any(count != len(reader.weighted) for count in reader.penalised):
        message = "more layers are created after the weight penalty, which did not include them"
        raise reader.refuse(codes.ESTIMATOR_LOSS, reader.plan.function, message)
    for text in penalty.texts:
        _check_names(reader, text)
    indent, weight, name = reader.module.tree.default_indent, fresh["weight"], fresh[NAME]
    regularizer = Written.of(f"{reader.tf}.keras.regularizers.L2(", _half(penalty.factor), ")")
    call = Written.of(f"{helper}({model}, {weight}, ", regularizer, ")")
    head = f"for {weight} in {model}.trainable_weights:\n{indent}"
    if not penalty.names:
        yield Written.of(head, call)
        return
    bound = f"{name} = getattr({weight}, {reader.quote}path{reader.quote}, {weight}.name)  # Keras 3, or Keras 2\n"
    condition = penalty.names if name == NAME else _renamed(penalty.names, name)
    yield Written.of(head, bound, f"{indent}if ", condition, f":\n{indent * 2}", call)


def _renamed(condition: Written, name: str) -> Written:
    tree = condition.tree
    return Written.at(tree, {part: Written.of(name) for part in walk(tree)
                             if isinstance(part, cst.Name) and part.value == NAME})  # fmt: skip


def _half(factor: Written) -> Written:
    """Half of a factor, as a number where it is one."""
    if not factor:
        return Written.of("0.5")
    number = factor.tree
    if isinstance(number, cst.Float | cst.Integer):
        return Written.of(repr(number.evaluated_value / 2))
    return Written.of("0.5 * ", factor)


def _check_names(reader: Reader, text: str) -> None:
    """Refuse a text that the names of Keras's weights hold where those of TensorFlow 1 did not, or the other way."""
    elsewhere = list(_literals(reader, text))
    for layer in reader.weighted:
        old = [layer.kind] if layer.own is None else _pieces(layer.own)
        new = [layer.kind if layer.kind not in ("Conv", "fully_connected", "BatchNorm") else ""]
        new = new if layer.keras is None else _pieces(layer.keras.tree)
        open_ = [part for part in (layer.own, *layer.scopes) if part is not None and text_of(part) is None]
        unknown = bool(open_) and len(elsewhere) > 1
        outer = [piece for scope in layer.scopes for piece in _pieces(scope)]
        for word, keras in layer.words:
            before = any(text in piece for piece in (*outer, *old, word))
            after = any(text in piece for piece in (*new, keras))
            if before != after or (unknown and text not in word) or "/" in text or ":" in text:
                message = (
                    f"the penalized weights are chosen by {text!r} in their names, but Keras's weights have "
                    "different names: give the layers of the model their `kernel_regularizer=` by hand"
                )
                raise reader.refuse(codes.ESTIMATOR_LOSS, reader.plan.function, message)


def _literals(reader: Reader, text: str) -> Iterator[cst.SimpleString]:
    """The texts of the functions that were read, and of what calls them, that hold another one."""
    modules = {reader.plan.module, reader.module}
    modules |= {module for module in reader.program.modules for function in module.all_of(cst.FunctionDef)
                if function in reader.plan.functions}  # fmt: skip
    for module in modules:
        for node in module.all_of(cst.SimpleString):
            value = node.evaluated_value
            if isinstance(value, str) and text in value and "\n" not in value:
                yield node


def _pieces(node: cst.BaseExpression) -> list[str]:
    """The texts that a name is put together of."""
    return [str(part.evaluated_value) for part in walk(node) if isinstance(part, cst.SimpleString)] + [
        part.value for part in walk(node) if isinstance(part, cst.FormattedStringText)
    ]
