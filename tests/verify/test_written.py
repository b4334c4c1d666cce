"""The comparison as written, on simulated runs whose noise is the seed's."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tfmigrate.verify.judge import differences
from tfmigrate.verify.judge.written import LAST, VALIDATION, WHOLE, quantities
from tfmigrate.verify.report import page

from .laboratory import MODERN, OLD, Laboratory, scripts
from .simulated import migrated, train

NOISY = replace(OLD, rounding=0.05)


@pytest.fixture
def lab(lab: Laboratory) -> Laboratory:
    lab.behaviour = scripts(NOISY, migrated(NOISY))
    return lab


def test_a_right_migration_is_equivalent(lab: Laboratory) -> None:
    report = lab.finds_as_written("EQUIVALENT", 20)
    assert report.written is not None
    assert [outcome.answer for outcome in report.written.outcomes] == ["equivalent"] * 3
    assert "margin" in report.reason


def test_the_margin_is_told_as_a_share_of_the_loss(lab: Laboratory) -> None:
    report = lab.verify_as_written(8)
    assert re.search(r"margin [\d.e-]+, which is \d+\.\d% of it, what another seed moves", report.reason)


def test_without_a_genuine_run_it_begins_with_that(lab: Laboratory) -> None:
    lab.runtimes = (MODERN,)
    report = lab.verify_as_written(20)
    assert report.headline == "EQUIVALENT (against today's TensorFlow alone)"
    assert report.reason.startswith("against today's TensorFlow alone: no TensorFlow of its time was found; over ")


def test_the_old_runs_come_first_and_nothing_is_shared_but_the_seed(lab: Laboratory) -> None:
    lab.verify_as_written(8)
    kinds = [world.kind for world, _, _ in lab.seen]
    assert kinds == sorted(kinds, key=("genuine", "migrated").index), "the margin is fixed before the first new run"
    assert kinds.count("genuine") == 8
    assert all(not world.aligned and initial is None for world, _, initial in lab.seen)
    seeds = [world.seed for world, _, _ in lab.seen if world.kind == "migrated"]
    assert seeds == [world.seed for world, _, _ in lab.seen if world.kind == "genuine"][: len(seeds)]
    assert len(set(seeds)) == len(seeds)


def test_a_difference_ends_it_early(lab: Laboratory) -> None:
    report = lab.finds_as_written("DIFFERENT", 20, scripts(NOISY, replace(migrated(NOISY), step_scale=3.0)))
    assert report.written is not None
    assert len(report.written.seeds) == 8
    assert sum(world.kind == "migrated" for world, _, _ in lab.seen) == 8
    assert "more than the margin" in report.reason


def test_a_setting_that_differs_is_named_beside_the_losses(lab: Laboratory) -> None:
    report = lab.finds_as_written("DIFFERENT", 20, scripts(NOISY, replace(migrated(NOISY), learning_rate=1.5)))
    assert "more than the margin" in report.reason
    assert "learning_rate 0.5 -> 1.5: x3" in report.reason


def test_equal_losses_do_not_excuse_another_request(lab: Laboratory) -> None:
    report = lab.finds_as_written("DIFFERENT", 20, scripts(NOISY, replace(migrated(NOISY), noise=("Dropout 0.5",))))
    assert "none became Dropout 0.5" in report.reason
    assert "the losses alone are equivalent" in report.reason


def test_too_few_pairs_are_inconclusive(lab: Laboratory) -> None:
    for pairs in (2, 3, 4):
        lab.finds_as_written("INCONCLUSIVE", pairs)
    assert not any(len(lab.seen) > 8 for _ in lab.seen)


def test_a_script_that_the_seed_does_not_move_has_no_margin(lab: Laboratory) -> None:
    fixed = replace(OLD, fixed_seed=7)
    report = lab.finds_as_written("INCONCLUSIVE", 8, scripts(fixed, migrated(fixed)))
    assert "does not depend on the seed" in report.reason


def test_a_new_script_that_crashes_does_not_run_and_an_old_one_could_not_run(lab: Laboratory) -> None:
    report = lab.finds_as_written("DOES NOT RUN", 8, scripts(NOISY, "ValueError: no (new.py:3)"))
    assert "ValueError: no (new.py:3)" in report.reason
    lab.finds_as_written("COULD NOT RUN", 8, lambda world, limits: "ValueError: no data (old.py:1)")


def test_validation_that_the_systems_make_differ_is_not_judged(lab: Laboratory) -> None:
    old = replace(NOISY, moving_averages=True)
    report = lab.finds_as_written("EQUIVALENT", 20, scripts(old, migrated(old)))
    assert report.written is not None
    assert [outcome.name for outcome in report.written.outcomes] == [LAST, WHOLE]
    assert any(differences.BATCH_NORM in note for note in report.notes)


def test_quantities(tmp_path: Path) -> None:
    trace = train(tmp_path, OLD)
    found = quantities(trace)
    losses = [step.loss for step in trace.steps]
    assert set(found) == {LAST, WHOLE, VALIDATION}
    assert found[WHOLE] == pytest.approx(sum(losses) / 12)
    assert found[LAST] == pytest.approx(sum(losses[-3:]) / 3)
    assert found[VALIDATION] == trace.epochs[-1].logs["val_loss"]


def test_the_report_shows_it(lab: Laboratory, tmp_path: Path) -> None:
    report = lab.verify_as_written(8)
    place = page.write(report, tmp_path / "report")
    html = place.read_text()
    assert "<svg viewBox" in html
    assert LAST in html
    told = json.loads((tmp_path / "report" / "report.json").read_text())["as_written"]
    assert told["planned_pairs"] == 8
    assert len(told["quantities"]) == 3
    for quantity in told["quantities"]:
        assert set(quantity) >= {"margin", "p_equivalent", "p_different", "interval", "mean_difference"}
        assert len(quantity["old"]) == len(quantity["new"]) == told["pairs"]
    assert (tmp_path / "report" / "paired.png").stat().st_size > 10_000
