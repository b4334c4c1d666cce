from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tfmigrate.verify.judge import cause, crash
from tfmigrate.verify.judge.align import tolerance
from tfmigrate.verify.judge.causes.evidence import Divergence, watched_in_vain
from tfmigrate.verify.judge.compare import compare
from tfmigrate.verify.judge.optimizers import pair_compiles
from tfmigrate.verify.judge.weights import GradientRatio
from tfmigrate.verify.probe.session import both_ends_of
from tfmigrate.verify.run.trace import Cut, Trace

from .simulated import Training, migrated, train, train_each

OLD = Training()
Own = tuple[float, float, bool, float | None] | None


def find(old: Trace, new: Trace) -> Divergence | None:
    return cause.find(old, new, compare(old, new, tolerance(0.0, len(old.steps))))


def named(old: Trace, new: Trace) -> Divergence:
    found = find(old, new)
    assert found is not None
    return found


def between(folder: Path, old: Training, new: Training) -> Divergence:
    return named(train(folder / "old", old), train(folder / "new", new))


def test_equivalent_runs_have_no_cause(tmp_path: Path) -> None:
    assert find(train(tmp_path / "old", OLD), train(tmp_path / "new", migrated(OLD))) is None


@pytest.mark.parametrize(
    ("change", "kind", "words", "at"),
    [
        ({"initial_seed": 3}, "initial weights", "kernel", (0, 0)),
        ({"batch_size": 128}, "batch size", "batches of 128 where 64 was asked for: x2", (0, 0)),
        ({"batch_size": 32}, "batch size", "1/2", (0, 0)),
        ({"data_seed": 3}, "data", "different content, first", (0, 0)),
        ({"shifted": 1e-4}, "data", "different content (values differ by up to 0.0001 of their size), first", (0, 0)),
        ({"shifted": 1e-5}, "data", "different content (values differ by up to 1e-05 of their size), first", (0, 0)),
        ({"samples": 192}, "data", "256 samples an epoch became 192", (0, 3)),
        ({"epochs": 1, "asked_epochs": 3}, "data", "ended after 1 epoch instead of 3 epochs", (1, 0)),
        ({"epochs": 1}, "epochs", "3 epochs became 1: 1/3 of it", (None, None)),
        ({"loaded": True}, "initial weights", "a file gave weights", (0, 0)),
        ({"frozen": True}, "frozen layers", "1 tensors are trained where 2 tensors were", (0, 0)),
        ({"dtypes": ("bfloat16",)}, "dtype", "computed in bfloat16 where it was float32", (0, 0)),
        ({"regularizers": ("kernel l2=0.1",)}, "regularizer", "none became kernel l2=0.1", (0, 0)),
        ({"constraints": ("kernel max_value=2",)}, "constraint", "max_value=2 where they were none", (0, 0)),
        ({"loss": "mse", "gradient_scale": 1.3}, "loss", "categorical_crossentropy became mse", (0, 0)),
        ({"masked": True, "gradient_scale": 1.46}, "loss", "a mask (mask_zero=, Masking) reaches it", (0, 0)),
        ({"noise": ("Dropout 0.5",)}, "dropout", "none became Dropout 0.5", (None, None)),
        ({"class_weight": True}, "sample weights", "class weights were added", (0, 0)),
        ({"gradient_scale": 2.0}, "loss scale", "2 times", (0, 0)),
        ({"gradient_scale": 0.25}, "loss scale", "1/4 of", (0, 0)),
        ({"learning_rate": 0.25}, "learning rate", "learning_rate 0.5 -> 0.25: 1/2 of it", (0, 1)),
        ({"drop_rate_after": 1}, "learning rate", "0.5 -> 0.25: 1/2 of it from epoch 1, step 0 on", (1, 0)),
        ({"optimizer": "adam"}, "update rule", "sgd(learning_rate=0.5) became adam(learning_rate=0.5)", (0, 0)),
        ({"config": (("momentum", 0.9),)}, "update rule", "momentum None -> 0.9", (0, 0)),
        ({"replicas": 1}, "scope", "1 replica instead of 2", (0, 0)),
        ({"shuffle": "none"}, "shuffle", "no longer shuffled (full -> none)", (None, None)),
        ({"shuffle": "buffer 64"}, "shuffle", "full -> buffer 64", (None, None)),
        ({"validation_content": "0"}, "validation", "on the same number of rows with different content", (None, None)),
        ({"validation_samples": 16}, "validation", "64 validation samples became 16", (None, None)),
    ],
)
def test_each_mistake_is_named(
    tmp_path: Path, change: dict[str, object], kind: str, words: str, at: tuple[int | None, int | None]
) -> None:
    found = between(tmp_path, OLD, replace(migrated(OLD), **change))
    assert (found.kind, (found.epoch, found.step)) == (kind, at)
    assert words in found.cause


PART = {"gradient_scale": 1.3}
LATER = {"step_scale": 1.1}
KERNEL, HE = "0 dense kernel: GlorotUniform", "0 dense_1 kernel: HeUniform"
BIAS = "0 dense bias: Zeros"


def watching(callback: str, name: str) -> dict[str, object]:
    return {"watched": ((callback, name),)}


