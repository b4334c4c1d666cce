"""Callbacks of the program's own: what Keras kept in their attributes, and no longer does."""

from __future__ import annotations

from collections.abc import Container, Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import named_arguments, text_of
from tfmigrate.plan.edits import Insert, Rank, Remove
from tfmigrate.plan.keras.checkpoints import CHECKPOINT, PARAMETERS, passed_on
from tfmigrate.plan.keras.monitors import WATCHERS
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.program import Unit, dotted, only_statement
from tfmigrate.understand.values import ClassValue, FunctionValue, Parallel, options
from tfmigrate.walk import walk
from tfmigrate.written import joined

_KEEP_THE_MODEL = frozenset(
    f"keras.callbacks.{name}"
    for name in (
        "Callback",
        "ModelCheckpoint",
        "EarlyStopping",
        "ReduceLROnPlateau",
        "LearningRateScheduler",
        "CSVLogger",
    )
)
"""Callbacks whose set_model() does nothing but keep the model."""
_COUNTED = {"epochs_since_last_save": "0", "period": "1"}
"""What ModelCheckpoint of Keras 2 kept, and what it began with."""
_NO_WRITER = "TensorBoard of TensorFlow 2 has no `writer` (AttributeError): create one"
_WRITER = (
    "tf.summary.create_file_writer(log_dir), and write with tf.summary.scalar() or tf.summary.image() in "
    "`with writer.as_default():`"
)


def check(context: Context) -> Iterator[CallChange]:
    yield from callback_attributes(context.facts)
    yield from _writers_of_others(context.facts)
    yield from models_in_themselves(context.facts, context.draft.vanishing())


def callback_attributes(facts: Facts) -> Iterator[CallChange]:
    """`self.model = model` in a callback, an error on Keras 3, and the epochs that ModelCheckpoint counted."""
    classes: dict[cst.ClassDef, ClassValue] = {}
    for cls in facts.classes:
        classes.setdefault(cls.node, cls)
    for cls in classes.values():
        bases = {names.canonical(base) for base in cls.outside_bases()}
        if any(base.startswith("keras.callbacks.") for base in bases):
            yield from _assigned_models(cls, bases, facts)
        if CHECKPOINT in bases:
            yield from _counted_epochs(cls, facts)
        if "keras.callbacks.TensorBoard" in bases:
            yield from _writers(cls, facts)
        if bases & WATCHERS.keys():
            yield from _comparisons(cls, facts)


def models_in_themselves(facts: Facts, gone: Container[cst.CSTNode]) -> Iterator[CallChange]:
    """`parallel.callback_model = model`, also by setattr(), which would hang a model into itself now that it is one.

    `gone`: the nodes of the module that vanish; a wrap that stays is refused, and its model is two still.
    """
    for node in facts.module.all_of(cst.Assign, cst.Expr):
        for holder, name, value in _attribute_set(node):
            held = facts.options(value)
            wraps = [option.wrap for option in facts.options(holder) if isinstance(option, Parallel)]
            wraps = [wrap for wrap in wraps if held & options(wrap.template)]
            own = [wrap.call for wrap in wraps if wrap.site.frame.module is facts.module]
            if not wraps or any(not _vanishes(call.func, gone) for call in own):
                continue
            if name == "callback_model":
                message = "`callback_model` said which model the callbacks of fit() get: there is one model now"
                yield CallChange(codes.CALLBACK_ATTRIBUTES, node, message, Remove(node))
            else:
                message = (
                    "the parallel model held the template here, and the model would hold itself now, which Keras fails "
                    f"on: remove the line, and read the model itself instead of `.{name}`"
                )
                yield CallChange(codes.CALLBACK_ATTRIBUTES, node, message, action="warn")


def _attribute_set(node: cst.Assign | cst.Expr) -> Iterator[tuple[cst.BaseExpression, str, cst.BaseExpression]]:
    """(object, attribute, value) of `x.name = value`, `setattr(x, "name", value)`, `x.__setattr__("name", value)`."""
    if isinstance(node, cst.Assign):
        target = node.targets[0].target
        if len(node.targets) == 1 and isinstance(target, cst.Attribute):
            yield target.value, target.attr.value, node.value
    elif isinstance(node.value, cst.Call):
        func, args = node.value.func, [arg.value for arg in node.value.args]
        if isinstance(func, cst.Attribute) and func.attr.value == "__setattr__":
            args.insert(0, func.value)
        elif dotted(func) != "setattr":
            return
        if len(args) == 3 and (name := text_of(args[1])) is not None:
            yield args[0], name, args[2]


def _vanishes(node: cst.CSTNode, gone: Container[cst.CSTNode]) -> bool:
    return any(part in gone for part in walk(node))


def _assigned_models(cls: ClassValue, bases: set[str], facts: Facts) -> Iterator[CallChange]:
    if "model" in cls.members:
        return
    plain = bases <= _KEEP_THE_MODEL | {"object"}
    overridden = any("set_model" in base.members for base in cls.ancestors() if base is not cls)
    for method in cls.members.values():
        if not isinstance(method, FunctionValue) or not isinstance(method.node, cst.FunctionDef):
            continue
        for unit, assign, name in _assignments(method, facts):
            if name != "model":
                continue
            code = facts.module.code(assign.value)
            if plain and not overridden and unit is not None:
                message = (
                    "Keras 3 does not allow assigning to a callback's `model`: set_model() does it, on Keras 2 as well"
                )
                more = (Insert(unit, ("super().set_model(", assign.value, ")"), (unit,), rank=Rank.RULE),)
                yield CallChange(codes.CALLBACK_ATTRIBUTES, assign, message, Remove(assign), more=more)
            else:
                message = f"Keras 3 does not allow assigning to a callback's `model`, and fails: rename `{code}`"
                yield CallChange(codes.CALLBACK_ATTRIBUTES, assign, message, action="warn")


