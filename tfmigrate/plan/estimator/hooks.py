"""The hooks of an Estimator: those that only log go, those of the program that count or take the time are callbacks.

A SessionRunHook runs `before_run` and `after_run` round each step of the training, and `begin` and `end` round all of
it: on_train_batch_begin and so on of a Keras callback stand there too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import is_none, keywords
from tfmigrate.plan.edits import Replace, Signature
from tfmigrate.plan.estimator.layers import LOGGING_HOOKS
from tfmigrate.plan.estimator.migration import Migration
from tfmigrate.understand import names
from tfmigrate.understand.module import Module
from tfmigrate.understand.parameters import positional
from tfmigrate.understand.values import ClassValue, Frame, FunctionValue, Instance, options
from tfmigrate.walk import nodes_in, values_returned, walk, words_in
from tfmigrate.written import Written

_HOOK = "train.SessionRunHook"
_METHODS: Mapping[str, tuple[str, int, tuple[str, ...]]] = {
    "begin": ("on_train_begin", 1, ("logs",)),
    "before_run": ("on_train_batch_begin", 2, ("batch", "logs")),
    "after_run": ("on_train_batch_end", 3, ("batch", "logs")),
    "end": ("on_train_end", 2, ("logs",)),
}
"""A method of a hook -> that of a callback, how many parameters the first has, and what the second is given."""
_OF_SESSIONS = "after_create_session"
"""The one method of a hook that no callback has."""
_OF_CALLBACKS = frozenset({"model", "params", "set_model", "set_params", "validation_data"})
"""What Keras sets on a callback, and the methods that set it."""


def callbacks_of(migration: Migration, arg: cst.Arg | None, module: Module, frame: Frame) -> tuple[Written, ...]:
    """The callbacks that the hooks of a training become; those that only log go, their statements too."""
    return tuple(hook for hook in _followed(migration, arg, module, frame) if hook is not None)


def drop_hooks(migration: Migration, arg: cst.Arg | None, module: Module, frame: Frame) -> None:
    """The same for an evaluation, whose hooks may only log: nothing stands in their place."""
    for hook in _followed(migration, arg, module, frame):
        if hook is not None and arg is not None:
            message = "this hook runs around the steps of an evaluation, but a callback would only run in training"
            raise migration.refuse(codes.ESTIMATOR_HOOK, arg.value, message, module)


def _followed(migration: Migration, arg: cst.Arg | None, module: Module, frame: Frame) -> Iterator[Written | None]:
    """For each hook the callback that takes its place, or None where it is dropped."""
    if arg is None or is_none(arg.value):
        return
    node = arg.value
    maker = node
    if isinstance(node, cst.Name):
        maker = migration.assigned(node, module, frame) or node
    if not isinstance(maker, cst.List | cst.Tuple):
        raise migration.refuse(codes.ESTIMATOR_HOOK, node, "these hooks cannot be followed", module)
    for element in maker.elements:
        hook = element.value
        cls = _own_class(migration, module, hook)
        if cls is not None:
            _make_callback(migration, cls)
            yield Written.at(hook)
            continue
        inner = migration.assigned(hook, module, frame) if isinstance(hook, cst.Name) else hook
        name = _tf_name(migration, module, inner.func) if isinstance(inner, cst.Call) else None
        if name not in LOGGING_HOOKS:
            message = f"the hook `{module.code(hook)}` has no known counterpart among Keras callbacks"
            raise migration.refuse(codes.ESTIMATOR_HOOK, hook, message, module)
        message = "this hook is dropped: Keras's progress bar shows the loss at every step"
        migration.say(codes.ESTIMATOR_LEFT_OUT, module, hook, message, "warn")
        yield None


def _tf_name(migration: Migration, module: Module, node: cst.BaseExpression) -> str | None:
    name = migration.facts.modules[module].symbols.get(node)
    return names.plain(name).removeprefix("tensorflow.") if name is not None else None


def _own_class(migration: Migration, module: Module, hook: cst.BaseExpression) -> ClassValue | None:
    """The program's own class of a hook, where its only base is SessionRunHook."""
    value = migration.value(module, hook)
    found = options(value) if value is not None else frozenset()
    classes = {option.cls if isinstance(option, Instance) else None for option in found}
    cls = next(iter(classes)) if len(classes) == 1 else None
    if cls is None or len(cls.node.bases) != 1:
        return None
    base = _tf_name(migration, cls.closure.module, cls.node.bases[0].value) or ""
    return cls if base in (_HOOK, _HOOK.replace("train", "estimator")) else None


