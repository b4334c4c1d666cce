"""Three depths, a report after every run, and crashes called crashes; with simulated runs."""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tfmigrate.verify.judge import controls
from tfmigrate.verify.judge.depth import coverage
from tfmigrate.verify.judge.plan import VerifyOptions
from tfmigrate.verify.judge.report import Report
from tfmigrate.verify.judge.stopping import OutOfTime, time_limit
from tfmigrate.verify.judge.touched import choose, touched
from tfmigrate.verify.judge.verdict import verify
from tfmigrate.verify.report import junit, page, pull_request
from tfmigrate.verify.run.outcome import STOPPED
from tfmigrate.verify.run.trace import Cut
from tfmigrate.verify.run.world import Done, Limits, Run, World

from .laboratory import MODERN, OLD, WRONG, Behaviour, Laboratory, broken, scripts, training, usual
from .simulated import Predicting, Training, migrated, train

LONG = replace(OLD, samples=1024, epochs=5)
"""16 steps an epoch, 80 in all."""


def test_the_default_depth_trains_a_budget_and_says_so(lab: Laboratory) -> None:
    report = lab.finds("EQUIVALENT", training(LONG, migrated(LONG)), depth="default")
    assert {(limits.budget, limits.gradient) for _, limits, _ in lab.seen} == {(30, True)}
    assert report.covered == "the first 16 steps of 5 epochs x 16 steps"
    assert report.reason.startswith("over the first 16 steps of 5 epochs x 16 steps the training losses differ by")
    assert report.to_json()["covered"] == report.covered
    assert report.covered in pull_request.render(report)
    longer = lab.verify(depth="default", budget=48)
    assert longer.covered == "the first 48 steps of 5 epochs x 16 steps"


def test_the_default_depth_runs_the_controls_that_the_migration_could_have_got_wrong(lab: Laboratory) -> None:
    """The new script of the laboratory differs in its scope, its compile, its optimizer, its batches and its order."""
    report = lab.verify(depth="default")
    made = {control.mutation for control in report.controls}
    assert {"scope missing", "shuffle lost", "batch x2"} <= made < set(WRONG)
    assert report.possible_controls == len(WRONG)
    assert f"{len(made)} of {len(WRONG)} possible wrong migrations were run and all detected" in report.reason
    why = {one.mutation: one.why for one in report.left_out}
    assert why["half precision"] == "the migration changes nothing about the precision"
    assert why["compile outside the scope"] == "another mistake about the scope was run"
    assert why["regularizer lost"] == "the program has no place for it"
    assert set(why) | made == {control.mutation.format(2) for control in controls.CONTROLS}
    told = report.to_json()
    assert (told["controls_possible"], told["depth"]) == (len(WRONG), "default")
    assert {"mutation", "why", "possible"} == set(told["controls_not_run"][0])


def test_the_thorough_depth_is_everything(lab: Laboratory) -> None:
    report = lab.verify(depth="thorough")
    assert {limits.budget for _, limits, _ in lab.seen} == {None}
    assert {control.mutation for control in report.controls} == set(WRONG)
    assert all(not one.possible for one in report.left_out)
    assert f"{len(WRONG)} wrong migrations were all detected" in report.reason


def test_a_control_that_shows_nothing_is_replaced_until_there_are_three(lab: Laboratory) -> None:
    new = lab.new.read_text()
    lab.old.write_text(new.replace("strategy.scope()", "other.scope()"))  # only the scope was touched
    report = lab.verify(depth="default")
    assert len(report.controls) == 3
    assert "scope missing" in {control.mutation for control in report.controls}
    assert report.verdict == "EQUIVALENT", report.reason


