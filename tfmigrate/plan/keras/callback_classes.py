"""Callbacks of the program's own: what Keras kept in their attributes, and no longer does."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import named_arguments, text_of
from tfmigrate.plan.edits import Insert, Rank, Remove
from tfmigrate.plan.keras.checkpoints import CHECKPOINT, PARAMETERS, Initialiser, checkpoints
from tfmigrate.plan.keras.handed_on import Construction, Objects
from tfmigrate.plan.keras.monitors import taken_from_name
from tfmigrate.plan.keras.watchers import WATCHERS
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.blocks import Unit, only_statement, units_of
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import names_imported
from tfmigrate.understand.parameters import first_parameter
from tfmigrate.understand.syntax import attribute_of, dotted
from tfmigrate.understand.values import ClassValue, FunctionValue, Parallel, options
from tfmigrate.walk import nodes_in, walk
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


_INTERFACE = ("set_params", "set_model", "on_epoch_end", "on_batch_end")
"""What old Keras asked of every callback."""
_ASKED_TODAY = "on_train_batch_begin"


def check(context: Context) -> Iterator[CallChange]:
    yield from callback_attributes(context)
    yield from _copies(context.facts)
    yield from models_in_themselves(context.facts, context.draft.vanishing())


def callback_attributes(context: Context) -> Iterator[CallChange]:
    """`self.model = model` in a callback, an error on Keras 3, and what ModelCheckpoint kept for its on_epoch_end()."""
    facts = context.facts
    classes: dict[cst.ClassDef, ClassValue] = {}
    for cls in facts.classes:
        classes.setdefault(cls.node, cls)
    for cls in classes.values():
        bases = {names.canonical(base) for base in cls.outside_bases()}
        if any(base.startswith("keras.callbacks.") for base in bases):
            yield from _assigned_models(cls, bases, facts)
        known = context.migration.once(checkpoints)
        if CHECKPOINT in bases:
            yield from _counted_epochs(cls, known, facts)
        if bases & WATCHERS.keys():
            yield from _comparisons(cls, known, facts)


def _copies(facts: Facts) -> Iterator[CallChange]:
    """A class that has the methods of a callback as old Keras called them, and does not descend from one."""
    for cls in facts.classes:
        lacks = any(cls.lookup(name) is None for name in _INTERFACE) or cls.lookup(_ASKED_TODAY) is not None
        if lacks or "set_model" not in cls.members or any(cls.unknown_bases()):
            continue
        message = (
            f"today fit() calls methods that this class lacks ({_ASKED_TODAY}, for example), and fails at once: "
            "derive it from keras.callbacks.Callback, which has them all, and not from a copy"
        )
        yield CallChange(codes.CALLBACK_ATTRIBUTES, cls.node, message, action="warn")


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
                message = "`callback_model` said which model the callbacks of fit() get: there is only one model now"
                yield CallChange(codes.CALLBACK_ATTRIBUTES, node, message, Remove(node))
            else:
                message = (
                    "the parallel model held the template here; now the model would hold itself, which is an error "
                    f"in Keras: remove the line, and read the model itself instead of `.{name}`"
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
                    "Keras 3 does not allow assigning to a callback's `model`: set_model() does it, also on Keras 2"
                )
                more = (Insert(unit, ("super().set_model(", assign.value, ")"), (unit,), rank=Rank.RULE),)
                yield CallChange(codes.CALLBACK_ATTRIBUTES, assign, message, Remove(assign), more=more)
            else:
                message = f"Keras 3 does not allow assigning to a callback's `model`, and fails: rename `{code}`"
                yield CallChange(codes.CALLBACK_ATTRIBUTES, assign, message, action="warn")


def _assignments(method: FunctionValue, facts: Facts) -> Iterator[tuple[Unit | None, cst.Assign, str]]:
    """Every assignment to an attribute of a method's own object: its line, where it is alone on one, and the name."""
    own = first_parameter(method.node)
    for unit in _lines(method, facts):
        for part in nodes_in(unit, cst.Assign):
            for target in part.targets:
                name = attribute_of(own, target.target)
                if name is not None:
                    alone = only_statement(unit) is part and len(part.targets) == 1
                    yield (unit if alone else None), part, name


def _comparisons(cls: ClassValue, known: Objects, facts: Facts) -> Iterator[CallChange]:
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
    if not read or not set_here.isdisjoint(read):
        return
    place = min(read, key=facts.module.position)
    fact = "in Keras 3 `monitor_op` and `best` are None until the base class has run its on_epoch_end()"
    directions = {_direction(made) for made in known.of_class(cls)}
    direction = directions.pop() if len(directions) == 1 else None
    initialiser = Initialiser.of(cls, known.subclasses)
    unit = _after(initialiser) if initialiser is not None else None
    if direction is None or initialiser is None or unit is None:
        message = (
            f"{fact}, and calling None raises TypeError: set both in __init__, after the super call: "
            "`self.monitor_op, self.best = np.less, np.inf` if less is better, `np.greater, -np.inf` if more is"
        )
        yield CallChange(codes.CALLBACK_ATTRIBUTES, place, message, action="warn")
        return
    own = initialiser.own
    code = f"{own}.monitor_op, {own}.best = {_comparison(direction, facts)}"
    message = f"{fact}: the class starts like ModelCheckpoint of Keras 2 for the mode {direction!r}"
    yield CallChange(codes.CALLBACK_ATTRIBUTES, place, message, Insert(unit, code, rank=Rank.RULE))


