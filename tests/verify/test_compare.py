from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tfmigrate.verify.judge import align, batches
from tfmigrate.verify.judge.align import CEILING, noise, pair_steps, relative_difference, tolerance
from tfmigrate.verify.judge.compare import Comparison, compare, same_run, through_epoch
from tfmigrate.verify.judge.contract_rows import Row
from tfmigrate.verify.judge.differences import (
    BATCH_NORM,
    CLASS_WEIGHTED,
    NARROW_NORMALS,
    OTHER_BATCHES,
    REMAINDER,
    ROUNDED_DATA,
)
from tfmigrate.verify.probe.content import fingerprint_of, sketch_of, values_of
from tfmigrate.verify.run.trace import Step, Trace

from .simulated import Training, migrated, train

PLAIN = Training()


def both(folder: Path, old: Training, new: Training) -> Comparison:
    return compare(train(folder / "old", old), train(folder / "new", new), tolerance(0.0, 12))


def alike(folder: Path, old: Training = PLAIN) -> tuple[Trace, Trace]:
    """The runs of an old script and of its right migration."""
    return train(folder / "a", old), train(folder / "b", migrated(old))


def validating(trace: Trace, factor: float) -> Trace:
    """With so many times its validation losses."""
    logs = ({**epoch.logs, "val_loss": epoch.logs["val_loss"] * factor} for epoch in trace.epochs)
    return replace(trace, epochs=tuple(replace(epoch, logs=each) for epoch, each in zip(trace.epochs, logs)))


def row(comparison: Comparison, start: str) -> Row:
    return next(row for row in comparison.contract if row.what.startswith(start))


def test_a_right_migration_is_equivalent_row_by_row(tmp_path: Path) -> None:
    old = Training(rounding=2e-7)
    comparison = both(tmp_path, old, migrated(old))
    assert comparison.equivalent
    assert 0 < comparison.max_relative_difference < 1e-5
    assert len(comparison.steps) == 12
    assert [r.what for r in comparison.contract if not r.same] == []
    assert comparison.not_compared == ()
    assert comparison.known == ()


def test_every_promised_row_is_there(tmp_path: Path) -> None:
    old = Training(moving_averages=True)
    names = " | ".join(r.what for r in both(tmp_path, old, migrated(old)).contract)
    for what in (
        "trained models", "replicas", "steps", "samples per epoch", "global batch size", "shuffle asked for",
        "batches with the same content", "class weights", "sample weights", "learning rate at each step",
        "optimizer", "validation samples", "validation loss", "initial weights", "first gradient",
        "final trainable weights", "final non-trainable weights",
    ):  # fmt: skip
        assert what in names


def test_batches_that_a_model_made_may_differ_by_rounding(tmp_path: Path) -> None:
    old = train(tmp_path / "old", Training())
    new = train(tmp_path / "new", migrated(Training()))
    made = replace(old, steps=tuple(replace(s, sketch=((2.0, 1.0),), values=None, made=True) for s in old.steps))

    def content(factor: float | None) -> Row:
        sketch = None if factor is None else ((2.0, factor),)
        steps = tuple(replace(s, fingerprint="other", sketch=sketch, values=None, made=True) for s in new.steps)
        return row(compare(made, replace(new, steps=steps), 1e-5), "batches with the same content")

    assert content(1.000001).same
    assert not content(1.001).same
    assert not content(None).same


def test_data_that_two_libraries_round_differently_is_the_same_and_sized(tmp_path: Path) -> None:
    comparison = both(tmp_path, Training(), migrated(Training(shifted=3e-7)))
    assert comparison.equivalent
    (known,) = comparison.known
    assert known.name == ROUNDED_DATA
    assert "12 of 12 batches are not the same to the last bit" in known.what
    assert 1e-7 < known.size < 1e-6
    assert row(comparison, "validation data").same


