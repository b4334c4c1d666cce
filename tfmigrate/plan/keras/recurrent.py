"""Recurrent layers: their gates' activation and the place of the GRU's reset gate had other defaults. And the function
`hard_sigmoid`, of any layer, which is another one in Keras 3."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from typing import TypeGuard

import libcst as cst

from tfmigrate.old_keras import FIRST_WITH_RESET_AFTER, FIRST_WITH_SIGMOID
from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, has_stars, is_true, keywords, passed_as, text_of
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.layer_places import models_by_node
from tfmigrate.plan.keras.saved_helpers import SavedHelper
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.settings import Settings
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import bindings_of, settled, values_of
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.values import Literal, ModelObject, Symbol
from tfmigrate.walk import walk

_GATED = frozenset(f"keras.layers.{name}" for name in ("LSTM", "GRU", "ConvLSTM2D", "LSTMCell", "GRUCell"))
_PLACES = {"ConvLSTM2D": 7}
"""Of `recurrent_activation`, by layer (Keras 2.2.4, 2.3.1 and tf.keras 1.15, by inspect.signature)."""
_PLACE = 2
"""Of all others."""
_INNER = "inner_activation"
"""What Keras 1 called `recurrent_activation`."""
_ACTIVATIONS = frozenset({"activation", "recurrent_activation", _INNER})
_HARD = "hard_sigmoid"
_HELPER = "keras_2_hard_sigmoid"
_FIRST_CLASSES = "tensorflow.python.keras.layers."
"""The private package has the layers of TensorFlow 1, defaults and all, in TensorFlow 2 too (measured on 2.3.4)."""


_TWO_BIASES = (
    "CuDNNLSTM added two biases and trained both, so their sum took two steps at a time; LSTM has one, which takes "
    "one step: the model trains a little differently"
)


def check(context: Context) -> Iterator[CallChange]:
    yield from recurrent_defaults(context.facts, context.settings)
    helper, written = Helper.of(context.draft, _HELPER), list(_hard_gates(context.facts, context.draft))
    yield from (change for change in written if change.action == "warn")
    done = [change for change in written if change.action != "warn"]
    yield from helper.brought_by([change.node for change in done], done)
    yield from context.migration.once(_saved).files(context)
    yield from stateful_layers(context.facts, context.migration)


def recurrent_defaults(facts: Facts, settings: Settings) -> Iterator[CallChange]:
    """Write the GRU's old default out; where nothing says which version the code was written for, ask."""
    for call, real, present in _layers(facts):
        known, flavour = names.canonical(real), names.flavour(real)
        choice = sorted(option.name for option in facts.options(call.func) if isinstance(option, Symbol))
        if len(choice) > 1:
            yield from _say_choice(call, choice, present, settings)
            continue
        if known == "keras.layers.CuDNNLSTM":
            yield CallChange(codes.RECURRENT_DEFAULTS, call, _TWO_BIASES, action="warn")
        if known not in _GATED:
            continue
        old = _is_old(real, settings)
        if known in ("keras.layers.GRU", "keras.layers.GRUCell") and "reset_after" not in present:
            reset_first = settings.written_before(flavour, FIRST_WITH_RESET_AFTER)
            if old or reset_first or (reset_first is None and flavour == "keras"):
                message = "by default the GRU applied its reset gate before the product, and now after it"
                edit = Revision(call, set=(("reset_after", "False"),))
                yield CallChange(codes.RECURRENT_DEFAULTS, call, message, edit)
            elif reset_first is None:
                yield _ask(call, flavour, "reset_after", "False up to TensorFlow 1.15")
        if old is None and known not in _ALWAYS_HARD and not _has_gates(call, known, present):
            before = "Keras 2.3" if flavour == "keras" else "TensorFlow 2.0"
            yield _ask(call, flavour, "recurrent_activation", f"'hard_sigmoid' before {before}")