def _direction(made: Construction) -> str | None:
    """ "min" or "max", where it is known which of them an object begins with."""
    mode, monitor = made.given("mode"), made.given("monitor")
    if mode is not None and mode.text in ("min", "max"):
        return mode.text
    watched = "val_loss" if monitor is None else monitor.text
    return None if watched is None or (mode is not None and mode.text is None) else taken_from_name(watched)


def _comparison(direction: str, facts: Facts) -> str:
    np = next((alias for alias, full in names_imported(facts.module) if full == "numpy"), None)
    if np is not None:
        return f"{np}.less, {np}.inf" if direction == "min" else f"{np}.greater, -{np}.inf"
    return (
        '(lambda value, best: value < best), float("inf")'
        if direction == "min"
        else '(lambda value, best: value > best), -float("inf")'
    )


def _after(initialiser: Initialiser) -> Unit | None:
    """The statement of an __init__ that follows that with the call of the base's."""
    node = initialiser.method.node
    units = units_of(node.body) if isinstance(node, cst.FunctionDef) else ()
    place = next((n for n, unit in enumerate(units) if initialiser.handed in set(walk(unit))), len(units))
    return units[place + 1] if place + 1 < len(units) else None


def _counted_epochs(cls: ClassValue, known: Objects, facts: Facts) -> Iterator[CallChange]:
    """`self.epochs_since_last_save`, which a class that overrides on_epoch_end() goes on counting."""
    methods = [member for member in cls.members.values() if isinstance(member, FunctionValue)]
    init = cls.members.get("__init__")
    held = {name for _, _, name in _assignments(init, facts)} if isinstance(init, FunctionValue) else set()
    read = {name: node for method in methods for name, node in _read(method) if name in _COUNTED and name not in held}
    if not read:
        return
    listed = " and ".join(f"`{name}`" for name in sorted(read))
    first = min(read.values(), key=facts.module.position)
    initialiser = Initialiser.of(cls, known.subclasses)
    unit = _line_of(initialiser, facts) if initialiser is not None else None
    period = _first_period(initialiser, known.of_class(cls)) if initialiser is not None else None
    if initialiser is None or period is None or unit is None:
        message = f"ModelCheckpoint of Keras 3 has no {listed}: count the epochs here"
        yield CallChange(codes.CALLBACK_ATTRIBUTES, first, message, action="warn")
        return
    values: dict[str, cst.BaseExpression | str] = {**_COUNTED, "period": period}
    begun = joined(((f"{initialiser.own}.{name} = ", value) for name, value in values.items() if name in read), "\n")
    message = f"ModelCheckpoint of Keras 3 has no {listed}: the class sets the values that ModelCheckpoint set"
    yield CallChange(codes.CALLBACK_ATTRIBUTES, first, message, Insert(unit, begun, rank=Rank.RULE))


def _line_of(initialiser: Initialiser, facts: Facts) -> Unit | None:
    """The line of an __init__ that calls the base's."""
    return next((line for line in _lines(initialiser.method, facts) if initialiser.handed in set(walk(line))), None)


def _first_period(initialiser: Initialiser, made: Sequence[Construction]) -> cst.BaseExpression | str | None:
    """The period that ModelCheckpoint of Keras 2 began with; None where that is hidden."""
    named = named_arguments(initialiser.handed, PARAMETERS)
    if named is not None:
        return named["period"].value if "period" in named else _COUNTED["period"]
    # Whatever else it passes on, no call has another period.
    periods = [checkpoint.given("period") for checkpoint in made]
    return _COUNTED["period"] if made and all(period is None or _is_one(period.node) for period in periods) else None


def _is_one(node: cst.BaseExpression | None) -> bool:
    return isinstance(node, cst.Integer) and node.evaluated_value == 1


def _lines(method: FunctionValue, facts: Facts) -> Iterator[cst.SimpleStatementLine]:
    return (unit for unit in facts.module.inside(method.node) if isinstance(unit, cst.SimpleStatementLine))


def _read(method: FunctionValue) -> Iterator[tuple[str, cst.CSTNode]]:
    """Attributes of its own object that a method mentions."""
    own = first_parameter(method.node)
    for part in walk(method.node.body):
        name = attribute_of(own, part)
        if name is not None:
            yield name, part