@pytest.mark.parametrize("shifted", [1e-5, 1e-4, 1e-2])
def test_data_that_differs_by_more_than_rounding_is_other_data(tmp_path: Path, shifted: float) -> None:
    comparison = both(tmp_path, Training(), migrated(Training(shifted=shifted)))
    assert row(comparison, "batches with the same content").broken
    assert row(comparison, "validation data").broken
    assert not any(known.name == ROUNDED_DATA for known in comparison.known)


@pytest.mark.parametrize("column", [0, 3])
def test_a_small_column_beside_a_large_one_is_not_lost_in_its_rounding(tmp_path: Path, column: int) -> None:
    """No loss and no norm of the batch feels the small one."""
    x = np.random.RandomState(0).randn(64, 4) * [1.0, 1e6, 1.0, 1e-3]
    changed = x.copy()
    changed[:, column] *= 1.01
    old, new = of_one_batch(tmp_path / "old", x), of_one_batch(tmp_path / "new", changed)
    assert align.sketches_apart(old.steps[0], new.steps[0]) < 1e-6
    apart = batches.distance(old, new, old.steps[0], new.steps[0])
    assert apart is not None
    assert apart > 0.001
    assert batches.same(old, new, old.steps[0], new.steps[0], 1e-5) is False


def of_one_batch(folder: Path, x: np.ndarray) -> Trace:
    folder.mkdir()
    leaves = [[x.astype("float32")]]
    np.savez(folder / "batch.npz", **{str(i): array for i, array in enumerate(values_of(leaves))})
    sketch = tuple(map(tuple, sketch_of(leaves)))
    step = Step(0, 0, 0, 1.0, len(x), fingerprint_of(leaves), sketch=sketch, values="batch.npz")
    return Trace(folder, steps=(step,))


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ({"batch_size": 128}, "global batch size"),
        ({"batch_size": 128}, "steps"),
        ({"samples": 320}, "samples per epoch"),
        ({"data_seed": 5}, "batches with the same content"),
        ({"initial_seed": 5}, "initial weights"),
        ({"learning_rate": 0.501}, "learning rate at each step"),
        ({"learning_rate": 0.501}, "optimizer"),
        ({"drop_rate_after": 2}, "learning rate at each step"),
        ({"shuffle": "none"}, "shuffle asked for"),
        ({"shuffle": "buffer 64"}, "shuffle asked for"),
        ({"replicas": 1}, "replicas"),
        ({"class_weight": True}, "class weights"),
        ({"validation_samples": 32}, "validation samples"),
        ({"gradient_scale": 2.0}, "first gradient"),
        ({"epochs": 2}, "steps"),
        ({"optimizer": "adam"}, "optimizer"),
    ],
)
def test_each_mistake_breaks_its_row(tmp_path: Path, change: dict[str, object], broken: str) -> None:
    old = Training()
    comparison = both(tmp_path, old, replace(migrated(old), **change))
    assert not comparison.equivalent
    assert row(comparison, broken).broken


def test_a_drift_of_one_in_a_thousand_is_seen(tmp_path: Path) -> None:
    old = Training(epochs=1)
    comparison = both(tmp_path, old, replace(migrated(old), learning_rate=0.5 * 1.004))
    assert 1e-4 < comparison.max_relative_difference < 2e-3
    assert not comparison.losses_agree


def test_a_remainder_batch_is_known_and_sized_and_does_not_fail(tmp_path: Path) -> None:
    old = Training(samples=256 - 64 + 29)
    comparison = both(tmp_path, old, migrated(old))
    assert comparison.equivalent
    (known,) = comparison.known
    assert known.name == REMAINDER
    assert comparison.tolerance < known.size < 0.1
    assert len(comparison.judged_steps) == 3, "the three full batches before the first remainder"
    assert comparison.max_relative_difference < 1e-6
    assert "epoch 0, step 3" in known.what


def test_a_remainder_hides_no_mistake(tmp_path: Path) -> None:
    old = Training(samples=256 - 64 + 29)
    assert not both(tmp_path, old, replace(migrated(old), learning_rate=1.0)).equivalent
    assert not both(tmp_path, old, replace(migrated(old), drop_rate_after=1)).equivalent