def _assignments(method: FunctionValue, facts: Facts) -> Iterator[tuple[Unit | None, cst.Assign, str]]:
    """Every assignment to an attribute of a method's own object: its line, where it is alone on one, and the name."""
    for unit in _lines(method, facts):
        for part in walk(unit):
            if not isinstance(part, cst.Assign):
                continue
            for target in part.targets:
                name = _own_attribute(target.target, method)
                if name is not None:
                    alone = only_statement(unit) is part and len(part.targets) == 1
                    yield (unit if alone else None), part, name


def _own_attribute(node: cst.CSTNode, method: FunctionValue) -> str | None:
    """The name of an attribute of the method's own object: `self.x`."""
    if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name):
        if node.value.value in [own.name.value for own in method.node.params.params[:1]]:
            return node.attr.value
    return None


def _comparisons(cls: ClassValue, facts: Facts) -> Iterator[CallChange]:
    """`self.monitor_op(current, self.best)` in a class's own on_epoch_end(): Keras 3 has neither before its own ran."""
    methods = [member for member in cls.members.values() if isinstance(member, FunctionValue)]
    read = [node for method in methods for name, node in _read(method) if name == "monitor_op"]
    set_here = {
        part
        for method in methods
        for target in walk(method.node.body)
        if isinstance(target, cst.AssignTarget)
        for part in walk(target)
    }
    if read and set_here.isdisjoint(read):
        message = (
            "in Keras 3 `monitor_op` and `best` are None until the base class has run its on_epoch_end(), and calling "
            "None raises TypeError: set both in __init__, after the super call: `self.monitor_op, self.best = np.less, "
            "np.inf` if less is better, `np.greater, -np.inf` if more is"
        )
        yield CallChange(codes.CALLBACK_ATTRIBUTES, min(read, key=facts.module.position), message, action="warn")


def _writers(cls: ClassValue, facts: Facts) -> Iterator[CallChange]:
    """`self.writer.add_summary(...)` in a TensorBoard of one's own: TensorFlow 1 and old Keras had one writer there."""
    methods = [member for member in cls.members.values() if isinstance(member, FunctionValue)]
    if any("writer" in method.attributes_set for method in methods):
        return
    read = [node for method in methods for name, node in _read(method) if name == "writer"]
    if read:
        message = f"{_NO_WRITER} in __init__ with {_WRITER}"
        yield CallChange(codes.CALLBACK_ATTRIBUTES, min(read, key=facts.module.position), message, action="warn")


def _writers_of_others(facts: Facts) -> Iterator[CallChange]:
    """`tensorboard.writer.add_summary(...)`: what TensorFlow 1 called a summary writer, of a callback by its name."""
    targets = (target.target for assign in facts.module.all_of(cst.Assign) for target in assign.targets)
    if any(isinstance(target, cst.Attribute) and target.attr.value == "writer" for target in targets):
        return
    for call in facts.module.calls:
        method = call.func
        if not isinstance(method, cst.Attribute) or method.attr.value != "add_summary":
            continue
        writer = method.value
        if isinstance(writer, cst.Attribute) and writer.attr.value == "writer" and dotted(writer.value) != "self":
            message = f"if {dotted(writer.value) or 'this'} is a TensorBoard: {_NO_WRITER} beside it with {_WRITER}"
            yield CallChange(codes.CALLBACK_ATTRIBUTES, call, message, action="warn")


def _counted_epochs(cls: ClassValue, facts: Facts) -> Iterator[CallChange]:
    """`self.epochs_since_last_save`, which a class that overrides on_epoch_end() goes on counting."""
    methods = [member for member in cls.members.values() if isinstance(member, FunctionValue)]
    init = cls.members.get("__init__")
    initialiser = init if isinstance(init, FunctionValue) else None
    held = {name for _, _, name in _assignments(initialiser, facts)} if initialiser is not None else set()
    read = {name: node for method in methods for name, node in _read(method) if name in _COUNTED and name not in held}
    if not read:
        return
    call = passed_on(initialiser) if initialiser is not None else None
    named = named_arguments(call, PARAMETERS) if call is not None else None
    listed = " and ".join(f"`{name}`" for name in sorted(read))
    first = min(read.values(), key=facts.module.position)
    lines = _lines(initialiser, facts) if initialiser is not None else ()
    unit = next((line for line in lines if call in set(walk(line))), None)
    if initialiser is None or named is None or unit is None:
        message = f"ModelCheckpoint of Keras 3 has no {listed}: count the epochs here"
        yield CallChange(codes.CALLBACK_ATTRIBUTES, first, message, action="warn")
        return
    own = initialiser.node.params.params[0].name.value
    values: dict[str, cst.BaseExpression | str] = dict(_COUNTED)
    if "period" in named:
        values["period"] = named["period"].value
    begun = joined(((f"{own}.{name} = ", values[name]) for name in _COUNTED if name in read), "\n")
    message = f"ModelCheckpoint of Keras 3 has no {listed}: the class sets the values that ModelCheckpoint set"
    yield CallChange(codes.CALLBACK_ATTRIBUTES, first, message, Insert(unit, begun, rank=Rank.RULE))


def _lines(method: FunctionValue, facts: Facts) -> Iterator[cst.SimpleStatementLine]:
    return (unit for unit in facts.module.inside(method.node) if isinstance(unit, cst.SimpleStatementLine))


def _read(method: FunctionValue) -> Iterator[tuple[str, cst.CSTNode]]:
    """Attributes of its own object that a method mentions."""
    for part in walk(method.node.body):
        name = _own_attribute(part, method)
        if name is not None:
            yield name, part
