"""Layers and models of Keras in a model function: what they did in a graph of TensorFlow 1, and what they do in fit().

Measured on TensorFlow 1.15: called without `training=`, they are in inference mode, in training too, as nothing sets
the learning phase; what their regularizers return, and the updates of their moving averages, are in no collection.
fit() puts every layer of a model into training mode, also one that was called with `training=False` (Keras 3.15), adds
the regularizers to the loss, and updates the averages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import is_false, is_none, keywords, unchanged
from tfmigrate.plan.edits import Arguments, Replace
from tfmigrate.plan.estimator import penalties
from tfmigrate.plan.estimator.reader import Reader, training_modes
from tfmigrate.plan.estimator.things import TRAIN, Features, Plain, Tensor, Tensors, Thing, Training
from tfmigrate.understand import names
from tfmigrate.understand.module import Module
from tfmigrate.understand.parameters import nameable
from tfmigrate.understand.syntax import last_attribute
from tfmigrate.understand.values import Made, ModelObject, Value
from tfmigrate.walk import calls_in, nodes_in, walk

_NOISES = frozenset(
    {
        "Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "GaussianDropout", "GaussianNoise",
        "AlphaDropout",
    }
)  # fmt: skip
"""Layers that are nothing outside of training."""
_NORMS = frozenset({"BatchNormalization", "BatchNormalizationV1", "BatchNormalizationV2", "SyncBatchNormalization"})
_INNER_DROPOUTS = frozenset({"dropout", "recurrent_dropout"})
_ASKING = frozenset({"keras.backend.in_train_phase", "keras.backend.in_test_phase", "keras.backend.learning_phase"})
_SETS_PHASE = "keras.backend.set_learning_phase"


def keras_call(reader: Reader, node: cst.Call, value: Value | None, passed: Sequence[Thing]) -> Thing:
    """A layer or model of Keras, called on tensors: it stays, and Keras tells it when it is training."""
    told = keywords(node).get("training")
    modes = training_modes(reader, told.value) if told is not None else None
    follows = modes is not None and modes & reader.modes == {TRAIN} & reader.modes
    for arg, thing in zip(node.args, passed, strict=True):
        if isinstance(thing, Training) and (arg is not told or not follows):
            raise reader.refuse(codes.NO_KERAS_LAYER, arg.value, "`training=` is something other than mode == TRAIN")
        if not isinstance(thing, Plain | Tensor | Tensors | Features | Training):
            raise reader.refuse(codes.NO_KERAS_LAYER, arg.value, "this cannot be the input of a layer")
    parts = list(_parts(reader, value))
    penalties.note_model(reader)
    _no_penalty(reader, node, parts)
    if follows:
        if _kind(value) in _NORMS or _is_ready_made(value) or any(_normalises(reader, *part) for part in parts):
            reader.plan.notes.append(
                (
                    node,
                    "the moving averages of a Keras batch normalization were never updated, because its updates are "
                    "not in UPDATE_OPS; Keras updates them, so evaluation will differ (for the better)",
                )
            )
        reader.edit(Arguments(node, unchanged([arg for arg in node.args if arg is not told])))
    elif _is_ready_made(value) or any(_minds_training(reader, *part) for part in parts):
        return _idle(reader, node, value)
    return Tensor(node)


def _idle(reader: Reader, node: cst.Call, value: Value | None) -> Thing:
    """What was in inference mode all the time: a dropout goes, anything else cannot be kept so."""
    told = keywords(node).get("training")
    if told is not None and not is_false(told.value) and not is_none(told.value):
        message = "`training=` is something other than mode == TRAIN"
        raise reader.refuse(codes.NO_KERAS_LAYER, told.value, message)
    plain = [arg for arg in node.args if arg is not told]
    symbols = (symbol for known in reader.program.modules.values() for symbol in known.symbols.values())
    if any(names.canonical(symbol) == _SETS_PHASE for symbol in symbols):
        message = "set_learning_phase() may have put this layer into training mode: pass `training=` to it"
        raise reader.refuse(codes.NO_KERAS_LAYER, node, message)
    if _kind(value) in _NOISES and len(plain) == 1:
        reader.edit(Replace(node, (plain[0].value,)))
        message = (
            "this layer is removed: without `training=mode == TRAIN` TensorFlow 1 ran it in inference mode even in "
            "training, so it did nothing; put it back if it should have an effect"
        )
        reader.plan.notes.append((node, message))
        return Tensor(node)
    message = (
        "without `training=mode == TRAIN` TensorFlow 1 ran this in inference mode even in training (dropout dropped "
        "nothing, batch normalization used its moving averages), but fit() would run it in training mode; pass that "
        "`training=`, or remove the dropout and the normalization"
    )
    raise reader.refuse(codes.NO_KERAS_LAYER, node, message)


def _kind(value: Value | None) -> str:
    """The class of a layer of Keras itself."""
    return names.canonical(value.name).rpartition(".")[2] if isinstance(value, Made) and value.config else ""


def _is_ready_made(value: Value | None) -> bool:
    """A model whose layers the program does not write: a pretrained or a loaded one."""
    return isinstance(value, ModelObject) and any(
        model.origin != "constructed" and model.instance is None for model in value.base_models()
    )


def _parts(reader: Reader, value: Value | None) -> Iterator[tuple[Module, cst.CSTNode]]:
    """The code that makes a layer or model and what is in it; of a class of the program all of the program's classes,
    as it may use any."""
    if not isinstance(value, Made | ModelObject):
        return
    made = value.config if isinstance(value, Made) else value.node
    seen: set[cst.CSTNode] = set()
    for site in value.sites:
        whole = made is not None and made in set(walk(site.unit))
        tree: cst.CSTNode = made if whole and made is not None else site.unit
        if tree not in seen:
            seen.add(tree)
            yield site.frame.module, tree
    models = value.base_models() if isinstance(value, ModelObject) else ()
    own = value.config is None if isinstance(value, Made) else any(model.instance is not None for model in models)
    for module, facts in reader.program.modules.items() if own else ():
        for cls in facts.classes:
            if cls.node not in seen:
                seen.add(cls.node)
                yield module, cls.node


def _no_penalty(reader: Reader, node: cst.Call, parts: Sequence[tuple[Module, cst.CSTNode]]) -> None:
    """Refuse what fit() would add to the loss, and TensorFlow 1 did not."""
    for module, tree in parts:
        for call in calls_in(tree):
            name = last_attribute(call.func)
            known = reader.program.modules[module].canonical(call.func)
            given = [
                key for key, arg in keywords(call).items() if key.endswith("_regularizer") and not is_none(arg.value)
            ]
            unread = known.startswith("keras.layers.") and any(arg.star == "**" for arg in call.args)
            if unread:
                message = "a layer gets arguments that cannot be read, perhaps a regularizer"
                raise reader.refuse(codes.NO_KERAS_LAYER, node, message)
            if given or name == "add_loss" or known == "keras.layers.ActivityRegularization":
                what = f"`{given[0]}=`" if given else f"`{module.code(call.func)}`"
                message = (
                    f"{what} of this layer or model was not in the loss, because TensorFlow 1 does not add "
                    "regularizers by itself; Keras does: remove it"
                )
                raise reader.refuse(codes.NO_KERAS_LAYER, node, message)


def _normalises(reader: Reader, module: Module, tree: cst.CSTNode) -> bool:
    facts = reader.program.modules[module]
    known = {facts.canonical(node) for node in walk(tree)}
    return any(name.rpartition(".")[2] in _NORMS or _comes_ready_made(name) for name in known)


def _comes_ready_made(name: str) -> bool:
    """Whether a function returns a model whose layers the program does not write."""
    return name in names.MODEL_LOADERS or name.startswith("keras.applications.")


def _minds_training(reader: Reader, module: Module, tree: cst.CSTNode) -> bool:
    """Whether a layer made in some code does something else in training, or may."""
    facts = reader.program.modules[module]
    for node in walk(tree):
        known = facts.canonical(node)
        kind = known.rpartition(".")[2]
        if known in _ASKING or (
            known.startswith("keras.layers.") and (kind in _NOISES | _NORMS or kind.startswith("Random"))
        ):
            return True
        if _comes_ready_made(known):
            return True
    if any(keywords(call).keys() & _INNER_DROPOUTS for call in calls_in(tree)):
        return True
    return any(
        param.name.value == "training"
        for function in nodes_in(tree, cst.FunctionDef)
        for param in nameable(function.params)
    )