def test_a_remainder_explains_no_large_difference_of_the_validation(tmp_path: Path) -> None:
    a, b = alike(tmp_path, Training(samples=256 - 64 + 29))
    assert row(compare(a, b, 1e-5), "validation loss").known == REMAINDER
    assert row(compare(a, validating(b, 1.2), 1e-5), "validation loss").broken


def test_a_remainder_at_the_very_end_shows_in_the_validation_alone(tmp_path: Path) -> None:
    old = Training(samples=256 - 64 + 61, epochs=1)
    comparison = both(tmp_path, old, migrated(old))
    assert comparison.steps[-1].uneven
    assert [known.name for known in comparison.known] == [REMAINDER]
    assert row(comparison, "validation loss").known == REMAINDER


@pytest.mark.parametrize(
    ("flavour", "keras", "tensorflow", "known"),
    [
        ("keras", "2.3.1", "1.15.0", True),
        ("tf.keras", "2.2.4-tf", "1.15.0", True),
        ("tf.keras", "2.4.0", "2.3.4", False),
        ("tf.keras", "3.15.1", "2.21.0", False),
    ],
)
def test_class_weights_in_an_old_validation_split(
    tmp_path: Path, flavour: str, keras: str, tensorflow: str, known: bool
) -> None:
    a, b = alike(tmp_path, Training(class_weight=True))
    assert a.start is not None
    start = replace(a.start, flavour=flavour, keras=keras, tensorflow=tensorflow)
    found = row(compare(replace(validating(a, 1.2), start=start), b, 1e-5), "validation loss")
    assert found.known == (CLASS_WEIGHTED if known else None)
    assert not found.same


@pytest.mark.parametrize(
    ("source", "content", "later", "known"),
    [
        ("generator", None, True, True),
        ("generator", "00ff", True, False),
        ("arrays", None, True, False),
        ("generator", None, False, False),
    ],
)
def test_later_validations_of_an_iterator_take_other_batches(
    tmp_path: Path, source: str, content: str | None, later: bool, known: bool
) -> None:
    a, b = alike(tmp_path)
    assert a.start is not None
    start = replace(a.start, flavour="tf.keras", keras="3.15.1", tensorflow="2.21.0")
    fits = tuple(replace(fit, source=source, validation_samples=8, validation_content=content) for fit in a.fits)
    factors = (1.0, 1.2) if later else (1.2, 1.0)
    other = tuple(
        replace(e, logs={**e.logs, "val_loss": e.logs["val_loss"] * factors[min(number, 1)]})
        for number, e in enumerate(b.epochs)
    )
    found = row(compare(replace(a, start=start, fits=fits), replace(b, epochs=other), 1e-5), "validation loss")
    assert found.known == (OTHER_BATCHES if known else None)
    assert not found.same


@pytest.mark.parametrize(
    ("keras", "spread", "same", "known"),
    [
        ("2.1.6", 0.1 / 0.8796, True, True),
        ("2.1.6", 0.1, True, False),
        ("2.1.6", 0.1 * 0.8796, False, False),
        ("2.2.4", 0.1 / 0.8796, False, False),
    ],
)
def test_normal_distributions_that_keras_2_1_cut_off(
    tmp_path: Path, keras: str, spread: float, same: bool, known: bool
) -> None:
    a, b = alike(tmp_path)
    assert a.start is not None

    def drawn(trace: Trace, width: float) -> Trace:
        (model,) = trace.models
        large = tuple((name, (100, 100), trainable) for name, _, trainable in model.weights)
        own = tuple((0.0, width, False, 1.0) for _ in large)
        return replace(trace, models=(replace(model, weights=large, own=own),))

    old = replace(drawn(a, 0.1), start=replace(a.start, keras=keras))
    comparison = compare(old, drawn(b, spread), 1e-5)
    assert row(comparison, "initial values of one spread").same is same
    assert (NARROW_NORMALS in [each.name for each in comparison.known]) is known


