"""What is called of an Estimator: train, evaluate, predict and train_and_evaluate become calls of the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import is_none, is_true, quoted, text_of, with_code
from tfmigrate.plan.edits import Argument, Arguments, Insert, Remove, Replace
from tfmigrate.plan.estimator.exporting import EXPORTS, plan_export
from tfmigrate.plan.estimator.hooks import callbacks_of, drop_hooks
from tfmigrate.plan.estimator.inputs import Inputs
from tfmigrate.plan.estimator.migration import Migration
from tfmigrate.plan.estimator.reader import Build, Outcome
from tfmigrate.understand.lifecycle import Use
from tfmigrate.understand.program import Module, dotted, only_statement
from tfmigrate.understand.values import EstimatorPart
from tfmigrate.walk import walk
from tfmigrate.written import Written

TRAIN = ("input_fn", "hooks", "steps", "max_steps", "saving_listeners")
EVALUATE = ("input_fn", "steps", "hooks", "checkpoint_path", "name")
PREDICT = ("input_fn", "predict_keys", "hooks", "checkpoint_path", "yield_single_examples")
TRAIN_SPEC = ("input_fn", "max_steps", "hooks")
EVAL_SPEC = ("input_fn", "steps", "name", "hooks", "exporters", "start_delay_secs", "throttle_secs")
EVAL_STEPS = "100"
"""The default of EvalSpec."""


def plan_call(
    migration: Migration,
    use: Use,
    built: Outcome,
    inputs: Inputs,
    evaluates: bool,
    title: str,
    trainings: list[Use],
    home: Module,
) -> tuple[cst.BaseExpression, Use] | None:
    """Plan one call; of one that trains, returns its input_fn, which tells the shape of the features."""
    module = use.site.frame.module
    if use.method == "train":
        return _train(migration, use, inputs, trainings)
    if use.method == "train_and_evaluate":
        return _train_and_evaluate(migration, use, built, inputs, evaluates, trainings)
    assert isinstance(use.call.func, cst.Attribute)
    receiver = _receiver(migration, use, use.call.func.value)
    if use.method == "evaluate":
        passed = migration.named(use.call, EVALUATE, module)
        _only(migration, passed, ("input_fn", "steps", "name", "hooks"), module)
        drop_hooks(migration, passed.get("hooks"), module, use.site.frame)
        role = "eval" if evaluates else "alone"
        data = inputs.dataset(passed["input_fn"].value, use, role, "steps" in passed, receiver)
        text = _taken(data, passed.get("steps"))
        few = inputs.may_be_empty(use, role)
        if (few or _wants_step(migration, use)) and _target_or_first(use):
            lines, result = _metrics(migration, use, receiver, text, built, few=few)
            named = None if result is None else Written.of(result)
            _put_before(migration, use, lines, named, inputs, receiver)
        else:
            arguments = (_sole_argument(text), Argument("True", "return_dict"))
            migration.edits.append((module, Arguments(use.call, arguments)))
            if _wants_step(migration, use):
                key, step = _step(migration, use, receiver)
                added = Written.of(use.call, f" | {{{key}: ", step, "}")
                migration.edits.append((module, Replace(use.call, added.code)))
            _in_scope(migration, use, inputs, receiver)
        message = f"evaluate() takes the dataset and returns a dict{_uneven(inputs, use, role)}"
        migration.say(codes.ESTIMATOR_CALLS, module, use.call, message)
        return None
    if not isinstance(built, Build):
        message = f"{use.method}() of an Estimator of a Keras model is not followed: call it of the model"
        raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, use.call, message, module)
    if use.method == "predict":
        passed = migration.named(use.call, PREDICT, module)
        _only(migration, passed, ("input_fn", "hooks", "yield_single_examples"), module)
        drop_hooks(migration, passed.get("hooks"), module, use.site.frame)
        whole = passed.get("yield_single_examples")
        if whole is not None and not is_true(whole.value):
            message = "predict() gives whole batches here; the function written for it gives one sample at a time"
            raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, whole.value, message, module)
        if built.readings is None:
            message = "the predictions are computed from more than the model's one output"
            raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, use.call, message, module)
        if module is not home:
            message = f"predictions are read here, and made in {home.path}"
            raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, use.call, message, module)
        text = inputs.dataset(passed["input_fn"].value, use, "predict", False, receiver)
        inner = _bound_round(migration, built)
        if inner:
            message = f"the predictions are computed with `{min(inner)}`, a variable of the function round model_fn"
            raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, use.call, message, module)
        readings = Insert(built.outermost, built.readings)
        if (home, readings) not in migration.edits:
            migration.edits.append((home, readings))
        code = Written.of(f"{title}(", receiver, ".predict(", text, "))")
        migration.edits.append((module, Replace(use.call, code.code)))
        _in_scope(migration, use, inputs, receiver)
        migration.say(
            codes.ESTIMATOR_CALLS, module, use.call, "predict() takes the dataset; one sample is read at a time"
        )
        return None
    if use.method in EXPORTS:
        inner = _bound_round(migration, built)
        if not inner:
            plan_export(migration, use, built, receiver)
            return None
    message = f"{use.method}() of an Estimator has no known counterpart in Keras"
    raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, use.call, message, module)


def _bound_round(migration: Migration, built: Build) -> set[str]:
    """The names that the predictions read of a function round the model function, where they are not computed."""
    scopes = migration.drafts[built.module].scopes
    around = {node for node in built.module.ancestors(built.function) if isinstance(node, cst.FunctionDef)}
    owners = ((name, scopes.owner(name, scopes.by_node[built.function])) for name in built.predicted_from)
    return {name for name, owner in owners if owner is not None and owner.node in around}


def _receiver(migration: Migration, use: Use, node: cst.BaseExpression) -> Written:
    receiver = Written.at(node)
    if (
        migration.renamed is not None
        and use.site.frame.module is migration.module
        and receiver.text == migration.renamed[0]
    ):
        return Written.of(migration.renamed[1])
    return receiver


def _only(migration: Migration, named: Mapping[str, cst.Arg], allowed: tuple[str, ...], module: Module) -> None:
    for name, arg in named.items():
        if name not in allowed and not is_none(arg.value) and not _is_empty(arg.value):
            code = codes.ESTIMATOR_HOOK if name in ("hooks", "saving_listeners", "exporters") else (
                codes.ESTIMATOR_NOT_FOLLOWED)  # fmt: skip
            raise migration.refuse(code, arg.value, f"`{name}=` has no known counterpart in Keras", module)


def _train(migration: Migration, use: Use, inputs: Inputs, trainings: list[Use]) -> tuple[cst.BaseExpression, Use]:
    module, frame = use.site.frame.module, use.site.frame
    assert isinstance(use.call.func, cst.Attribute)
    named = migration.named(use.call, TRAIN, module)
    _only(migration, named, ("input_fn", "steps", "max_steps", "hooks"), module)
    callbacks = callbacks_of(migration, named.get("hooks"), module, frame)
    receiver = _receiver(migration, use, use.call.func.value)
    _counts_once(migration, named.get("max_steps"), use, trainings)
    data = inputs.dataset(named["input_fn"].value, use, "train", True, receiver)
    text = _taken(data, named.get("steps", named.get("max_steps")))
    few = inputs.may_be_empty(use, "train")
    if _is_statement(use) and not few:
        arguments = (_sole_argument(text), *_callbacks(callbacks))
        migration.edits.append((module, Arguments(use.call, arguments, method="fit")))
        _in_scope(migration, use, inputs, receiver)
    else:
        result = None if _is_statement(use) else receiver
        fit = _fit(migration, use, receiver, text, callbacks, few=few)
        _put_before(migration, use, [fit], result, inputs, receiver)
    migration.say(codes.ESTIMATOR_CALLS, module, use.call, "train() becomes fit() with the same number of steps")
    return named["input_fn"].value, use


def _counts_once(migration: Migration, arg: cst.Arg | None, use: Use, trainings: list[Use]) -> None:
    """max_steps counts from the first step ever; where there was none before, it is the number of steps."""
    if arg is None or is_none(arg.value):
        return
    module = use.site.frame.module
    again = any(isinstance(owner, cst.For | cst.While) for site in use.site.chain()
                for owner in site.frame.module.ancestors(site.unit))  # fmt: skip
    if len(trainings) > 1 or again:
        message = "max_steps counts the steps of earlier calls too; use `steps=` instead"
        raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, arg.value, message, module)


def _train_and_evaluate(
    migration: Migration, use: Use, built: Outcome, inputs: Inputs, evaluates: bool, trainings: list[Use]
) -> tuple[cst.BaseExpression, Use]:
    module, frame = use.site.frame.module, use.site.frame
    named = migration.named(use.call, ("estimator", "train_spec", "eval_spec"), module)
    if set(named) != {"estimator", "train_spec", "eval_spec"}:
        message = "train_and_evaluate() has other arguments than an Estimator and two specs"
        raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, use.call, message, module)
    train = _spec(migration, named["train_spec"].value, "TrainSpec", use)
    evaluation = _spec(migration, named["eval_spec"].value, "EvalSpec", use)
    trained = migration.named(train.node, TRAIN_SPEC, module)
    evaluated = migration.named(evaluation.node, EVAL_SPEC, module)
    _only(migration, trained, ("input_fn", "max_steps", "hooks"), module)
    _only(migration, evaluated, ("input_fn", "steps", "name", "hooks", "start_delay_secs", "throttle_secs"), module)
    callbacks = callbacks_of(migration, trained.get("hooks"), module, frame)
    drop_hooks(migration, evaluated.get("hooks"), module, frame)
    _counts_once(migration, trained.get("max_steps"), use, trainings)
    receiver = _receiver(migration, use, named["estimator"].value)
    text = _taken(inputs.dataset(trained["input_fn"].value, use, "train", True, receiver), trained.get("max_steps"))
    role = "eval" if evaluates else "alone"
    steps = evaluated.get("steps")
    limited = steps is None or not is_none(steps.value)
    test = inputs.dataset(evaluated["input_fn"].value, use, role, limited, receiver)
    test = Written.of(test, f".take({EVAL_STEPS})") if steps is None else _taken(test, steps)
    fit = _fit(migration, use, receiver, text, callbacks, few=inputs.may_be_empty(use, "train"))
    lines, name = _metrics(migration, use, receiver, test, built, few=inputs.may_be_empty(use, role), bind=False)
    result = None if name is None else Written.of(f"({name}, [])")
    _put_before(migration, use, [fit, *lines], result, inputs, receiver)
    migration.say(
        codes.ESTIMATOR_CALLS,
        module,
        use.call,
        "train_and_evaluate() becomes fit(), then evaluate(); the Estimator also evaluated at checkpoints, by time"
        + _uneven(inputs, use, role),
    )
    return trained["input_fn"].value, use


def _uneven(inputs: Inputs, use: Use, role: str) -> str:
    """What is said of an evaluation that may end with a batch that is not full."""
    if not inputs.may_be_uneven(use, role):
        return ""
    return (
        "; where its last batch is not full, the loss is the mean of all samples now, and was the mean of the batches' "
        "means"
    )


def _put_before(
    migration: Migration, use: Use, lines: list[Written], result: Written | None, inputs: Inputs, receiver: Written
) -> None:
    """Plan lines that come before a statement, with `result` in the place of the call; None: the statement goes."""
    module, unit = use.site.frame.module, use.site.unit
    small = only_statement(unit)
    if small is None or not _target_or_first(use):
        message = f"{use.method}() is part of a larger expression"
        raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, use.call, message, module)
    code = Written.joined(lines, "\n").code
    # An Estimator without a name is made in these lines.
    scoped = inputs.needs_scope(use) or unit is migration.unit
    migration.edits.append((module, Insert(unit, code, (unit,), scoped=scoped)))
    _in_scope(migration, use, inputs, receiver)
    if result is None or result.text == _target(use):
        migration.edits.append((module, Remove(small)))
    else:
        migration.edits.append((module, Replace(use.call, result.code)))


def _fit(
    migration: Migration, use: Use, receiver: Written, dataset: Written, callbacks: Sequence[Written], *, few: bool
) -> Written:
    """The code that trains; `few`: as the Estimator, not at all where there are more replicas than batches."""
    more = ", callbacks=[" if callbacks else ""
    end = Written.of(more, Written.joined(callbacks, ", "), "])" if callbacks else ")")
    if not few:
        return Written.of(receiver, ".fit(", dataset, end)
    name, indent = _fresh(migration, use, "train_data"), use.site.frame.module.tree.default_indent
    head = f"if {name}.cardinality() != 0:  # with fewer batches than replicas no step is trained"
    return Written.of(f"{name} = ", dataset, f"\n{head}\n{indent}", receiver, f".fit({name}", end)


def _callbacks(callbacks: Sequence[Written]) -> Iterator[Argument]:
    if callbacks:
        code = Written.of("[", Written.joined(callbacks, ", "), "]").code
        yield replace(with_code(Argument("None"), code), keyword="callbacks")


def _metrics(
    migration: Migration, use: Use, receiver: Written, dataset: Written, built: Outcome, *, few: bool, bind: bool = True
) -> tuple[list[Written], str | None]:
    """Lines that make the dict which an Estimator's evaluate() returns, and the name that it has then: the one
    that the call is assigned to, unless `bind` says otherwise; None where nothing reads it.

    `few`: it was all zeros where there were more replicas than batches.
    """
    module = use.site.frame.module
    name = None if _is_statement(use) else (_target(use) if bind else None) or _fresh(migration, use, "results")
    bound = f"{name} = " if name is not None else ""
    lines = [Written.of(bound, receiver, ".evaluate(", dataset, ", return_dict=True)")]
    if few:
        data, indent = _fresh(migration, use, "eval_data"), module.tree.default_indent
        lines = [Written.of(f"{data} = ", dataset)]
        if name is not None:
            keys = ", ".join(quoted(key, migration.drafts[module].quote) for key in ("loss", *built.metrics))
            zeros = f"{name} = dict.fromkeys([{keys}], 0.0)  # no batch: zeros, as TensorFlow 2.9 reports"
            lines.append(Written.of(zeros))
        test = Written.of(bound, receiver, f".evaluate({data}, return_dict=True)")
        lines.append(Written.of(f"if {data}.cardinality() != 0:\n{indent}", test))
    if name is not None and (not bind or _wants_step(migration, use)):
        key, step = _step(migration, use, receiver)
        lines.append(Written.of(f"{name}[{key}] = ", step))
    return lines, name


def _fresh(migration: Migration, use: Use, wanted: str) -> str:
    draft = migration.drafts[use.site.frame.module]
    return draft.scopes.fresh(wanted, draft.scope_of(use.site.frame))


def _step(migration: Migration, use: Use, receiver: Written) -> tuple[str, Written]:
    """The key of the number of steps that were trained, and the code for it."""
    quote = migration.drafts[use.site.frame.module].quote
    return quoted("global_step", quote), Written.of(receiver, ".optimizer.iterations.numpy()")


def _target_or_first(use: Use) -> bool:
    """Whether lines may be put before the statement of a call, for the call is the first that it does."""
    small = only_statement(use.site.unit)
    alone = isinstance(use.site.unit, cst.SimpleStatementLine)
    return alone and small is not None and _is_evaluated_first(small, use.call)


def _wants_step(migration: Migration, use: Use) -> bool:
    """Whether the number of steps may be read of what evaluate() returned."""
    module, unit = use.site.frame.module, use.site.unit
    if _is_statement(use):
        return False
    name = _target(use)
    if name is not None and (module, name) not in migration.facts.exported:
        draft = migration.drafts[module]
        mentions = draft.scopes.of_variable(name, draft.scope_of(use.site.frame))
        keys = dict(_keys_read(module.tree))
        return any(not mention.binds and keys.get(mention.node) in (None, "global_step") for mention in mentions)
    return dict(_keys_read(unit)).get(use.call) in (None, "global_step")


def _spec(migration: Migration, node: cst.BaseExpression, name: str, use: Use) -> EstimatorPart:
    module = use.site.frame.module
    value = migration.value(module, node)
    if not isinstance(value, EstimatorPart) or value.name != name or value.site.frame is not use.site.frame:
        raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, f"its {name} is not created next to it", module)
    if isinstance(node, cst.Name):
        if migration.assigned(node, module, use.site.frame) is not value.node:
            raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, f"its {name} is used elsewhere too", module)
    return value


def _in_scope(migration: Migration, use: Use, inputs: Inputs, receiver: Written) -> None:
    """A call whose input function asks for the strategy stands in its scope."""
    if inputs.needs_scope(use):
        context = Written.of(_context(migration, use, receiver), ".scope()")
        migration.scoped.append((use.site.frame.module, use.site.unit, context))


def _context(migration: Migration, use: Use, receiver: Written) -> Written:
    if use.site.frame is migration.frame:
        return Written.of(migration.strategy)
    return Written.of(receiver, ".distribute_strategy")


def _taken(data: Written, steps: cst.Arg | None) -> Written:
    """A dataset, or its first batches where their number is given."""
    return data if steps is None or is_none(steps.value) else Written.of(data, ".take(", steps.value, ")")


def _sole_argument(value: Written) -> Argument:
    """An argument that takes the place of others."""
    return with_code(Argument("None"), value.code)


def _target(use: Use) -> str | None:
    """The one variable that the result of a call is assigned to."""
    small = only_statement(use.site.unit)
    if isinstance(small, cst.Assign) and small.value is use.call and len(small.targets) == 1:
        name = small.targets[0].target
        return name.value if isinstance(name, cst.Name) else None
    return None


def _is_empty(node: cst.BaseExpression) -> bool:
    """`[]` and `()`, which an Estimator takes for no hooks."""
    return isinstance(node, cst.List | cst.Tuple) and not node.elements


def _keys_read(tree: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, str | None]]:
    """What is read by a key that is written out, and the key."""
    for node in walk(tree):
        if isinstance(node, cst.Subscript) and len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index):
            yield node.value, text_of(node.slice[0].slice.value)


def _is_evaluated_first(small: cst.BaseSmallStatement, call: cst.Call) -> bool:
    """Whether nothing that a statement does comes before a call in it, and the call is made once and in any case."""
    node: cst.CSTNode | None = small.value if isinstance(small, cst.Assign | cst.Return | cst.Expr) else None
    while node is not None and node is not call:
        if isinstance(node, cst.Call):
            plain = bool(dotted(node.func))
            first = node.args[0] if node.args and plain else None
            node = first.value if first is not None else node.func
        elif isinstance(node, cst.Subscript | cst.Attribute):
            node = node.value
        elif isinstance(node, cst.Tuple | cst.List):
            node = node.elements[0].value if node.elements else None
        else:
            return False
    return node is call


def _is_statement(use: Use) -> bool:
    small = only_statement(use.site.unit)
    return isinstance(small, cst.Expr) and small.value is use.call
