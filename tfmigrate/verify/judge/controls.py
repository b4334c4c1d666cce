"""Deliberately wrong migrations. A verifier that cannot tell them from the correct one proves nothing.

Each control is a pure function from a file of the migrated program to that file with one well-known mistake, the same
where the mistake cannot be made in it, and the causes under which `cause.find` should name it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import libcst as cst

from tfmigrate.verify.judge import mutations
from tfmigrate.verify.judge.causes.evidence import Kind

Mutation = Callable[[cst.Module, int], cst.Module]
"""A tree and the number of replicas to a tree, the same object where the mistake cannot be made."""


Subject = Literal[
    "batch size",
    "learning rate",
    "optimizer",
    "shuffling",
    "scope",
    "sample weights",
    "validation",
    "loss",
    "steps",
    "epochs",
    "regularizers",
    "dropout",
    "loaded weights",
    "frozen layers",
    "precision",
    "predictions",
]
"""What a mistake is about."""


BROUGHT_BY_NONE: frozenset[Subject] = frozenset({"precision"})
"""Mistakes that are made beside a migration at most: where one is not seen, the verdict is no worse for it."""


@dataclass(frozen=True)
class Control:
    """One mistake; `mutation` is its name in the report, `{}` in it the number of replicas."""

    mutation: str
    subject: Subject
    mutate: Mutation
    expected: frozenset[Kind]
    kerases: frozenset[Literal[2, 3]]
    """Where it is a mistake at all."""
    may_do_nothing: bool
    """Whether the changed line bears on training, the text cannot tell (weights loaded after it, say): a run that
    equals the right one in everything recorded is then set aside, and said to be."""


@dataclass(frozen=True)
class Mutant:
    """A program with one mistake in it, made in every file where it can be."""

    mutation: str
    subject: Subject
    files: Mapping[str, str]
    """The changed ones, path in the program to text."""
    expected: frozenset[Kind]
    may_do_nothing: bool = False


def mutants(
    program: Mapping[str, str | bytes],
    script: str,
    replicas: int,
    keras: Literal[2, 3],
    chosen: Sequence[Control] | None = None,
) -> Iterator[Mutant]:
    """Every control, of CONTROLS or those chosen, that applies to the migrated program (path to source of each module).

    A mistake that only another file than `script` can make may lie in code that this script never runs.
    Raises libcst.ParserSyntaxError when `script` is not Python; another file that is none is left alone.
    """
    modules = {script: cst.parse_module(program[script])}
    for path, source in program.items():
        if path != script:
            with contextlib.suppress(cst.ParserSyntaxError, UnicodeDecodeError):
                modules[path] = cst.parse_module(source)
    codes = {path: module.code for path, module in modules.items()}
    for control in CONTROLS if chosen is None else chosen:
        if keras not in control.kerases:
            continue
        mutated = {path: control.mutate(module, replicas) for path, module in modules.items()}
        changed = {
            path: code
            for path, module in mutated.items()
            if module is not modules[path] and (code := module.code) != codes[path]
        }
        if changed:
            may_do_nothing = control.may_do_nothing or script not in changed
            yield Mutant(control.mutation.format(replicas), control.subject, changed, control.expected, may_do_nothing)


ONLY_3: frozenset[Literal[2, 3]] = frozenset({3})


def _mistake(
    mutation: str,
    subject: Subject,
    mutate: Mutation,
    *expected: Kind,
    kerases: frozenset[Literal[2, 3]] = frozenset({2, 3}),
    may_do_nothing: bool = False,
) -> Control:
    return Control(mutation, subject, mutate, frozenset(expected), kerases, may_do_nothing)


_NOT_LOADED = _mistake(
    "weights not loaded", "loaded weights", mutations.load_skipped, "initial weights", may_do_nothing=True
)
PREDICTION_CONTROLS = (
    _mistake("scope missing", "scope", mutations.scope_missing, "scope"),
    _NOT_LOADED,
    _mistake(
        "another model than the loaded one",
        "loaded weights",
        mutations.another_model,
        "initial weights",
        may_do_nothing=True,
    ),
    _mistake("last rows lost", "predictions", mutations.rows_lost, "rows", may_do_nothing=True),
    _mistake(
        "rows in another order",
        "predictions",
        mutations.rows_in_another_order,
        "data",
        "predictions",
        may_do_nothing=True,
    ),
    _mistake("predict_on_batch", "predictions", mutations.predicted_on_batch, "rows", "crash", kerases=ONLY_3),
    _mistake("half precision", "precision", mutations.predicted_in_half_precision, "dtype", may_do_nothing=True),
)
"""Mistakes of a migration of a script that trains nothing. One row at a time has no order, a dataset none that can be
changed from without, and `predict_on_batch` takes no generator."""

CONTROLS = (
    # A first batch that the replicas do not divide kills Keras 3 (docs/semantics.md); one of all rows gets no larger.
    _mistake("batch x{}", "batch size", mutations.batch_times_replicas, "batch size", "crash", may_do_nothing=True),
    _mistake("learning rate x{}", "learning rate", mutations.learning_rate_times_replicas, "learning rate"),
    # The optimizer may be one of several that the script chooses from; that of compile() is recorded with its settings.
    _mistake(
        "changed default left unwritten",
        "optimizer",
        mutations.default_unwritten,
        "learning rate",
        "update rule",
        may_do_nothing=True,
    ),
    _mistake("shuffle lost", "shuffling", mutations.shuffle_lost, "shuffle"),
    _mistake("scope missing", "scope", mutations.scope_missing, "scope"),
    _mistake("compile outside the scope", "scope", mutations.compile_outside_scope, "scope", kerases=ONLY_3),
    _mistake("class or sample weights dropped", "sample weights", mutations.weights_dropped, "sample weights"),
    # The script may do that itself.
    _mistake(
        "validated on the training data", "validation", mutations.wrong_validation, "validation", may_do_nothing=True
    ),
    # Beside a regularizer, or weighed once more by class weights, the ratio of the losses is no whole number.
    _mistake("loss that takes the mean itself", "loss", mutations.scalar_loss, "loss scale", "loss", kerases=ONLY_3),
    _mistake("loss / {}", "loss", mutations.loss_divided, "loss scale", "loss"),
    _mistake("another loss", "loss", mutations.other_loss, "loss"),
    # A number that the command line gives may be 1; what is written may be the default, or stand in a branch that is
    # not taken: all of them are recorded as asked for.
    _mistake("steps an epoch / {}", "steps", mutations.steps_divided, "data", may_do_nothing=True),
    _mistake("epochs / {}", "epochs", mutations.epochs_divided, "epochs", may_do_nothing=True),
    _mistake("optimizer settings dropped", "optimizer", mutations.settings_dropped, "update rule", may_do_nothing=True),
    _mistake("regularizer lost", "regularizers", mutations.regularizer_lost, "regularizer", may_do_nothing=True),
    _mistake("dropout halved", "dropout", mutations.dropout_halved, "dropout", may_do_nothing=True),
    _NOT_LOADED,
    _mistake("frozen layers learn", "frozen layers", mutations.layers_thawed, "frozen layers", may_do_nothing=True),
    # K.clear_session() of Keras 3 forgets the policy that it sets.
    _mistake("half precision", "precision", mutations.half_precision, "dtype", may_do_nothing=True),
)
"""Those that every verdict needs come first; a script offers at least the learning rate, the scope and the loss."""

_OF_ESTIMATORS = (
    _mistake("batch of one replica", "batch size", mutations.batch_of_one_replica, "batch size", "crash", "data"),
    _mistake("batch x{}", "batch size", mutations.batch_times_replicas, "batch size", "crash", "data"),
    # `num_replicas_in_sync`, by which the batch is multiplied, is 1 then.
    _mistake("scope missing", "scope", mutations.scope_missing, "scope", "batch size"),
)
ESTIMATOR_CONTROLS = (
    *_OF_ESTIMATORS,
    *(control for control in CONTROLS if control.mutation not in {own.mutation for own in _OF_ESTIMATORS}),
)
"""With mistakes of a migration from tf.estimator in the place of those of the same name. A batch of 1 on two replicas
kills Keras 3 (docs/semantics.md), and rounds that are not full are dropped, so that a few samples make none."""


def controls_of(*, predicts: bool, estimators: bool) -> tuple[Control, ...]:
    """The mistakes that can be made in a program that only predicts, trains Estimators, or trains models of Keras."""
    if predicts:
        return PREDICTION_CONTROLS
    return ESTIMATOR_CONTROLS if estimators else CONTROLS