def test_a_remainder_that_divides_makes_no_difference(tmp_path: Path) -> None:
    old = Training(samples=256 - 64 + 30)
    comparison = both(tmp_path, old, migrated(old))
    assert comparison.equivalent
    assert comparison.known == ()
    assert len(comparison.judged_steps) == len(comparison.steps)


def test_a_layer_that_is_frozen_first_and_trained_later_is_no_statistic(tmp_path: Path) -> None:
    old = Training(frozen=True)
    a, b = train(tmp_path / "old", old), train(tmp_path / "new", replace(migrated(old), step_scale=1.1))
    comparison = compare(a, b, 1e-5)
    assert not comparison.known
    assert row(comparison, "final trainable weights").broken
    assert not any(found.what.startswith("final non-trainable") for found in comparison.contract)


def test_moving_averages_are_known_and_sized_and_excuse_validation_only(tmp_path: Path) -> None:
    old = Training(moving_averages=True)
    comparison = both(tmp_path, old, migrated(old))
    assert comparison.equivalent
    (known,) = comparison.known
    assert known.name == BATCH_NORM
    assert known.size > 0.01
    assert "moving_" in known.what
    assert row(comparison, "final non-trainable weights").known == BATCH_NORM
    assert row(comparison, "validation loss").known == BATCH_NORM
    assert row(comparison, "final trainable weights").same


def test_validation_that_differs_without_batch_norm_is_a_failure(tmp_path: Path) -> None:
    a, b = alike(tmp_path)
    comparison = compare(a, validating(b, 1.01), 1e-5)
    assert comparison.losses_agree
    assert row(comparison, "validation loss").broken


def test_validation_gone_is_a_failure(tmp_path: Path) -> None:
    a, b = alike(tmp_path)
    silent = replace(b, epochs=tuple(replace(e, logs={"loss": e.logs["loss"]}) for e in b.epochs))
    assert row(compare(a, silent, 1e-5), "validation loss").broken


@pytest.mark.parametrize("how", [{"call": "fit_generator"}, {"source": "sequence"}, {"source": "generator"}])
def test_keras_23_logs_the_last_validation_batch_from_generators(how: dict[str, str], tmp_path: Path) -> None:
    a, b = alike(tmp_path)
    a = replace(a, fits=(replace(a.fits[0], **how),))  # type: ignore[arg-type]
    comparison = compare(validating(a, 1.1), b, 1e-5)
    assert comparison.equivalent
    assert row(comparison, "validation loss").known == "validation of the last batch alone"


def test_what_was_not_recorded_is_named_and_has_no_row(tmp_path: Path) -> None:
    a, b = alike(tmp_path)
    bare = replace(
        b,
        weights=(),
        compiles=(),
        fits=(replace(b.fits[0], shuffle="unknown"),),
        steps=tuple(replace(s, fingerprint=None, learning_rate=None) for s in b.steps),
    )
    comparison = compare(a, bare, 1e-5)
    assert set(comparison.not_compared) == {
        "batches", "shuffling", "learning rate", "optimizer settings", "initial weights", "first gradient",
        "final weights",
    }  # fmt: skip
    assert not [r for r in comparison.contract if r.what.startswith("batches")]


def test_no_common_step_is_never_equivalent(tmp_path: Path) -> None:
    a, b = alike(tmp_path)
    comparison = compare(a, replace(b, steps=()), 1e-5)
    assert math.isinf(comparison.max_relative_difference)
    assert not comparison.equivalent


def test_a_loss_that_becomes_nan_on_one_side_is_infinitely_far(tmp_path: Path) -> None:
    a, b = alike(tmp_path)
    broken = (*b.steps[:5], replace(b.steps[5], loss=math.nan), *b.steps[6:])
    assert math.isinf(compare(a, replace(b, steps=broken), 1e-5).max_relative_difference)