@pytest.mark.parametrize(
    ("event", "old", "new", "change", "kind", "words"),
    [
        ("compiles", {"loss_weights": (1.0, 0.5)}, {}, PART, "loss weights", "1, 0.5, became none"),
        ("compiles", {"loss_weights": (1.0, 0.5)}, {"loss_weights": (1.0, 0.2)}, PART, "loss weights", "became 1, 0.2"),
        ("steps", {"weighed": (0.5, 1.0)}, {"weighed": (0.0, 0.0)}, PART, "sample weights", "have no weights any more"),
        ("steps", {"weighed": (0.5, 1.0)}, {"weighed": (0.2, 0.4)}, PART, "sample weights", "(mean 1.5 -> 1.2)"),
        ("steps", {"weighed": (0.0, 0.0)}, {"weighed": (0.0, 0.4)}, PART, "sample weights", "were given weights"),
        ("models", {"initializers": (KERNEL, BIAS)}, {"initializers": (HE, BIAS)}, {}, "initial weights",
         "the initializer of dense kernel is HeUniform instead of GlorotUniform"),
        ("fits", {"dropped": ("dropout 0.5",)}, {"dropped": ("dropout 0.2",)}, PART, "dropout", "became dropout 0.2"),
        ("fits", {"dropped": ("dropout 0.5",)}, {}, PART, "dropout", "dropout 0.5 became none"),
        ("fits", {"callbacks": ("Decay", "Log")}, {"callbacks": ("Log",)}, LATER, "callback", "trains with Decay"),
        ("fits", {"callbacks": ("LearningRateScheduler",)}, {}, {"drop_rate_after": 1}, "learning rate",
         "from epoch 1, step 0 on; the old script trains with LearningRateScheduler, the new one without"),
        ("fits", {"callbacks": ("EarlyStopping",)}, {}, {"epochs": 1, "asked_epochs": 3}, "data",
         "though all losses up to there agree: the old script trains with EarlyStopping, the new one without"),
        ("fits", watching("EarlyStopping", "val_loss"), watching("EarlyStopping", "val_acc"),
         {"epochs": 1, "asked_epochs": 3}, "data", "EarlyStopping watches val_acc, which the"),
        ("fits", watching("ReduceLROnPlateau", "val_loss"), watching("ReduceLROnPlateau", "val_acc"),
         {"drop_rate_after": 1}, "learning rate", "watches val_acc, which the new script does not log: it logs loss"),
        ("models", {}, {"own_step": "Net.train_step"}, PART, "models", "with its own Net.train_step(), which the old"),
    ],
)  # fmt: skip
def test_what_is_gone_has_a_name(
    tmp_path: Path,
    event: str,
    old: dict[str, object],
    new: dict[str, object],
    change: dict[str, object],
    kind: str,
    words: str,
) -> None:
    traces = train(tmp_path / "old", OLD), train(tmp_path / "new", replace(migrated(OLD), **change))
    told = [
        replace(trace, **{event: tuple(replace(one, **facts) for one in getattr(trace, event))})
        for trace, facts in zip(traces, (old, new))
    ]
    found = named(*told)
    assert found.kind == kind
    assert words in found.cause


@pytest.mark.parametrize(
    ("event", "old", "new"),
    [
        ("models", {"initializers": (KERNEL, BIAS)}, {"initializers": ("0 d kernel: GlorotUniform",)}),
        ("models", {"initializers": (KERNEL,)}, {"initializers": (HE, "1 dense_2 kernel: HeUniform")}),
        ("models", {"initializers": (KERNEL,), "loaded": True}, {"initializers": (HE,), "loaded": True}),
        ("fits", {"callbacks": ("ParallelCheckpoint",)}, {"callbacks": ("ModelCheckpoint",)}),
        ("fits", {"callbacks": ("Log",)}, {}),
        ("fits", {}, watching("EarlyStopping", "val_acc")),
        ("models", {}, {"own_step": "Net.train_step"}),
        ("steps", {"weighed": (0.5, 1.0)}, {"weighed": None}),
        ("steps", {"weighed": (0.5, 1.0)}, {"weighed": (0.5000001, 1.0)}),
    ],
)
def test_what_only_looks_gone_is_no_difference(
    tmp_path: Path, event: str, old: dict[str, object], new: dict[str, object]
) -> None:
    told = [
        replace(trace, **{event: tuple(replace(one, **facts) for one in getattr(trace, event))})
        for trace, facts in zip((train(tmp_path / "old", OLD), train(tmp_path / "new", migrated(OLD))), (old, new))
    ]
    assert find(*told) is None


def test_a_callback_watches_in_vain_where_its_value_was_logged_before(tmp_path: Path) -> None:
    old, new = train(tmp_path / "old", OLD), train(tmp_path / "new", migrated(OLD))

    def told(before: str, after: str) -> str:
        fits = [
            tuple(replace(fit, **watching("ModelCheckpoint", name)) for fit in trace.fits)  # type: ignore[arg-type]
            for trace, name in ((old, before), (new, after))
        ]
        return watched_in_vain(replace(old, fits=fits[0]), replace(new, fits=fits[1]))

    assert told("val_loss", "val_acc").startswith("ModelCheckpoint watches val_acc, which the new script does not log")
    assert not told("val_loss", "val_loss")
    assert not told("val_f1", "val_f1"), "what the old script does not log either"
    assert not watched_in_vain(old, new)


def test_a_changed_default_is_called_one(tmp_path: Path) -> None:
    old = Training(optimizer="adadelta", learning_rate=1.0)
    found = between(tmp_path, old, replace(migrated(old), learning_rate=0.001))
    assert found.kind == "learning rate"
    assert found.cause == "adadelta learning_rate 1 -> 0.001: changed default"


