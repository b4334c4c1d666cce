"""`self.session.run(self.kept, feed_dict={self.boxes: found})`: what a class feeds to a graph that it made once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Remove, Replace
from tfmigrate.plan.keras.fed_graphs import FedGraph, Operation, Run, variables
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand.module import Module
from tfmigrate.walk import words_in
from tfmigrate.written import Code, Written

_GONE = "TensorFlow 2 has neither placeholders nor sessions; the fed value becomes an argument"
_FUNCTION = "TensorFlow 2 has no sessions: the operation becomes a function of the values it was fed"
_PREDICT = "TensorFlow 2 has no sessions: predict() returns the output of the model"


def check(context: Context) -> Iterator[CallChange]:
    """The operation becomes a function of what it is fed, where a class does nothing else with the parts of it."""
    yield from fed_operations(context.migration).get(context.facts.module, ())


def fed_operations(migration: Migration) -> Mapping[Module, Sequence[CallChange]]:
    """The changes in each module: a class is taken together with those below it."""
    return migration.once(_changes)


def _changes(migration: Migration) -> dict[Module, list[CallChange]]:
    changes: dict[Module, list[CallChange]] = {}
    for module, facts in migration.facts.modules.items():
        for node in module.tree.body if module in migration.drafts else ():
            if isinstance(node, cst.ClassDef) and "run" in words_in(node):
                graph = FedGraph(node, facts, migration)
                for change in _as_functions(graph, migration.drafts[module]):
                    changes.setdefault(graph.facts_of[change.node].module, []).append(change)
    return changes


def _as_functions(graph: FedGraph, draft: Draft) -> Iterator[CallChange]:
    known = [run for run in graph.runs if run is not None]
    operations = graph.operations
    if not known or len(known) < len(graph.runs) or not graph.keeps_to_itself(known, operations):
        return
    changes = [_as_function(operation, known, graph, draft) for operation in operations]
    if any(change is None for change in changes):
        return
    for change in changes:
        yield from change or ()
    for run in known:
        if run.model is not None:
            predict = Written.of(f"{run.model}.predict(", run.fed[run.model], ", verbose=0)")
            yield CallChange(codes.FED_OPERATIONS, run.call, _PREDICT, Replace(run.call, predict.code))
    kept = [graph.assigned[name] for name in (*graph.placeholders, *graph.sessions)]
    for statement in (*kept, *graph.closings):
        yield CallChange(codes.FED_OPERATIONS, statement, _GONE, Remove(statement))


def _as_function(operation: Operation, runs: Sequence[Run], graph: FedGraph, draft: Draft) -> list[CallChange] | None:
    """The operation as a function, and its calls; None where it is fed otherwise than it reads."""
    reads = graph.reads(operation)
    own = [run for run in runs if run.fetched == operation.kept]
    if not own or not _feed(own, reads.values(), graph) or graph.changes_later(operation):
        return None
    parameters = _parameters(operation, reads.values(), graph)
    mode = ", training=True" if own[0].training else ""
    parts = {}
    for part, key in reads.items():
        dtype = graph.dtype(key)
        parts[part] = Written.of(
            f"{key}({parameters[key]}{mode})"
            if dtype is None
            else f"{draft.tf}.cast({parameters[key]}, {draft.quote}{dtype}{draft.quote})"
        )
    function = Written.of(f"lambda {', '.join(parameters.values())}: ", Written.at(operation.value, parts).apart())
    written: list[tuple[cst.BaseExpression, str | Code]] = [
        (operation.value, function.code),
        *_renamed(operation, graph, draft),
        *((run.call, _called(operation, run, parameters).code) for run in own),
    ]
    return [CallChange(codes.FED_OPERATIONS, node, _FUNCTION, Replace(node, code)) for node, code in written]


def _feed(runs: Sequence[Run], reads: Collection[str], graph: FedGraph) -> bool:
    """Whether each run feeds all that an operation reads, in the same mode; what a model gives is computed once."""
    models = [key for key in reads if graph.dtype(key) is None]
    fits = all(run.fed.keys() == set(reads) and run.training == runs[0].training for run in runs)
    return fits and len(models) == len(set(models))


def _called(operation: Operation, run: Run, parameters: Iterable[str]) -> Written:
    """The call of the function that gives what a call of run() gave."""
    arguments = Written.joined([Written.at(run.fed[key]) for key in parameters], ", ")
    called = Written.of(f"self.{operation.name}(", arguments, ")")
    if len(operation.kept) > 1:
        return Written.of("[each.numpy() for each in ", called, "]")
    return Written.of("[", called, ".numpy()]") if run.several else Written.of(called, ".numpy()")


def _renamed(operation: Operation, graph: FedGraph, draft: Draft) -> Iterator[tuple[cst.BaseExpression, str]]:
    """The function has one name where its parts had several."""
    if len(operation.kept) > 1:
        yield operation.assignment.targets[0].target, f"self.{operation.name}"
    if operation.local is not None and operation.returned is not None:
        name = draft.scopes.fresh("evaluate", draft.scopes.by_node[graph.methods[operation.local]])
        yield operation.local.targets[0].target, name
        yield operation.returned, name


def _parameters(operation: Operation, reads: Collection[str], graph: FedGraph) -> dict[str, str]:
    """What the function calls what it is fed: a placeholder by its attribute's name, a model's input `inputs`."""
    taken = variables(operation.value)
    models = [key for key in reads if graph.dtype(key) is None]
    placeholders = [key for key in (f"self.{name}" for name in graph.placeholders) if key in reads]
    parameters: dict[str, str] = {}
    for key in (*models, *placeholders):
        wanted = "inputs" if graph.dtype(key) is None else key.removeprefix("self.")
        while wanted in taken:
            wanted += "_"
        taken.add(wanted)
        parameters[key] = wanted
    return parameters
