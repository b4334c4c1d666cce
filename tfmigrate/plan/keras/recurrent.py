"""Recurrent layers: their gates' activation and the place of the GRU's reset gate had other defaults."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import libcst as cst

from tfmigrate.old_keras import FIRST_WITH_RESET_AFTER, FIRST_WITH_SIGMOID
from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, has_stars, is_true, keywords, text_of
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.names.context import Context
from tfmigrate.settings import Settings
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.values import Symbol

_GATED = frozenset(f"keras.layers.{name}" for name in ("LSTM", "GRU", "ConvLSTM2D", "LSTMCell", "GRUCell"))
_ACTIVATIONS = ("activation", "recurrent_activation")
_HELPER = "keras_2_hard_sigmoid"
_FIRST_CLASSES = "tensorflow.python.keras.layers."
"""The private package has the layers of TensorFlow 1, defaults and all, in TensorFlow 2 too (measured on 2.3.4)."""


def check(context: Context) -> Iterator[CallChange]:
    yield from recurrent_defaults(context.facts, context.draft)
    yield from stateful_layers(context.facts)


def recurrent_defaults(facts: Facts, draft: Draft) -> Iterator[CallChange]:
    """Write the old defaults out; where nothing says which version the code was written for, ask."""
    settings = draft.settings
    written: list[tuple[cst.Call, cst.CSTNode, tuple[str, ...]]] = []
    for call in facts.module.calls:
        real = facts.symbols.get(call.func, "")
        known, flavour = names.canonical(real), names.flavour(real)
        if not known.startswith("keras.layers.") or has_stars(call):
            continue
        present = keywords(call)
        choice = sorted(option.name for option in facts.options(call.func) if isinstance(option, Symbol))
        if len(choice) > 1:
            yield from _say_choice(call, choice, present, settings)
            continue
        named = tuple(key for key in _ACTIVATIONS if key in present and text_of(present[key].value) == "hard_sigmoid")
        if named:
            written.append((call, present[named[0]], named))
        if known not in _GATED:
            continue
        old = real.startswith(_FIRST_CLASSES) or settings.written_before(flavour, FIRST_WITH_SIGMOID)
        if known in ("keras.layers.GRU", "keras.layers.GRUCell") and "reset_after" not in present:
            reset_first = settings.written_before(flavour, FIRST_WITH_RESET_AFTER)
            if old or reset_first or (reset_first is None and flavour == "keras"):
                message = "the GRU applied its reset gate before the product by default, and now applies it after"
                edit = Revision(call, set=(("reset_after", "False"),))
                yield CallChange(codes.RECURRENT_DEFAULTS, call, message, edit)
            elif reset_first is None:
                yield _ask(call, flavour, "reset_after", "False up to TensorFlow 1.15")
        if "recurrent_activation" in present:
            continue
        if old or known in _ALWAYS_HARD:
            written.append((call, call, ("recurrent_activation",)))
        elif old is None:
            before = "Keras 2.3" if flavour == "keras" else "TensorFlow 2.0"
            yield _ask(call, flavour, "recurrent_activation", f"'hard_sigmoid' before {before}")
    yield from _hard_sigmoids(written, Helper.of(draft, _HELPER))


def _say_choice(
    call: cst.Call, choice: Sequence[str], present: Collection[str], settings: Settings
) -> Iterator[CallChange]:
    """A class that is chosen when the script runs: what one of them takes is an error for another."""
    changed = []
    for real in choice:
        known, flavour = names.canonical(real), names.flavour(real)
        old = real.startswith(_FIRST_CLASSES) or settings.written_before(flavour, FIRST_WITH_SIGMOID)
        gru = known in ("keras.layers.GRU", "keras.layers.GRUCell") and "reset_after" not in present
        if known in _GATED and ((old is not False and "recurrent_activation" not in present) or gru):
            changed.append(known.rpartition(".")[2])
    if changed:
        message = (
            f"this may be {' or '.join(dict.fromkeys(changed))}, whose defaults have changed (recurrent_activation "
            "was 'hard_sigmoid', a GRU's reset_after False), and which one is known only when it runs: write them out "
            "where the class is chosen"
        )
        yield CallChange(codes.RECURRENT_DEFAULTS, call, message, action="warn")


_ALWAYS_HARD = frozenset({"keras.layers.ConvLSTM2D"})
"""Its gates were hard_sigmoid in every Keras 1 and 2 (tools/compare_defaults.py)."""


def _ask(call: cst.Call, flavour: str, argument: str, was: str) -> CallChange:
    package = "keras" if flavour == "keras" else "tensorflow"
    message = (
        f"`{argument}` has another default now ({was}), and the version this was written for is unknown: pass "
        f"--from {package}==VERSION, or write the argument"
    )
    return CallChange(codes.RECURRENT_DEFAULTS, call, message, action="warn")


def _hard_sigmoids(
    candidates: list[tuple[cst.Call, cst.CSTNode, tuple[str, ...]]], helper: Helper
) -> Iterator[CallChange]:
    """'hard_sigmoid' was 0.2 x + 0.5 and is x / 6 + 0.5 in Keras 3: a function of its own keeps the old one."""
    message = "'hard_sigmoid' was 0.2 * x + 0.5, and Keras 3 means another function by that name: written out"
    changes = [
        CallChange(
            codes.RECURRENT_DEFAULTS, node, message, Revision(call, set=tuple((key, helper.name) for key in keys))
        )
        for call, node, keys in candidates
    ]
    yield from helper.brought_by([call for call, _, _ in candidates], changes)


def stateful_layers(facts: Facts) -> Iterator[CallChange]:
    """`stateful=True`: Keras 2 refuses it under a strategy, and Keras 3 fails on a part of the batch it is made for."""
    for call in facts.module.calls:
        stateful = keywords(call).get("stateful")
        known = names.canonical(facts.symbols.get(call.func, ""))
        if stateful is not None and known.startswith("keras.layers.") and is_true(stateful.value):
            yield CallChange(
                codes.STATEFUL_LAYERS,
                stateful,
                "a stateful layer expects batches of one size, and under a strategy each replica gets a part of "
                "one: Keras 2 and 3 raise ValueError; train it on one GPU, or without stateful=True",
                action="warn",
            )