def test_the_changed_default_is_found_behind_float32(tmp_path: Path) -> None:
    old, new = train(tmp_path / "old", OLD), train(tmp_path / "new", replace(migrated(OLD), learning_rate=0.25))
    a = replace(old.compiles[0], optimizer="Nadam", config={"lr": 0.0020000000949949026})
    b = replace(new.compiles[0], optimizer="nadam", config={"learning_rate": 0.0010000000474974513})
    found = named(replace(old, compiles=(a,)), replace(new, compiles=(b,)))
    assert found.cause == "nadam learning_rate 0.002 -> 0.001: changed default"


def test_a_squared_epsilon_of_rmsprop_is_the_same_rule(tmp_path: Path) -> None:
    old, new = train(tmp_path / "old", OLD), train(tmp_path / "new", migrated(OLD))

    def with_epsilon(trace: Trace, name: str, epsilon: float) -> Trace:
        return replace(trace, compiles=(replace(trace.compiles[0], optimizer=name, config={"epsilon": epsilon}),))

    assert find(with_epsilon(old, "rmsprop", 1e-7), with_epsilon(new, "rmsprop", 1e-14)) is None
    drifting = train(tmp_path / "drifting", replace(migrated(OLD), step_scale=1.01))
    for new_epsilon in (1e-7, 1e-14):
        drift = named(with_epsilon(old, "rmsprop", 1e-7), with_epsilon(drifting, "rmsprop", new_epsilon))
        assert drift.kind == "unknown"
        assert "rmsprop adds epsilon to the square root in TensorFlow 1.15.0 and under it since 2.11" in drift.cause
    left = named(with_epsilon(old, "adam", 1e-7), with_epsilon(new, "adam", 1e-14))
    assert left.kind == "update rule"


def test_a_large_remainder_drift_is_put_down_to_the_remainder(tmp_path: Path) -> None:
    old = Training(samples=64 + 3, class_weight=True, epochs=2, learning_rate=40.0)
    found = between(tmp_path, old, migrated(old))
    assert found.kind == "remainder batch"
    assert (found.epoch, found.step) == (0, 1)


@pytest.mark.parametrize("momentum", [0.5, 0.99, 0.999])
def test_another_momentum_of_batch_norm_is_no_known_difference(tmp_path: Path, momentum: float) -> None:
    old = replace(OLD, moving_averages=True)
    assert find(train(tmp_path / "old", old), train(tmp_path / "new", migrated(old))) is None
    found = named(train(tmp_path / "old", old), train(tmp_path / "wrong", replace(migrated(old), momentum=momentum)))
    assert (found.kind, found.epoch, found.step) == ("batch norm", 0, 0)
    assert "check momentum" in found.cause


@pytest.mark.parametrize("momentum", [0.9, 0.99])
def test_averages_that_old_keras_corrected_for_beginning_at_zero_are_known(tmp_path: Path, momentum: float) -> None:
    """The first step in Keras 2.2 sets them to the statistics of the batch; today it moves them 1% of the way."""
    old = replace(OLD, moving_averages=True, momentum=momentum, keras="2.2.4")
    a, b = train(tmp_path / "old", old), train(tmp_path / "new", migrated(old))
    assert find(a, b) is None
    (known,) = compare(a, b, 1e-5).known
    assert "corrected them for starting at zero" in known.what
    of_today = train(tmp_path / "restored", replace(old, keras="2.3.1"))
    (known,) = compare(of_today, b, 1e-5).known
    assert "corrected" not in known.what


def test_an_estimator_takes_as_many_steps_as_asked_for_at_most(tmp_path: Path) -> None:
    """Where its data ends before, the new script knows that when it begins, which a budget of one step shows."""
    old = replace(train(tmp_path / "old", replace(OLD, call="train", epochs=1)), cut=Cut(0, 1, 24, 4))
    new = train(tmp_path / "new", replace(migrated(OLD), epochs=1))
    new = replace(new, epochs=(replace(new.epochs[0], logs=old.epochs[0].logs),), fits=new.fits)
    assert find(old, replace(new, cut=Cut(0, 1, 20, 4))) is None
    found = named(old, replace(new, cut=Cut(0, 1, 48, 4)))
    assert "24 steps became epochs of 48" in found.cause
    keras = replace(old, fits=tuple(replace(fit, call="fit") for fit in old.fits))
    assert find(keras, replace(new, cut=Cut(0, 1, 20, 4))) is not None


def test_batch_norm_over_whole_batches_has_a_name(tmp_path: Path) -> None:
    old = replace(OLD, moving_averages=True, call="train_on_batch")
    apart = replace(migrated(old), gradient_scale=1.3)
    found = between(tmp_path / "a", old, apart)
    assert (found.kind, found.epoch, found.step) == ("batch norm", 0, 0)
    assert "train_on_batch of Keras 3 gives each replica the whole batch" in found.cause
    assert "TFM432" in found.cause
    for other in ({"call": "fit"}, {"moving_averages": False}, {"replicas": 1}):
        told = between(tmp_path / str(other), replace(old, **other), replace(apart, **other))
        assert "TFM432" not in told.cause
    assert between(tmp_path / "b", old, replace(apart, batch_size=128)).kind == "batch size"
    later = between(tmp_path / "c", old, replace(migrated(old), step_scale=1.1))
    assert "TFM432" not in later.cause, "the first step shows it, or none"


