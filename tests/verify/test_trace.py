"""Reading traces back, whole and cut short."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tfmigrate.verify.run import trace

STEP = {"event": "step", "fit": 0, "epoch": 1, "step": 2, "loss": 0.5, "samples": 8, "fingerprint": "ab"}
MODEL = {"event": "model", "index": 0, "name": "m", "replicas": 4, "weights": [["kernel", [3, 2], True]]}
NOTE = {"event": "note", "text": "a remark"}


def write(folder: Path, *lines: str) -> Path:
    (folder / "trace.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


def test_events_become_facts(tmp_path: Path) -> None:
    loaded = trace.load(write(tmp_path, json.dumps(MODEL), json.dumps(STEP), json.dumps(NOTE)))
    assert loaded.models == (trace.Model(0, "m", 4, (("kernel", (3, 2), True),)),)
    assert loaded.steps == (trace.Step(0, 1, 2, 0.5, 8, "ab", None),)
    assert loaded.notes == ("a remark",)
    assert loaded.end is None
    assert loaded.folder == tmp_path


def test_a_last_line_cut_short_is_left_out_and_said(tmp_path: Path) -> None:
    loaded = trace.load(write(tmp_path, json.dumps(STEP), json.dumps(STEP)[:20]))
    assert len(loaded.steps) == 1
    assert loaded.notes == ("the last line of the trace was cut short and is left out",)


def test_fits_come_in_the_order_of_their_calls(tmp_path: Path) -> None:
    """A Fit is written when its first epoch is over: of two that overlap, the second may come first."""
    fit = {
        "event": "fit", "model": 0, "call": "train_on_batch", "source": "arrays", "epochs": 1, "global_batch_size": 8,
        "steps_per_epoch": None, "samples": None, "shuffle": "none", "validation_samples": None, "class_weight": False,
        "sample_weight": False,
    }  # fmt: skip
    loaded = trace.load(write(tmp_path, json.dumps({**fit, "index": 1}), json.dumps({**fit, "index": 0})))
    assert [f.index for f in loaded.fits] == [0, 1]


def test_a_snapshot_that_was_replaced_is_left_out(tmp_path: Path) -> None:
    old = {"event": "weights", "model": 0, "fit": 0, "moment": "final", "file": "model-0-final.npz"}
    loaded = trace.load(write(tmp_path, json.dumps(old), json.dumps({**old, "fit": 3})))
    assert [w.fit for w in loaded.weights] == [3]


def test_losses_that_are_not_numbers_survive(tmp_path: Path) -> None:
    loaded = trace.load(write(tmp_path, json.dumps({**STEP, "loss": float("nan")})))
    assert loaded.steps[0].loss != loaded.steps[0].loss


def test_nothing_recorded(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        trace.load(tmp_path)


def test_colours_in_an_error_are_left_out(tmp_path: Path) -> None:
    end = {"event": "end", "ok": False, "error": "ValueError: \x1b[1mInput 0 is \x1b[1;31mwrong\x1b[0m\x1b[2J"}
    rest = {"seconds": 1.0, "train_seconds": 1.0, "samples_per_second": None, "peak_memory_bytes": None}
    loaded = trace.load(write(tmp_path, json.dumps(end | rest)))
    assert loaded.end is not None
    assert loaded.end.error == "ValueError: Input 0 is wrong\x1b[2J"