def test_where_a_run_takes_long_hardly_more_than_enough_controls_are_made(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    made = {control.mutation for control in lab.verify(depth="default").controls}
    lab.seconds = 31.0
    report = lab.finds("EQUIVALENT", depth="default")
    fewer = {control.mutation for control in report.controls}
    assert len(fewer) == 4, "two processors have time for a fourth"
    assert fewer < made
    why = {one.mutation: one.why for one in report.left_out}
    assert {why[name] for name in made - fewer} == {"a run takes long here, and enough other mistakes were run"}
    assert {control.mutation for control in lab.verify(depth="thorough").controls} == set(WRONG)


@pytest.mark.parametrize(("judged", "verdict"), [(3, "EQUIVALENT"), (2, "INCONCLUSIVE")])
def test_controls_that_were_judged_before_the_time_limit_count(lab: Laboratory, judged: int, verdict: str) -> None:
    in_time = list(WRONG)[:judged]

    def behave(world: World, limits: Limits) -> Training | str | BaseException:
        if world.role.startswith("control: ") and world.role.removeprefix("control: ") not in in_time:
            return OutOfTime("the time limit of 60 seconds")
        return usual(world, limits)

    report = lab.finds(verdict, behave)
    if verdict == "EQUIVALENT":
        assert [control.mutation for control in report.controls] == in_time
        assert f"3 of {len(WRONG)} possible wrong migrations were run and all detected" in report.reason
        why = {one.mutation: one.why for one in report.left_out}
        assert why["half precision"] == "the time limit of 60 seconds was over"
    else:
        assert report.state == "out of time"


def test_a_smoke_test_looks_at_the_first_step_alone(lab: Laboratory) -> None:
    report = lab.finds("SMOKE PASSED", depth="smoke")
    assert sorted(set(lab.roles)) == ["genuine", "migrated on Keras 2", "migrated on Keras 3"]
    assert {(limits.budget, limits.gradient) for _, limits, _ in lab.seen} == {(1, False)}, "nothing reads the gradient"
    assert "EQUIVALENT" not in json.dumps(report.to_json())
    assert "nothing else was compared" in report.reason
    assert report.covered == "the first step of 3 epochs x 4 steps"


def test_a_smoke_test_finds_what_the_first_step_shows(lab: Laboratory) -> None:
    lab.finds("DIFFERENT", broken(migrated=replace(migrated(OLD), gradient_scale=2.0)), depth="smoke")
    report = lab.finds("DOES NOT RUN", broken(migrated="ValueError: no such layer (new.py:4)"), depth="smoke")
    assert "crashed before its first training step: ValueError: no such layer (new.py:4)" in report.reason


def test_a_smoke_test_does_not_blame_an_optimizer_of_another_keras(lab: Laboratory) -> None:
    """It takes another first step, which the loss of that step does not show."""
    lab.finds("DIFFERENT", broken(migrated=replace(migrated(OLD), step_scale=1.05)))
    lab.finds("SMOKE PASSED", depth="smoke")


def test_a_smoke_test_asks_the_restored_run_where_versions_round_otherwise(lab: Laboratory) -> None:
    report = lab.finds("SMOKE PASSED", broken(genuine=replace(OLD, penalty=6e-5)), depth="smoke")
    assert "version drift" in {name for name, _, _ in report.known}
    assert "restored on Keras 3" in lab.roles
    lab.finds("DIFFERENT", broken(migrated=replace(migrated(OLD), penalty=6e-5)), depth="smoke")


def test_a_first_batch_with_a_remainder_is_too_little_for_a_smoke_test(lab: Laboratory) -> None:
    uneven = replace(OLD, batch_size=33)

    report = lab.finds("INCONCLUSIVE", scripts(uneven, migrated(uneven)), depth="smoke")
    assert "the first batch cannot be divided evenly among the replicas" in report.reason
    lab.finds("DOES NOT RUN", scripts(uneven, "ValueError: no (new.py:4)"), depth="smoke")


def crashing(restored: str, migrated: str) -> Behaviour:
    return broken(restored=restored, migrated=migrated)


def test_the_strategy_is_not_blamed_for_what_keras_itself_refuses(lab: Laboratory) -> None:
    error = "AttributeError: module 'keras.backend' has no attribute 'batch_dot' ({}:{})"
    for depth in ("smoke", "default", "thorough"):
        report = lab.finds("DOES NOT RUN", crashing(error.format("old.py", 7), error.format("new.py", 9)), depth=depth)
        assert "crashed before its first training step" in report.reason
        assert "new.py:9" in report.reason
        assert "today's Keras is the cause, not the strategy" in report.reason


def test_the_strategy_is_not_cleared_by_another_crash(lab: Laboratory) -> None:
    lab.behaviour = crashing("ValueError: something else (old.py:7)", "ValueError: no (new.py:9)")
    assert "not the strategy" not in lab.verify().reason


def test_a_keras_on_which_the_new_script_runs_is_named(lab: Laboratory) -> None:
    report = lab.finds("DOES NOT RUN", broken(migrated_on_Keras_3="ValueError: no (new.py:9)"))
    assert report.reason.startswith("migrated on Keras 3 crashed: ")
    assert "it runs and agrees with the old one" in report.reason


def test_without_a_genuine_run_the_verdict_begins_with_that(lab: Laboratory) -> None:
    report = lab.finds("EQUIVALENT", broken(genuine="ModuleNotFoundError: No module named 'jinja2' (old.py:1)"))
    assert report.reason.startswith("against today's TensorFlow alone: the old one lacks jinja2")
    strict = lab.verify(require_genuine=True)
    assert (strict.verdict, strict.controls) == ("INCONCLUSIVE", ())
    assert "--require-genuine" in strict.reason
    lab.runtimes = (MODERN,)
    assert lab.verify().reason.startswith("against today's TensorFlow alone: no TensorFlow of its time was found")


def test_every_form_of_the_report_says_that_it_rests_on_todays_tensorflow(lab: Laboratory) -> None:
    lab.behaviour = broken(genuine="ModuleNotFoundError: No module named 'jinja2' (old.py:1)")
    report = lab.verify()
    words = "EQUIVALENT (against today's TensorFlow alone)"
    assert report.headline == report.to_json()["headline"] == words
    assert report.alone == report.to_json()["against_today_alone"] == "the old one lacks jinja2"
    assert words in pull_request.render(report).splitlines()[0]
    assert f"{words}: against today's TensorFlow alone: the old one lacks jinja2; over " in junit.render(report)
    lab.behaviour = usual
    report = lab.verify()
    assert (report.headline, report.to_json()["against_today_alone"]) == ("EQUIVALENT", None)


@pytest.mark.parametrize(("seconds", "verdict"), [(900.0, "DOES NOT RUN"), (90.0, "INCONCLUSIVE")])
def test_a_script_that_hangs_before_its_first_step_does_not_run(lab: Laboratory, seconds: float, verdict: str) -> None:
    """The old script takes 12 seconds: ten times as long says something."""
    lab.behaviour = broken(migrated="no more time")
    lab.changes.append(lambda run: replace(run, seconds=seconds if run.outcome == "timed out" else 12.0))
    for depth in ("smoke", "default"):
        report = lab.verify(depth=depth)
        assert report.verdict == verdict
        told = "the old script finished in 12 seconds, so time is not the problem" in report.reason
        assert told == (verdict == "DOES NOT RUN")


def test_a_smoke_test_asks_the_restored_run_where_the_data_differs(lab: Laboratory) -> None:
    report = lab.finds("SMOKE PASSED", broken(genuine=replace(OLD, data_seed=3)), depth="smoke")
    assert any(name == "data of another TensorFlow" for name, _, _ in report.known)
    lab.behaviour = broken(genuine=replace(OLD, data_seed=3), migrated=migrated(replace(OLD, data_seed=5)))
    lab.finds("DIFFERENT", depth="smoke")
    lab.seen.clear()
    lab.behaviour = usual
    lab.verify(depth="smoke")
    assert not any(role.startswith("restored") for role in lab.roles), "where nothing is in doubt none is run"


def test_another_crash_of_the_genuine_run_is_told_in_short(lab: Laboratory) -> None:
    lab.behaviour = broken(genuine="ValueError: old and tired (old.py:3)")
    report = lab.verify(depth="smoke")
    assert report.headline == "SMOKE PASSED (against today's TensorFlow alone)"
    assert report.alone.startswith("the old script failed in the old one (genuine: old.py crashed: ValueError: old and")


def test_a_crash_on_one_keras_that_the_old_script_shares_is_not_the_migrations(lab: Laboratory) -> None:
    lab.behaviour = broken(
        restored_on_Keras_3="ValueError: no such layer (old.py:7)",
        migrated_on_Keras_3="ValueError: no such layer (new.py:9)",
    )
    report = lab.finds("EQUIVALENT")
    assert "Keras 3 is not judged: the old script with multi_gpu_model put back crashes there with" in report.reason
    assert all(control.detected for control in report.controls)
    assert {world.legacy_keras for world, _, _ in lab.seen if world.role.startswith("control: ")} == {True}


def test_a_crash_that_the_old_script_does_not_share_is_the_migrations(lab: Laboratory) -> None:
    lab.behaviour = broken(
        restored_on_Keras_2="ValueError: something else (old.py:7)",
        migrated_on_Keras_2="ValueError: no such layer (new.py:9)",
    )
    report = lab.finds("DOES NOT RUN")
    assert report.reason.startswith("migrated on Keras 2 crashed")


def test_a_program_that_shows_no_half_precision_is_no_worse_for_it(lab: Laboratory) -> None:
    def blind(world: World, limits: Limits) -> Training | tuple[Training, ...] | Predicting | str | BaseException:
        return migrated(OLD) if world.role == "control: half precision" else usual(world, limits)

    report = lab.finds("EQUIVALENT", blind)
    assert ("half precision", "not visible in a program this small, and no migration introduces it") in {
        (one.mutation, one.why) for one in report.left_out
    }


# -- nothing is lost


def test_a_report_is_published_after_every_run(lab: Laboratory, tmp_path: Path) -> None:
    seen: list[Report] = []
    report = verify(VerifyOptions(lab.old, lab.new), execute=lab.run_all, publish=seen.append)
    assert report.state == "complete"
    assert [len(one.runs) for one in seen] == list(range(1, len(lab.seen) + 1))
    assert {(one.state, one.verdict) for one in seen} == {("under way", "INCONCLUSIVE")}
    for one in seen[:2]:
        page.write(one, tmp_path / "out")
        told = json.loads((tmp_path / "out" / "report.json").read_text())
        assert (told["state"], len(told["runs"])) == ("under way", len(one.runs))
        assert "no verdict yet" in (tmp_path / "out" / "report.html").read_text()
    assert not list((tmp_path / "out").glob(".*")), "files are replaced, nothing is left beside them"


@pytest.mark.parametrize(
    ("stop", "state", "code", "words"),
    [
        (KeyboardInterrupt(), "interrupted", 130, "stopped by Ctrl-C or a signal"),
        (OutOfTime("the time limit of 60 seconds"), "out of time", 3, "stopped by the time limit of 60 seconds"),
    ],
)
def test_what_is_known_when_it_is_stopped_is_reported(
    lab: Laboratory, stop: BaseException, state: str, code: int, words: str
) -> None:
    lab.behaviour = broken(control=stop)  # type: ignore[arg-type]
    report = lab.verify()
    assert (report.verdict, report.state, report.exit_code) == ("INCONCLUSIVE", state, code)
    assert words in report.reason
    assert "genuine vs migrated on Keras 3: they agree" in report.reason
    assert "unfinished: control: batch x2" in report.reason
    assert len(report.runs) == 6
    lab.behaviour = broken(genuine=stop)  # type: ignore[arg-type]
    early = lab.verify()
    assert "before old and new could be compared" in early.reason
    assert (early.runs, early.exit_code) == ((), code)


def test_a_run_that_was_ended_with_the_others_is_not_over(lab: Laboratory) -> None:
    def run_all(*given: object, done: Done | None = None) -> list[Run]:
        runs = lab.run_all(*given)  # type: ignore[arg-type]
        for run in runs:
            stopped = replace(run, outcome="crashed", message=f"{run.world.role}: new.py {STOPPED}")
            if done is not None:
                done(stopped if run.world.role == "migrated on Keras 2" else run)
        if any(run.world.kind == "migrated" for run in runs):
            raise KeyboardInterrupt
        return runs

    report = verify(VerifyOptions(lab.old, lab.new), execute=run_all)  # type: ignore[arg-type]
    assert "unfinished: migrated on Keras 2" in report.reason
    assert [pair.new for pair in report.pairs] == ["migrated on Keras 3"]


def test_a_wrong_migration_is_known_before_the_end(lab: Laboratory) -> None:
    def behave(world: World, limits: Limits) -> object:
        if world.role == "migrated on Keras 2":
            return KeyboardInterrupt()
        return replace(migrated(OLD), batch_size=128) if world.kind == "migrated" else usual(world, limits)

    lab.behaviour = behave  # type: ignore[assignment]
    assert "batches of 128 where 64 was asked for: x2" in lab.verify().reason


def test_as_written_is_stopped_alike(lab: Laboratory) -> None:
    count = iter(range(100))
    lab.behaviour = lambda world, limits: KeyboardInterrupt() if next(count) == 5 else replace(OLD, rounding=0.05)
    report = lab.verify_as_written(8)
    assert (report.state, report.exit_code, len(report.runs)) == ("interrupted", 130, 5)


def test_the_time_limit_is_a_signal_that_is_taken_back() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(OutOfTime, match=r"the time limit of 0\.1 seconds"), time_limit(0.1):
        time.sleep(10)
    assert signal.getsignal(signal.SIGALRM) is before
    with time_limit(None), time_limit(60):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


# -- what was touched


OLD_PROGRAM = """
model = multi_gpu_model(build(), gpus=4)
model.compile(optimizer=Adam(lr=0.1), loss="mse")
model.fit(x, y, batch_size=256, epochs=70, class_weight={0: 2.0}, validation_split=0.1)
"""
NEW_PROGRAM = """
with strategy.scope():
    model = build()
    model.compile(optimizer=Adam(learning_rate=0.1), loss="mse")
model.fit(x, y, batch_size=64 * strategy.num_replicas_in_sync, epochs=70, class_weight={0: 2.0}, validation_split=0.1)
"""


def test_what_a_migration_touched() -> None:
    found = touched({"a.py": OLD_PROGRAM}, {"b.py": NEW_PROGRAM})
    assert found == {"scope", "learning rate", "optimizer", "batch size"}
    assert touched({"a.py": OLD_PROGRAM}, {"b.py": "# a comment\n" + OLD_PROGRAM}) == set()
    assert touched({"a.py": OLD_PROGRAM, "c.py": "("}, {"b.py": OLD_PROGRAM, "d.py": b"x = 1\n"}) == set()


def test_a_loss_function_counts_as_the_loss() -> None:
    program = "def mine(y, p):\n    return {}\nmodel.compile(optimizer, loss=mine)\n"
    assert touched({"a": program.format("abs(y - p)")}, {"a": program.format("abs(p - y)")}) == {"loss"}
    assert touched({"a": "layer.trainable = False"}, {"a": "layer.trainable = True"}) == {"frozen layers"}


def test_controls_are_chosen_by_what_was_touched() -> None:
    program = {"new.py": NEW_PROGRAM}
    possible = list(controls.mutants(program, "new.py", 4, 3))
    chosen, rest = choose(possible, touched({"a.py": OLD_PROGRAM}, program), 3)
    assert [mutant.subject for mutant in chosen] == ["batch size", "learning rate", "scope"]
    assert sorted(m.mutation for m in (*chosen, *rest)) == sorted(m.mutation for m in possible)
    nothing, _ = choose(possible, frozenset(), 3)
    assert len({mutant.subject for mutant in nothing}) == 3
    assert choose(possible[:2], frozenset(), 3) == (tuple(possible[:2]), ())


# -- coverage in words


@pytest.mark.parametrize(
    ("steps", "cut", "words"),
    [
        (12, None, "the whole training, 12 steps"),
        (4, Cut(0, 70, 500, 4), "the first 4 steps of 70 epochs x 500 steps"),
        (1, Cut(0, 1, None, 1), "the first step of 1 epoch"),
        (8, Cut(0, None, None, 8), "the first 8 steps of train_on_batch"),
        (8, Cut(1, 5, 100, 4), "the first 8 steps: 1 training call and 4 steps of the next one's 5 epochs x 100 steps"),
        (8, Cut(2, 5, 9, 0), "the first 8 steps, which are 2 training calls; the next one, of 5 epochs x 9 steps, was"),
    ],
)
def test_coverage_in_words(tmp_path: Path, steps: int, cut: Cut | None, words: str) -> None:
    trace = train(tmp_path, OLD)
    assert coverage(replace(trace, steps=trace.steps[:steps], cut=cut)).startswith(words)


def test_what_runs_may_use_is_asked_for(lab: Laboratory) -> None:
    lab.verify(depth="smoke", memory=1 << 30, disk=2 << 30, processes=7, sandbox="none")
    asked = {(one.memory_bytes, one.disk_bytes, one.processes, one.sandbox) for _, one, _ in lab.seen}
    assert asked == {(1 << 30, 2 << 30, 7, "none")}
    lab.verify(depth="smoke")
    usual = lab.seen[-1][1]
    assert (usual.memory_bytes, usual.disk_bytes) == (Limits().memory_bytes, Limits().disk_bytes)
    assert (usual.processes, usual.sandbox) == (512, "auto")


def test_the_report_says_what_runs_were_kept_in(lab: Laboratory) -> None:
    def kept(run: Run) -> Run:
        within = ("Landlock",) if run.world.role == "genuine" else ("namespaces", "Landlock")
        return replace(run, trace=replace(run.trace, confined=within))

    lab.changes.append(kept)
    report = lab.verify(depth="smoke")
    assert "sandbox of genuine: Landlock" in report.notes
    assert "sandbox of migrated on Keras 3, migrated on Keras 2: namespaces, Landlock" in report.notes
    assert [run.sandbox for run in report.runs if run.role == "genuine"] == [("Landlock",)]


def test_the_report_says_where_runs_took_place_and_which_were_repeated(lab: Laboratory) -> None:
    def placed(run: Run) -> Run:
        if run.world.role == "genuine":
            return replace(run, machine="a")
        return replace(run, machine="c", lost=("node b died",))

    lab.changes.append(placed)
    notes = lab.verify(depth="smoke").notes
    assert "on a: genuine" in notes
    assert "on c: migrated on Keras 3, migrated on Keras 2" in notes
    assert [note for note in notes if "repeated" in note] == [
        f"migrated on Keras {keras}: repeated, because node b died" for keras in (3, 2)
    ]