def test_a_frozen_batch_norm_has_a_name(tmp_path: Path) -> None:
    def frozen(trace: Trace) -> Trace:
        kept = [(name, shape, trainable) for name, shape, trainable in trace.models[0].weights if not trainable]
        named = (("bn_1/gamma", kept[0][1], False), *(("bn_1/moving_mean", shape, False) for _, shape, _ in kept[1:]))
        own = tuple(weight for weight in trace.models[0].weights if weight[2])
        return replace(trace, models=(replace(trace.models[0], weights=(*own, *named)),))

    asked = replace(OLD, moving_averages=True)
    old = train(tmp_path / "old", asked)
    new = train(tmp_path / "new", replace(migrated(asked), penalty=0.3))
    found = named(frozen(old), frozen(new))
    assert found.kind == "batch norm"
    assert "bn_1 is frozen" in found.cause
    assert "TFM445" in found.cause
    steeper = train(tmp_path / "steeper", replace(migrated(asked), gradient_scale=1.3))
    steps = tuple(replace(step, loss=was.loss) for step, was in zip(steeper.steps, old.steps))
    steeper = replace(steeper, steps=steps)
    found = named(frozen(old), frozen(steeper))
    assert found.cause.startswith("the first gradient differs: bn_1 is frozen")
    found = named(old, new)
    assert "TFM445" not in found.cause
    own = replace(frozen(new), models=(replace(frozen(new).models[0], own_batch_norms=("bn_1",)),))
    found = named(frozen(old), own)
    assert "TFM445" not in found.cause, "the script's own class normalises by the batch"
    today = replace(frozen(old), start=new.start)
    found = named(today, frozen(new))
    assert "TFM445" not in found.cause, "both take the moving statistics"


def test_a_plain_generator_under_keras_3_skips_batches(tmp_path: Path) -> None:
    old, new = train(tmp_path / "old", OLD), train(tmp_path / "new", migrated(OLD))
    steps = tuple(replace(s, fingerprint="other", sketch=None) if s.step >= 2 else s for s in new.steps)
    fits = tuple(replace(fit, source="generator") for fit in new.fits)
    found = named(old, replace(new, steps=steps, fits=fits))
    assert (found.kind, found.epoch, found.step) == ("data", 0, 2)
    assert found.cause.endswith("skips batches of a plain Python generator (TFM402)")
    found = named(old, replace(new, steps=steps))
    assert "TFM402" not in found.cause


def test_a_first_batch_that_does_not_divide_is_named(tmp_path: Path) -> None:
    old = train(tmp_path / "old", OLD)
    error = (
        "InvalidArgumentError: Inputs to operation AddN of type AddN must have the same size and shape. (train.py:6)"
    )
    found = crash.of_crash(old, Trace(tmp_path), compare(old, Trace(tmp_path), 1e-5), error)
    assert found.kind == "crash"
    assert "choose a batch size that is a multiple" in found.cause


def test_an_epoch_to_each_training_call_is_told(tmp_path: Path) -> None:
    old = train(tmp_path / "old", replace(OLD, epochs=2))
    new = train_each(tmp_path / "new", [replace(migrated(OLD), epochs=1)] * 2)
    found = named(old, replace(new, models=new.models[:1]))
    assert found.cause == "2 epochs became 1: 1/2 of it; 1 training calls became 2"


def from_epoch(trace: Trace, first: int) -> Trace:
    """As with this `initial_epoch`."""
    steps = tuple(replace(step, epoch=step.epoch + first) for step in trace.steps)
    return replace(trace, steps=steps, epochs=tuple(replace(e, epoch=e.epoch + first) for e in trace.epochs))


def test_epochs_that_count_from_elsewhere(tmp_path: Path) -> None:
    old, new = train(tmp_path / "old", OLD), train(tmp_path / "new", migrated(OLD))
    found = named(from_epoch(old, 2), new)
    assert (found.kind, found.cause) == ("epochs", "epochs are counted from 0 instead of 2 (initial_epoch)")
    assert find(from_epoch(old, 2), from_epoch(new, 2)) is None


def test_where_losses_part_the_epoch_at_which_training_is_stopped_is_no_cause(tmp_path: Path) -> None:
    stopped = replace(OLD, epochs=2, asked_epochs=3)
    changed = replace(migrated(OLD), gradient_scale=1.3)
    found = between(tmp_path, stopped, changed)
    assert (found.kind, found.epoch, found.step) == ("unknown", 0, 0)
    assert "the first loss differs (" in found.cause


def test_what_is_validated_may_end_the_training(tmp_path: Path) -> None:
    old, new = train(tmp_path / "old", OLD), train(tmp_path / "new", replace(migrated(OLD), epochs=2, asked_epochs=3))
    other = tuple(replace(e, logs={**e.logs, "val_loss": e.logs["val_loss"] * 1.2}) for e in new.epochs)
    found = named(old, replace(new, epochs=other))
    assert found.kind == "validation"
    assert found.cause.endswith("though training agrees, and training ended after 2 epochs instead of 3 epochs")


def test_a_known_remainder_does_not_stand_before_the_cause(tmp_path: Path) -> None:
    old = Training(samples=256 - 64 + 29)
    assert between(tmp_path, old, replace(migrated(old), shuffle="none")).kind == "shuffle"


def test_a_trace_without_steps(tmp_path: Path) -> None:
    old = train(tmp_path / "old", OLD)
    found = named(old, Trace(tmp_path))
    assert found.kind == "no training"
    assert "12 steps" in found.cause