def _layers(facts: Facts) -> Iterator[tuple[cst.Call, str, Mapping[str, cst.Arg]]]:
    """Each call of a layer of Keras whose arguments can be read, with its name and its keywords."""
    for call in facts.module.calls:
        real = facts.called(call)
        if names.canonical(real).startswith("keras.layers.") and not has_stars(call):
            yield call, real, keywords(call)


def _is_old(real: str, settings: Settings) -> bool | None:
    """Whether a layer's gates were hard_sigmoid by default; None where the version is not known."""
    return real.startswith(_FIRST_CLASSES) or settings.written_before(names.flavour(real), FIRST_WITH_SIGMOID)


def _has_gates(call: cst.Call, known: str, present: Container[str]) -> bool:
    """Whether a layer is given the activation of its gates."""
    place = _PLACES.get(known.rpartition(".")[2], _PLACE)
    return _INNER in present or passed_as("recurrent_activation", place, call) is not None


def _hard_gates(facts: Facts, draft: Draft) -> Iterator[CallChange]:
    """Where the function is written: by its name, and as the old default."""
    helper = Helper.of(draft, _HELPER)
    yield from _hard_sigmoids(facts, draft.scopes, helper)
    for call, real, present in _layers(facts):
        known = names.canonical(real)
        one = sum(isinstance(option, Symbol) for option in facts.options(call.func)) < 2
        is_hard = known in _ALWAYS_HARD or (known in _GATED and _is_old(real, draft.settings))
        if one and is_hard and not _has_gates(call, known, present):
            edit = Revision(call, set=(("recurrent_activation", helper.name),))
            yield CallChange(codes.RECURRENT_DEFAULTS, call, _WRITTEN_OUT, edit)


def _saved(migration: Migration) -> SavedHelper:
    """The function in files that hold a whole model."""
    used_at = {}
    for module in migration.leaving & migration.drafts.keys():
        draft = migration.drafts[module]
        done = frozenset(change.node for change in _hard_gates(draft.facts, draft) if change.action != "warn")
        if done:
            used_at[module] = done
    names_of = {Helper.of(migration.drafts[module], _HELPER).name for module in used_at}
    return SavedHelper(codes.RECURRENT_DEFAULTS, f"function {min(names_of, default=_HELPER)}", used_at)


def _say_choice(
    call: cst.Call, choice: Sequence[str], present: Collection[str], settings: Settings
) -> Iterator[CallChange]:
    """A class that is chosen when the script runs: what one of them takes is an error for another."""
    changed = []
    for real in choice:
        known, old = names.canonical(real), _is_old(real, settings)
        gru = known in ("keras.layers.GRU", "keras.layers.GRUCell") and "reset_after" not in present
        if known in _GATED and ((old is not False and "recurrent_activation" not in present) or gru):
            changed.append(known.rpartition(".")[2])
    if changed:
        message = (
            f"this may be {' or '.join(dict.fromkeys(changed))}, whose defaults have changed (recurrent_activation "
            "was 'hard_sigmoid', a GRU's reset_after False), and which one is only known at run time: write them "
            "out where the class is chosen"
        )
        yield CallChange(codes.RECURRENT_DEFAULTS, call, message, action="warn")


_ALWAYS_HARD = frozenset({"keras.layers.ConvLSTM2D"})
"""Its gates were hard_sigmoid in every Keras 1 and 2 (tools/compare_defaults.py)."""


def _ask(call: cst.Call, flavour: str, argument: str, was: str) -> CallChange:
    package = "keras" if flavour == "keras" else "tensorflow"
    message = (
        f"`{argument}` now has a different default ({was}), and the version this was written for is unknown: pass "
        f"--from {package}==VERSION, or write the argument"
    )
    return CallChange(codes.RECURRENT_DEFAULTS, call, message, action="warn")