def test_a_bias_without_gradient_is_not_judged(tmp_path: Path) -> None:
    """Adam moves a bias before batch norm by full steps of random sign: its gradient is rounding."""
    a, b = alike(tmp_path)
    for trace, last in ((a, 0.01), (b, -0.01)):
        for moment, value in (("initial", 0.0), ("sgd_probe", 1e-12), ("final", last)):
            file = trace.folder / f"0-{moment}.npz"
            with np.load(file) as arrays:
                kept = dict(arrays)
            np.savez(file, **kept, **{"2": np.full(7, value, dtype="float32")})
    facts = replace(a.models[0], weights=(*a.models[0].weights, ("conv/bias", (7,), True)))
    assert compare(replace(a, models=(facts,)), replace(b, models=(facts,)), 1e-5).equivalent

    unprobed = replace(a, models=(facts,), weights=a.weights[:1] + a.weights[2:])
    judged = compare(unprobed, replace(b, models=(facts,)), 1e-5)
    assert row(judged, "final trainable weights").broken, "without the first gradient nothing excuses it"


def test_one_epoch_of_a_long_run_can_be_compared_alone(tmp_path: Path) -> None:
    old = Training()
    a = train(tmp_path / "a", old)
    b = train(tmp_path / "b", replace(migrated(old), epochs=1, asked_epochs=3))
    assert not compare(a, b, 1e-5).equivalent
    assert compare(through_epoch(a, 1), through_epoch(b, 1), 1e-5).equivalent


def test_tolerance_follows_noise_and_steps_and_stops() -> None:
    assert tolerance(0.0, 60) == pytest.approx(1e-5)
    assert tolerance(2.5e-6, 60) == pytest.approx(2.5e-5)
    assert tolerance(0.0, 500) == pytest.approx(5e-5)
    assert tolerance(1.0, 10**6) == CEILING < 1e-3


def test_noise_is_what_two_runs_of_one_script_differ_by(tmp_path: Path) -> None:
    a = train(tmp_path / "one", Training(rounding=1e-7))
    b = train(tmp_path / "another", Training(rounding=1e-7))
    assert 1e-8 < noise(a, b) < 1e-5
    assert noise(a, a) == 0.0


def test_relative_difference() -> None:
    assert relative_difference(2.0, 1.0) == 0.5
    assert relative_difference(0.0, 1e-9, scale=0.01) == pytest.approx(1e-7)
    assert relative_difference(math.nan, math.nan) == 0.0
    assert relative_difference(math.nan, 1.0) == math.inf
    assert relative_difference(math.inf, math.inf) == 0.0


def test_uneven_is_judged_by_the_larger_number_of_replicas(tmp_path: Path) -> None:
    old = train(tmp_path / "old", Training(replicas=2, samples=3, batch_size=3, epochs=1))
    new = train(tmp_path / "new", replace(migrated(Training(samples=3, batch_size=3, epochs=1)), replicas=1))
    assert [pair.uneven for pair in pair_steps(old, new)] == [True]


def test_sample_weights_in_a_generator_are_not_known(tmp_path: Path) -> None:
    a, b = alike(tmp_path, Training(sample_weight=True))
    hidden = tuple(replace(fit, source="generator", sample_weight=False) for fit in a.fits)
    assert compare(replace(a, fits=hidden), b, 1e-5).equivalent
    lost = train(tmp_path / "lost", migrated(Training()))
    assert not compare(replace(a, fits=hidden), lost, 1e-5).equivalent
    plain = tuple(replace(fit, sample_weight=False) for fit in a.fits)
    assert row(compare(replace(a, fits=plain), b, 1e-5), "sample weights").broken


def test_a_run_is_the_same_at_another_line_of_the_script(tmp_path: Path) -> None:
    """A mistake takes a line out, so that all below stand higher."""
    trace, _ = alike(tmp_path)
    moved = replace(
        trace,
        compiles=tuple(replace(one, at="train.py:99") for one in trace.compiles),
        fits=tuple(replace(one, at="train.py:99") for one in trace.fits),
    )
    assert same_run(trace, moved)
    (first, *others) = trace.compiles
    assert not same_run(trace, replace(trace, compiles=(replace(first, config={**first.config, "rate": 3}), *others)))
