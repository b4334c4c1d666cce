"""export_saved_model() of an Estimator: a SavedModel of the predictions, with the inputs of its receiver function.

Measured on TensorFlow 1.15 and 2.21: the signature `serving_default` takes and gives tensors of the same names, types
and shapes, on Keras 3 and Keras 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import named_arguments, quoted, text_of
from tfmigrate.plan.edits import Insert, Replace, Unwrap
from tfmigrate.plan.estimator.migration import Migration
from tfmigrate.plan.estimator.reader import Build, Predicting
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.scopes import numbered
from tfmigrate.understand.values import FunctionValue
from tfmigrate.walk import nodes_in, walk, words_in
from tfmigrate.written import Written

EXPORTS = frozenset({"export_saved_model", "export_savedmodel"})
_PARAMETERS = ("export_dir_base", "serving_input_receiver_fn")
_RECEIVERS = frozenset(
    {"estimator.export.ServingInputReceiver", "estimator.export.build_raw_serving_input_receiver_fn"}
)
_RECEIVED = ("features", "receiver_tensors", "receiver_tensors_alternatives", "default_batch_size")


def plan_export(migration: Migration, use: Use, built: Build, receiver: Written) -> None:
    """Plan one call. Raises Unconvertible."""
    module = use.site.frame.module
    passed = migration.named(use.call, _PARAMETERS, module)
    if set(passed) != set(_PARAMETERS):
        raise _refused(migration, use, "it gets more than a folder and a receiver function")
    if module is not built.module:
        raise _refused(migration, use, f"the model is created in {built.module.path} but exported here")
    if built.predicting is None or built.names_exports:
        raise _refused(migration, use, "what it exports is not computed only from the model's single output")
    function = passed[_PARAMETERS[1]].value
    specs = _specs(migration, use, function)
    if not built.keys or specs.keys() != built.keys:
        raise _refused(migration, use, "its inputs are not the features that the model reads by name")
    draft = migration.drafts[module]
    title = draft.scopes.fresh("export_model", draft.scopes.module)
    code = _exporter(migration, built.predicting, title, specs, draft.tf, draft.quote)
    insert = Insert(built.outermost, code.code)
    if (module, insert) not in migration.edits:
        migration.edits.append((module, insert))
    call = Written.of(f"{title}(", receiver, ", ", passed[_PARAMETERS[0]].value, ")")
    migration.edits.append((module, Replace(use.call, call.code)))
    _drop(migration, module, function)
    message = f"{use.method}() becomes a function that saves the predictions under the same names, for the same inputs"
    migration.say(codes.ESTIMATOR_CALLS, module, use.call, message)


def _refused(migration: Migration, use: Use, why: str) -> Exception:
    message = f"{use.method}() cannot be followed: {why}"
    return migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, use.call, message, use.site.frame.module)


def _tensorflow(migration: Migration, module: Module, node: cst.BaseExpression) -> str:
    symbol = migration.facts.modules[module].symbols.get(node, "")
    return names.plain(symbol).removeprefix("tensorflow.")


def _specs(migration: Migration, use: Use, function: cst.BaseExpression) -> Mapping[str, Written]:
    """The specification of each tensor that is received, which the features are too. Raises Unconvertible."""
    module = use.site.frame.module
    draft = migration.drafts[module]
    definition = _definition(migration, module, function)
    maker = settled(function, draft.scopes)
    own: set[str] = set()
    if definition is not None:
        returned = [line.value for line in nodes_in(definition.body, cst.Return)]
        maker = returned[0] if len(returned) == 1 and returned[0] is not None else maker
        own = words_in(*nodes_in(definition, cst.AssignTarget))
    if not isinstance(maker, cst.Call) or _tensorflow(migration, module, maker.func) not in _RECEIVERS:
        raise _refused(migration, use, "its receiver function is more than a ServingInputReceiver of placeholders")
    tensors = _received(migration, use, maker)
    specs: dict[str, Written] = {}
    for element in tensors.elements if isinstance(tensors, cst.Dict) else ():
        key = text_of(element.key) if isinstance(element, cst.DictElement) else None
        placeholder = _placeholder(migration, module, settled(element.value, draft.scopes))
        if key is None or placeholder is None:
            raise _refused(migration, use, "its receiver function is more than placeholders of a type and a shape")
        if own & words_in(*placeholder):
            raise _refused(migration, use, "the shape of a placeholder is computed in its receiver function")
        shape, dtype = placeholder
        specs[key] = Written.of(f"{draft.tf}.TensorSpec(", shape, ", ", dtype, f", {quoted(key, draft.quote)})")
    return specs


def _definition(migration: Migration, module: Module, function: cst.BaseExpression) -> cst.FunctionDef | None:
    """The receiver function, where the module defines it."""
    value = migration.value(module, function)
    if not isinstance(value, FunctionValue) or value.module is not module:
        return None
    return value.node if isinstance(value.node, cst.FunctionDef) else None


def _received(migration: Migration, use: Use, maker: cst.Call) -> cst.BaseExpression:
    """What a ServingInputReceiver receives, which must be the features. Raises Unconvertible."""
    scopes = migration.drafts[use.site.frame.module].scopes
    named = named_arguments(maker, _RECEIVED) or {}
    if "features" not in named or set(named) - {"features", "receiver_tensors"}:
        raise _refused(migration, use, "the arguments of its ServingInputReceiver cannot be read")
    tensors = settled(named["features"].value, scopes)
    if "receiver_tensors" in named and settled(named["receiver_tensors"].value, scopes) is not tensors:
        raise _refused(migration, use, "it receives tensors other than the features")
    return tensors


def _placeholder(
    migration: Migration, module: Module, node: cst.BaseExpression
) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """The shape and the type of a placeholder; None for anything else, or where it is not told both."""
    if not isinstance(node, cst.Call) or _tensorflow(migration, module, node.func) != "placeholder":
        return None
    named = named_arguments(node, ("dtype", "shape", "name")) or {}
    return (named["shape"].value, named["dtype"].value) if {"dtype", "shape"} <= named.keys() else None


def _exporter(
    migration: Migration, how: Predicting, title: str, specs: Mapping[str, Written], tf: str, quote: str
) -> Written:
    """The function that exports a model."""
    words = ("model", "folder", "features", "exported", "path", "predict")
    fresh = {word: numbered(word, how.names.__contains__) for word in words}
    predict = fresh["predict"]
    entries = Written.joined((Written.of(f"{quoted(key, quote)}: ", spec) for key, spec in specs.items()), ", ")
    lines: list[tuple[int, Written]] = [
        (0, Written.of(f"def {title}({fresh['model']}, {fresh['folder']}):")),
        (1, Written.of("# Like export_saved_model(): the predictions for a batch, in a folder named after the time.")),
        (1, Written.of(f"@{tf}.function(input_signature=[{{", entries, "}])")),
        (1, Written.of(f"def {predict}({fresh['features']}):")),
        (2, Written.of(f"{how.output} = {fresh['model']}({fresh['features']}, training=False)")),
        *((2, line) for line in how.lines),
        (2, Written.of("return ", *(() if how.by_name else (f"{{{quoted('output', quote)}: ",)), how.whole,
                       "" if how.by_name else "}")),
        (0, Written.of("")),
        (1, Written.of(f"{fresh['exported']} = {tf}.Module()")),
        (1, Written.of(f"{fresh['exported']}.model = {fresh['model']}")),
        (1, Written.of(f"{fresh['path']} = {tf}.io.gfile.join({fresh['folder']}, str(int({tf}.timestamp())))")),
        (1, Written.of(f"{tf}.saved_model.save({fresh['exported']}, {fresh['path']}, "
                       f"signatures={{{quoted('serving_default', quote)}: {predict}}})")),
        (1, Written.of(f"return {fresh['path']}.encode()")),
    ]  # fmt: skip
    indent = migration.module.tree.default_indent
    return Written.of(*_indented(lines, indent))


def _indented(lines: list[tuple[int, Written]], indent: str) -> Iterator[str | Written]:
    for place, (depth, line) in enumerate(lines):
        yield ("\n" if place else "") + indent * depth
        yield line


def _drop(migration: Migration, module: Module, function: cst.BaseExpression) -> None:
    """Take a receiver function out that nothing else mentions."""
    value = migration.value(module, function)
    if not isinstance(value, FunctionValue) or not isinstance(value.node, cst.FunctionDef):
        return
    name = value.node.name.value
    exports = {use.call for use in migration.uses() if use.method in EXPORTS}
    inside = {node for call in exports for node in walk(call)}
    mentions = migration.drafts[module].scopes.bindings(name)
    scope = mentions[0].scope if mentions else None
    if scope is None or len(mentions) != 1 or (module, name) in migration.facts.exported:
        return
    others = migration.drafts[module].scopes.of_variable(name, scope)
    if all(mention.binds or mention.node in inside for mention in others):
        migration.edits.append((module, Unwrap(value.node, None)))