def test_what_nothing_explains_is_said_to_be_unknown(tmp_path: Path) -> None:
    old, new = train(tmp_path / "old", OLD), train(tmp_path / "new", migrated(OLD))
    steps = tuple(replace(s, loss=s.loss * 1.01) if (s.epoch, s.step) >= (1, 2) else s for s in new.steps)
    found = named(old, replace(new, steps=steps))
    assert (found.kind, found.epoch, found.step) == ("unknown", 1, 2)
    assert found.cause.startswith("unknown: losses diverge from epoch 1, step 2 on (")
    assert found.cause.endswith("by up to 0.0099; the first loss and gradient agree")


@pytest.mark.parametrize("own_apply", [False, True])
def test_clipping_is_named_unless_the_script_adds_the_gradients_up_itself(tmp_path: Path, own_apply: bool) -> None:
    clips = replace(OLD, config=(("clipnorm", 0.1),))
    old, new = train(tmp_path / "old", clips), train(tmp_path / "new", replace(migrated(clips), step_scale=1.01))
    found = named(old, replace(new, compiles=tuple(replace(one, own_apply=own_apply) for one in new.compiles)))
    assert found.cause.startswith("unknown") == own_apply
    assert ("clipnorm: Keras 3 clips the gradients of each replica" in found.cause) != own_apply


def test_a_validation_loss_that_follows_the_training_is_not_the_cause(tmp_path: Path) -> None:
    old, new = train(tmp_path / "old", OLD), train(tmp_path / "new", replace(migrated(OLD), step_scale=1.01))
    found = named(old, new)
    assert found.kind == "unknown"
    assert "training agrees" not in found.cause
    steps = tuple(replace(s, loss=s.loss * 1.1) for s in new.steps)
    found = named(old, replace(new, steps=steps))
    assert "the first loss differs (" in found.cause
    assert "from the same weights and the same batch" in found.cause


@pytest.mark.parametrize("adding", [{"adds_losses": True}, {"regularizers": ("activity l2=0.1",)}])
def test_losses_that_layers_add_were_counted_more_than_once(tmp_path: Path, adding: dict[str, object]) -> None:
    old = replace(OLD, **adding)  # type: ignore[arg-type]
    found = between(tmp_path, old, replace(migrated(old), gradient_scale=0.83))
    assert (found.kind, found.epoch, found.step) == ("loss", 0, 0)
    assert "layers add their own losses" in found.cause
    assert between(tmp_path / "later", old, replace(migrated(old), step_scale=1.01)).kind == "unknown"


def test_of_several_training_calls_the_one_is_named(tmp_path: Path) -> None:
    old = train_each(tmp_path / "old", [OLD, replace(OLD, model=1)])
    new = train_each(tmp_path / "new", [migrated(OLD), replace(migrated(OLD), model=1, step_scale=1.1)])
    found = named(old, new)
    assert (found.call, found.epoch, found.step) == (1, 0, 1)
    alone = named(train(tmp_path / "a", OLD), train(tmp_path / "b", replace(migrated(OLD), step_scale=1.1)))
    assert alone.call is None


def test_a_validation_that_is_gone(tmp_path: Path) -> None:
    old, new = train(tmp_path / "old", OLD), train(tmp_path / "new", migrated(OLD))
    epochs = tuple(replace(epoch, logs={"loss": epoch.logs["loss"]}) for epoch in new.epochs)
    found = named(old, replace(new, epochs=epochs))
    assert (found.kind, found.cause) == ("validation", "the new script no longer validates, though training agrees")


def test_data_comes_before_what_follows_from_it(tmp_path: Path) -> None:
    """A doubled batch also changes every loss, the gradient and the final weights."""
    found = between(tmp_path, OLD, replace(migrated(OLD), batch_size=128, learning_rate=1.0))
    assert found.kind == "batch size"


def test_the_weights_a_later_model_starts_from_may_be_what_follows(tmp_path: Path) -> None:
    """A GAN's combined model holds the discriminator, which was trained before."""
    old = train_each(tmp_path / "old", [OLD, OLD])
    first, second = migrated(OLD), replace(migrated(OLD), initial_seed=3)
    slower = find(old, train_each(tmp_path / "new", [replace(first, learning_rate=0.25), second]))
    own = find(old, train_each(tmp_path / "own", [first, second]))
    assert [one and one.kind for one in (slower, own)] == ["learning rate", "initial weights"]


def test_the_data_that_a_model_made_may_be_what_follows(tmp_path: Path) -> None:
    old = made_by_a_model(train(tmp_path / "old", OLD), 1.0)
    right = train(tmp_path / "right", migrated(OLD))
    slower = train(tmp_path / "slower", replace(migrated(OLD), learning_rate=0.25))
    found = [
        find(old, made_by_a_model(slower, 2.0)),
        find(old, made_by_a_model(right, 2.0)),
    ]
    # In the second nothing else explains it.
    assert [one and one.kind for one in found] == ["learning rate", "data"]


def made_by_a_model(trace: Trace, norm: float) -> Trace:
    """The trace with batches that a model made, of this norm but for the first."""
    steps = list(trace.steps)
    for i in range(len(steps)):
        size = norm if i else 1.0
        steps[i] = replace(steps[i], fingerprint=f"{i} {size}", sketch=((size, 0.0),), values=None, made=True)
    return replace(trace, steps=tuple(steps))


def test_another_loss_that_happens_to_be_a_whole_part_is_no_scale(tmp_path: Path) -> None:
    old = train(tmp_path / "old", OLD)
    new = train(tmp_path / "new", replace(migrated(OLD), loss="mse", gradient_scale=1.3))
    first, *others = new.steps
    found = named(old, replace(new, steps=(replace(first, loss=old.steps[0].loss / 26), *others)))
    assert found.kind == "loss", found.cause