def _make_callback(migration: Migration, cls: ClassValue) -> None:
    """Plan the edits that make a callback of a hook's class. Raises Unconvertible."""
    module = cls.closure.module
    _used_here_alone(migration, cls)
    edits = [(module, Replace(cls.node.bases[0].value, f"{migration.drafts[module].tf}.keras.callbacks.Callback"))]
    if edits[0] in migration.edits:
        return
    migration.edits.extend(edits)
    methods = {name: member.node for name, member in cls.members.items() if isinstance(member, FunctionValue)}
    for name, method in methods.items():
        if not isinstance(method, cst.FunctionDef):
            raise _refused(migration, cls, method, "it is more than plain methods")
        if name == _OF_SESSIONS or (name != "__init__" and hasattr(object, name)):
            raise _refused(migration, cls, method, f"a Keras callback has nothing like {name}()")
        _check(migration, cls, method)
        if name in _METHODS:
            new, count, given = _METHODS[name]
            parameters = [param.name.value for param in positional(method.params)]
            if len(parameters) != count or method.decorators:
                raise _refused(migration, cls, method, f"its {name}() has different parameters than a hook's")
            read = words_in(method.body)
            if read & {*parameters[1:], *given}:
                raise _refused(migration, cls, method, f"its {name}() reads what the session returned")
            if any(value is not None and not is_none(value) for value in values_returned(method.body)):
                raise _refused(migration, cls, method, f"its {name}() requests values from the session")
            migration.edits.append((module, Replace(method.name, new)))
            migration.edits.append((module, Signature(method, (parameters[0],), given)))
    message = f"the hook {cls.node.name.value} becomes a Keras callback"
    migration.say(codes.ESTIMATOR_CALLS, module, cls.node, message)


def _check(migration: Migration, cls: ClassValue, method: cst.FunctionDef) -> None:
    """Refuse a method that asks something of TensorFlow, or uses a name that Keras sets on callbacks."""
    symbols = migration.facts.modules[cls.closure.module].symbols
    for node in walk(method.body):
        if isinstance(node, cst.BaseExpression) and symbols.get(node, "").startswith("tensorflow"):
            raise _refused(migration, cls, node, "it uses the graph")
    for target in nodes_in(method.body, cst.AssignTarget):
        for part in nodes_in(target, cst.Attribute):
            if part.attr.value in _OF_CALLBACKS:
                raise _refused(migration, cls, part, f"Keras itself sets `{part.attr.value}` of a callback")
    if method.name.value in _OF_CALLBACKS or method.name.value.startswith("on_"):
        raise _refused(migration, cls, method, f"Keras itself calls {method.name.value}() of a callback")


def _used_here_alone(migration: Migration, cls: ClassValue) -> None:
    """Refuse a hook that another Estimator or another file may use, or whose methods the program calls itself."""
    mine = {use.call for use in migration.uses()}
    others = [use for use in migration.facts.estimator_uses if use.call not in mine and "hooks" in keywords(use.call)]
    specs = [part for part in migration.facts.estimators if part.name == "TrainSpec" and "hooks" in keywords(part.node)]
    if others or len({part.node for part in specs}) > 1:
        raise _refused(migration, cls, cls.node, "another Estimator has hooks too")
    if (cls.closure.module, cls.node.name.value) in migration.facts.exported:
        raise _refused(migration, cls, cls.node, "other files may use it")
    for module, facts in migration.facts.modules.items():
        for call in module.calls:
            if isinstance(call.func, cst.Attribute) and call.func.attr.value in _METHODS:
                found = facts.options(call.func.value)
                if any(isinstance(option, Instance) and option.cls is cls for option in found):
                    message = f"`{module.code(call.func)}` is called by the program"
                    raise migration.refuse(codes.ESTIMATOR_HOOK, call, message, module)


def _refused(migration: Migration, cls: ClassValue, node: cst.CSTNode, why: str) -> Exception:
    message = f"the hook {cls.node.name.value} cannot become a callback: {why}"
    return migration.refuse(codes.ESTIMATOR_HOOK, node, message, cls.closure.module)