_WRITTEN_OUT = "'hard_sigmoid' was 0.2 * x + 0.5, but is a different function in Keras 3: written out"
_MAYBE = (
    "the activation may be 'hard_sigmoid', which was 0.2 * x + 0.5 and is a different function in Keras 3: where it "
    "is chosen, pass a function that computes clip(0.2 * x + 0.5, 0, 1)"
)


def _hard_sigmoids(facts: Facts, scopes: Scopes, helper: Helper) -> Iterator[CallChange]:
    """'hard_sigmoid' was 0.2 x + 0.5 and is x / 6 + 0.5 in Keras 3: a function of its own keeps the old one. That of
    the backend, `K.hard_sigmoid`, is still the old one."""
    for call in facts.module.calls:
        for value in _activations(call, facts):
            if text_of(settled(value, scopes)) == _HARD:
                yield CallChange(codes.RECURRENT_DEFAULTS, value, _WRITTEN_OUT, Replace(value, helper.name))
            elif Literal(_HARD) in facts.options(value):
                yield CallChange(codes.RECURRENT_DEFAULTS, value, _MAYBE, action="warn")
    for node, name in facts.symbols.items():
        if names.canonical(name) == f"keras.activations.{_HARD}" and _is_reference(node, scopes):
            yield CallChange(codes.RECURRENT_DEFAULTS, node, _WRITTEN_OUT, Replace(node, helper.name))


_BY_NAME = frozenset({"keras.activations.get", "keras.activations.deserialize"})
_NO_LAYERS = frozenset({"keras.layers.Input", "keras.layers.InputLayer"})
"""They take names, and no activation."""


def _activations(call: cst.Call, facts: Facts) -> Iterator[cst.BaseExpression]:
    """What a call may be given as an activation. No positional argument of a layer is any other text of that name."""
    known = facts.canonical(call.func)
    if known in _BY_NAME or (known.startswith("keras.layers.") and known not in _NO_LAYERS):
        for arg in call.args:
            by_name = arg.keyword is not None and (known in _BY_NAME or arg.keyword.value in _ACTIVATIONS)
            if not arg.star and (by_name or arg.keyword is None):
                yield arg.value


def _is_reference(node: cst.CSTNode, scopes: Scopes) -> TypeGuard[cst.Name | cst.Attribute]:
    """Whether an expression names the function itself, and no variable that holds it."""
    if not isinstance(node, cst.Name):
        return isinstance(node, cst.Attribute)
    return all(isinstance(binding.node, cst.ImportAlias) for binding in bindings_of(node, scopes))


def _is_given_true(node: cst.BaseExpression, model: ModelObject, migration: Migration) -> bool:
    """Whether an argument of a layer is True by the caller of the function that builds a model of several replicas."""
    if model in migration.single:
        return False
    scopes = {module: draft.scopes for module, draft in migration.drafts.items()}
    places = {place for site in model.sites for place in site.chain() if node in walk(place.unit)}
    return any(is_true(value) for place in places for _, value in values_of(node, place.frame, scopes))


def stateful_layers(facts: Facts, migration: Migration) -> Iterator[CallChange]:
    """`stateful=True`: Keras 2 refuses it under a strategy, and Keras 3 fails on a part of the batch it is made for.

    A layer that goes into models alone which no strategy has to do with works as it did.
    """
    if not migration.spreads:
        return
    for call in facts.module.calls:
        stateful = keywords(call).get("stateful")
        known = facts.canonical(call.func)
        if stateful is None or not known.startswith("keras.layers."):
            continue
        models = migration.once(models_by_node).get(call)
        if is_true(stateful.value):
            spread = models is None or not models <= migration.single
        else:
            spread = any(_is_given_true(stateful.value, model, migration) for model in models or ())
        if spread:
            yield CallChange(
                codes.STATEFUL_LAYERS,
                stateful,
                "a stateful layer expects batches of a fixed size, but under a strategy each replica gets a part of "
                "one: Keras 2 and 3 raise ValueError; train it on one GPU, or without stateful=True",
                action="warn",
            )