@pytest.mark.parametrize(("aside", "scaled"), [(0.0, True), (0.001, True), (0.5, False)])
def test_a_gradient_that_points_elsewhere_is_no_multiple(aside: float, scaled: bool) -> None:
    ratio = 1 / 51
    assert GradientRatio(ratio, math.hypot(1 - ratio, aside * ratio), 1e-7).is_scaled == scaled


def died(folder: Path, error: str, new: Training, steps: int) -> Divergence:
    a, b = train(folder / "old", OLD), train(folder / "new", new)
    b = replace(b, steps=b.steps[:steps], epochs=())
    return crash.of_crash(a, b, compare(a, b, 1e-5), error)


def test_a_crash_in_the_wrong_scope_is_the_scope(tmp_path: Path) -> None:
    text = "RuntimeError: Mixing different tf.distribute.Strategy objects: <A> is not <B> (train.py:31)"
    found = died(tmp_path, text, migrated(OLD), 0)
    assert found.kind == "scope"
    assert text in found.cause


def test_a_crash_is_itself_when_nothing_differed_before(tmp_path: Path) -> None:
    found = died(tmp_path, "ValueError: no such file (train.py:3)", migrated(OLD), 4)
    assert (found.kind, found.cause) == (
        "crash",
        "the new script crashed after 4 training steps: ValueError: no such file (train.py:3)",
    )
    late = died(tmp_path / "late", "ValueError: no such file (train.py:3)", migrated(OLD), 12)
    assert late.cause.startswith("the new script crashed after all 12 training steps, whose losses agree: ValueError")


def test_a_symbolic_tensor_is_named_where_keras_does_not(tmp_path: Path) -> None:
    text = "AttributeError: 'str' object has no attribute 'base_dtype' (train.py:19)"
    assert "(KerasTensor) was used where numbers are computed" in died(tmp_path, text, migrated(OLD), 0).cause


def test_what_differed_before_a_crash_is_its_cause(tmp_path: Path) -> None:
    found = died(tmp_path, "InvalidArgumentError: AddN (train.py:3)", replace(migrated(OLD), batch_size=128), 2)
    assert found.kind == "batch size"
    assert found.cause.endswith("x2; then it crashed: InvalidArgumentError: AddN (train.py:3)")


def test_long_errors_keep_their_type_and_their_line() -> None:
    short = crash.shorten("RuntimeError: " + "very long\n" * 100 + "(train.py:31)")
    assert short.startswith("RuntimeError: very long")
    assert " ... long very long" in short or " ... very long" in short
    assert short.endswith("very long (train.py:31)")
    assert len(short) <= 240
    assert "\n" not in short


def test_objects_in_errors_are_told_by_their_class() -> None:
    error = "RuntimeError: <tensorflow.python.distribute.Strategy object at 0x7f30c14879e0> is not it"
    assert crash.shorten(error) == "RuntimeError: <Strategy> is not it"


def test_the_order_of_the_data(tmp_path: Path) -> None:
    a, b = train(tmp_path / "a", OLD), train(tmp_path / "b", migrated(OLD))
    others = [a.steps[s.step ^ 1] for s in b.steps]
    turned = [replace(s, fingerprint=o.fingerprint, sketch=o.sketch, values=o.values) for s, o in zip(b.steps, others)]
    found = named(a, replace(b, steps=tuple(turned)))
    assert (found.kind, found.cause) == ("data", "the same batches in a different order, first at epoch 0, step 0")


def test_settings_stand_side_by_side(tmp_path: Path) -> None:
    a = train(tmp_path / "a", replace(OLD, config=(("momentum", 0.9),)))
    b = train(tmp_path / "b", replace(migrated(OLD), step_scale=0.5))
    found = named(a, b)
    assert found.kind == "update rule"
    assert "sgd(learning_rate=0.5, momentum=0.9) became sgd(learning_rate=0.5)" in found.cause


def test_what_a_graph_died_of_comes_before_where() -> None:
    several = (
        "InvalidArgumentError: Graph execution error:\n\nDetected at node PyFunc defined at (most recent call last):\n"
        "<stack traces unavailable>\n2 root error(s) found.\n  (0) INVALID_ARGUMENT:  TypeError: another shape\n"
        'Traceback (most recent call last):\n\n  File "a.py", line 2, in f\n\t [[{{node PyFunc}}]]\n'
        "  (1) INVALID_ARGUMENT:  TypeError: another shape (train.py:58)"
    )
    assert crash.shorten(several) == "InvalidArgumentError: TypeError: another shape (train.py:58)"
    one = (
        "InvalidArgumentError: Graph execution error:\n\nDetected at node mul defined at (most recent call last):\n"
        '  File "a.py", line 2, in f\n\nIncompatible shapes: [10,8] vs. [10]\n\t [[{{node mul}}]]'
    )
    assert crash.shorten(one) == "InvalidArgumentError: Incompatible shapes: [10,8] vs. [10]"
    assert crash.shorten("ValueError: Graph execution error:") == "ValueError: Graph execution error:"
    frames = "".join(f'  File "/site-packages/keras/src/part.py", line {i}, in call\n\n' for i in range(99))
    long = both_ends_of(one.split(": ", 1)[1].replace('  File "a.py", line 2, in f\n', frames))
    assert crash.shorten(f"InvalidArgumentError: {long}") == crash.shorten(one)


def test_of_a_long_error_both_ends_are_kept() -> None:
    assert both_ends_of("short\n") == "short\n"
    assert both_ends_of("a" * 1500 + "b" * 1500) == "a" * 1000 + "\n...\n" + "b" * 1000
    lines = both_ends_of("".join(f"line {i} of many\n" for i in range(999))).splitlines()
    assert (lines[0], lines[-1]) == ("line 0 of many", "line 998 of many")
    assert {re.sub(r"\d+", "0", line) for line in lines} == {"line 0 of many", "..."}, "lines are whole"


FRAMES = {
    "today": (
        '    File "/tmp/run/train.py", line 12, in train_function  *\n        return step(self, iterator)\n'
        '    File "/lib/keras/training.py", line 1249, in run_step  **\n        outputs = model.train_step(data)\n'
    ),
    "TensorFlow 2.3": (
        "    /lib/keras/engine/training.py:806 train_function  *\n        return step_function(self, iterator)\n"
        "    /tmp/run/train.py:12 loss  **\n        return tf.matmul(a, b)\n"
    ),
}
"""What AutoGraph writes above the sentence that matters."""


@pytest.mark.parametrize("frames", FRAMES.values(), ids=FRAMES)
def test_what_a_function_in_a_graph_died_of_stays(frames: str) -> None:
    said = "ValueError: Dimensions must be equal, but are 1 and 9"
    error = f"ValueError: in user code:\n\n{frames * 20}\n    {said} (train.py:31)"
    assert crash.shorten(error) == f"{said} (train.py:31)"
    other = f"StagingError: in user code:\n\n{frames}\n    {said} (train.py:31); it had taken 2 training steps by then"
    assert crash.shorten(other) == f"StagingError: {said} (train.py:31); it had taken 2 training steps by then"
    told = crash.shorten(f"migrated: train.py died: {error}")
    assert told == f"migrated: train.py died: {said} (train.py:31)"


def test_what_a_layer_died_of_stays() -> None:
    layer = (
        "ValueError: in user code:\n\n"
        + FRAMES["today"]
        + "\n    ValueError: Exception encountered when calling layer 'my'"
    )
    given = "\n\nCall arguments received by layer 'my' (type My):\n" + "  \u2022 x=tf.Tensor(shape=(None, 4))\n" * 20
    error = f"{layer} (type My).\n\nin user code:\n\n{FRAMES['today']}\n    ValueError: too small{given} (train.py:31)"
    assert crash.shorten(error) == "ValueError: too small (train.py:31)"
    indented = error.replace("\n", "\n    ")  # as tf_keras 2.21 has it
    assert crash.shorten(indented) == "ValueError: too small (train.py:31)"
    keras_3 = f"ValueError: Exception encountered when calling My.call().\n\ntoo small{given} (train.py:31)"
    said = "ValueError: Exception encountered when calling My.call(). too small (train.py:31)"
    assert crash.shorten(keras_3.replace("Call arguments", "Arguments")) == said


def test_without_a_sentence_after_the_places_all_stays() -> None:
    for error in ("ValueError: in user code:", f"ValueError: in user code:\n\n{FRAMES['today']}"):
        assert crash.shorten(error).startswith("ValueError: in user code:")


def standing(trace: Trace, folder: Path) -> Trace:
    """As if its first weight had stayed as it was."""
    folder.mkdir()
    for file in trace.folder.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    with np.load(folder / "0-initial.npz") as start, np.load(folder / "0-final.npz") as end:
        np.savez(folder / "0-final.npz", **{**dict(end), "0": start["0"]})
    return replace(trace, folder=folder)


def test_a_layer_that_is_thawed_later_in_one_run_alone(tmp_path: Path) -> None:
    old, new = train(tmp_path / "old", OLD), train(tmp_path / "new", migrated(OLD))
    steps = tuple(replace(s, loss=s.loss * 1.01) if s.epoch else s for s in new.steps)
    for one, other, words in (
        (old, replace(standing(new, tmp_path / "still"), steps=steps), "used to be trained stay unchanged"),
        (standing(old, tmp_path / "before"), replace(new, steps=steps), "used to stay unchanged are trained"),
    ):
        found = named(one, other)
        assert (found.kind, found.epoch, found.step) == ("frozen layers", 1, 0)
        assert found.cause.startswith("1 weight tensor (kernel) that ")
        assert words in found.cause


DRAWN, ZEROS, GIVEN = (0.0, 0.3, False, 0.9), (0.0, 0.0, False, 0.0), (0.1, 0.2, True, 1e-7)


@pytest.mark.parametrize(
    ("kernel", "new", "words"),
    [
        (DRAWN, (0.0, 0.1, False, 0.9), "kernel start with a mean of 0 and a spread of 0.1 instead of 0 and 0.3"),
        (DRAWN, (0.4, 0.3, False, 0.9), "a mean of 0.4 and a spread of 0.3"),
        (DRAWN, (0.0, 0.0, False, 0.9), "a spread of 0 instead of"),
        ((1.0, 0.0, False, 0.0), (0.0, 0.0, False, 1.0), "a mean of 0 and a spread of 0 instead of 1 and 0"),
        (
            GIVEN,
            (0.0, 0.2, False, 0.9),
            ("a file gives kernel in the old script; the new one has different values there"),
        ),
        (GIVEN, (0.1, 0.2, True, 0.9), "check by_name= and the names of the layers"),
    ],
)
def test_what_the_scripts_give_their_weights_themselves(tmp_path: Path, kernel: Own, new: Own, words: str) -> None:
    """The runs begin with the old one's weights all the same, so that no loss shows it."""
    found = between(tmp_path, replace(OLD, own=(kernel, ZEROS)), replace(migrated(OLD), own=(new, ZEROS)))
    assert found.kind == "initial weights"
    assert words in found.cause


@pytest.mark.parametrize(
    ("kernel", "new"),
    [
        (DRAWN, (0.05, 0.27, False, 1.1)),  # other numbers of the same spread
        (GIVEN, (0.1, 0.2, False, 1e-7)),  # from the same file, by a way that is not known
        (GIVEN, (0.1, 0.2, True, 1e-3)),  # of a training in this run
        (DRAWN, None),  # a training came before
        (GIVEN, (0.1, 0.2, True, None)),
    ],
)
def test_weights_that_begin_as_they_did_are_no_cause(tmp_path: Path, kernel: Own, new: Own) -> None:
    old = train(tmp_path / "old", replace(OLD, own=(kernel, ZEROS)))
    assert find(old, train(tmp_path / "new", replace(migrated(OLD), own=(new, ZEROS)))) is None


def test_few_elements_say_nothing_of_a_spread(tmp_path: Path) -> None:
    """Four biases that a script draws, beside four others; not so where they are all one number."""
    old = train(tmp_path / "old", replace(OLD, own=(DRAWN, (0.1, 0.05, False, 1.0))))
    drawn = replace(migrated(OLD), own=(DRAWN, (0.2, 0.3, False, 1.0)))
    constant = replace(migrated(OLD), own=(DRAWN, (0.2, 0.0, False, 1.0)))
    assert find(old, train(tmp_path / "drawn", drawn)) is None
    assert find(old, train(tmp_path / "constant", constant)) is not None


def test_a_schedule_is_compared_by_its_settings(tmp_path: Path) -> None:
    """Ten thousand steps on, or twenty: a short run reaches neither."""

    def training(steps: int) -> Training:
        inner = {"initial_learning_rate": 0.5, "decay_steps": steps, "decay_rate": 0.9, "staircase": True, "name": None}
        return replace(OLD, config=(("lr", {"class_name": "ExponentialDecay", "config": inner}),))

    found = between(tmp_path, training(10_000), migrated(training(20_000)))
    assert found.kind in ("learning rate", "update rule")
    assert "decay_steps=10000" in found.cause
    assert "decay_steps=20000" in found.cause
    assert find(*(train(tmp_path / str(i), how) for i, how in enumerate((training(9), migrated(training(9)))))) is None


def test_a_decay_that_a_callback_does_is_seen_in_the_rates(tmp_path: Path) -> None:
    """SGD(decay=) beside a rate that callbacks set becomes a callback, which no setting shows."""

    def decayed(trace: Trace, decay: float) -> Trace:
        steps = enumerate(trace.steps)
        rates = tuple(replace(step, learning_rate=0.5 / (1 + decay * number)) for number, step in steps)
        return replace(trace, steps=rates)

    asked = replace(OLD, config=(("decay", 1e-4),))
    old = decayed(train(tmp_path / "old", asked), 1e-4)
    plain, nadam = train(tmp_path / "new", migrated(OLD)), replace(OLD, optimizer="nadam")
    assert find(old, decayed(plain, 1e-4)) is None
    assert find(old, decayed(plain, 1.1e-4)) is not None
    assert find(old, plain) is not None, "it is gone"
    assert find(train(tmp_path / "no rates", asked), plain) is not None, "the decay is in no rate"
    small = decayed(train(tmp_path / "small", replace(OLD, config=(("decay", 1e-6),))), 1e-6)
    assert find(small, decayed(plain, 1e-6)) is None, "a rate shows it from the second step on"
    assert find(small, decayed(plain, 0.0)) is not None
    first, of_new = (replace(trace, steps=trace.steps[:1]) for trace in (small, decayed(plain, 0.0)))
    assert pair_compiles(first, of_new)[0][0].config.get("decay") is None, "which one step does not reach"
    old = decayed(train(tmp_path / "nadam", replace(nadam, config=(("decay", 4e-3),))), 1e-4)
    assert find(old, decayed(train(tmp_path / "other", migrated(nadam)), 1e-4)) is not None, "that of its momentum"


def test_a_schedule_of_which_the_class_alone_is_known_is_no_other_one(tmp_path: Path) -> None:
    """What TensorFlow 1 decays a rate by is an operation, which has no settings."""
    inner = {"initial_learning_rate": 0.5, "decay_steps": 10, "decay_rate": 0.9}
    full = migrated(replace(OLD, config=(("lr", {"class_name": "ExponentialDecay", "config": inner}),)))
    for name, same in (("ExponentialDecay", True), ("CosineDecay", False)):
        old = train(tmp_path / name, replace(OLD, config=(("lr", {"class_name": name}),)))
        assert (find(old, train(tmp_path / f"new {name}", full)) is None) == same


def test_an_epoch_of_keras_3_ends_where_its_data_ends(tmp_path: Path) -> None:
    """A Sequence of five batches and steps_per_epoch=4: the second epoch has the fifth and no more."""
    old = train(tmp_path / "old", OLD)
    new = train(tmp_path / "new", migrated(OLD))
    found = named(old, replace(new, steps=tuple(s for s in new.steps if s.epoch != 1 or s.step < 1)))
    assert found.kind == "data"
    assert "epoch 1 takes 1 of its 4 steps; Keras 3 ends an epoch where its data ends" in found.cause
    shorter = replace(new, steps=tuple(s for s in new.steps if s.step < 3))
    less = named(old, shorter)
    assert "Keras 3 ends" not in less.cause
