"""The learning rate in files of a CSVLogger and in tables of a history (TFM236)."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, migrate

PROGRAM = """\
import csv
import pandas as pd
from keras.callbacks import {callbacks}
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
h = parallel.fit(batches, callbacks={made})
{lines}
"""
WITH_FILE = {"callbacks": "CSVLogger", "made": "[CSVLogger('log.csv')]"}
WITHOUT = {"callbacks": "ReduceLROnPlateau", "made": "[ReduceLROnPlateau()]"}
READ = "t = pd.read_csv('log.csv')\n"
ASKED = "t['learning_rate' if 'learning_rate' in t else 'lr']"


@pytest.mark.parametrize(
    ("lines", "after"),
    [
        (READ + "a = t['lr'].values[-1]", f"a = {ASKED}.values[-1]"),
        (READ + "a = t[['loss', 'lr']]", f"a = t[['loss', {ASKED[2:-1]}]]"),
        (READ + "a = t.lr", f"a = {ASKED}".replace("'", '"')),
        (READ + "a = 'lr' in t", "a = ('learning_rate' in t or 'lr' in t)"),
        (READ + "a = 'lr' not in t", "a = ('learning_rate' not in t and 'lr' not in t)"),
        ("with open('log.csv') as f:\n    a = [t['lr'] for t in csv.DictReader(f)]", f"a = [{ASKED} for t in"),
        ("rows = list(csv.DictReader(open('log.csv')))\nfor t in rows:\n    print(t['lr'])", f"print({ASKED})"),
    ],
)
def test_the_column_is_that_of_the_file(lines: str, after: str) -> None:
    file = check_migrated(PROGRAM.format(lines=lines, **WITH_FILE))
    assert after in file.after
    assert actions(file, "TFM236") == ["rewrite"]


def test_a_table_of_a_history_has_the_column_without_a_file() -> None:
    file = check_migrated(PROGRAM.format(lines="t = pd.DataFrame(h.history)\na = t['lr']", **WITHOUT))
    assert f"a = {ASKED}" in file.after


@pytest.mark.parametrize(
    "lines",
    [
        READ + "t['lr'] = 0\na = t['lr']",
        READ + "t.lr = 0\na = t.lr",
        READ + "a = t['loss']",
        READ + "a = t[0, 'lr']",
        "t = load('log.csv')\na = t['lr'], t.lr",
        "t = pd.DataFrame(settings)\na = t['lr']",
        "for t in rows:\n    print(t['lr'], t.lr)",
        "for number, t in enumerate(csv.reader(open('log.csv'))):\n    print(t.lr)",
        "a = args.lr",
    ],
)
def test_other_tables_stay(lines: str) -> None:
    file = migrate(PROGRAM.format(lines=lines, **WITH_FILE))
    assert lines in file.after
    assert actions(file, "TFM236") == []


def test_files_are_others_in_a_program_that_logs_to_none() -> None:
    file = migrate(PROGRAM.format(lines=READ + "a = t['lr']", **WITHOUT))
    assert "a = t['lr']" in file.after


@pytest.mark.parametrize(
    ("arguments", "done"),
    [
        ("'log.csv', append=True", ["warn"]),
        ("'log.csv', append=resumed", ["warn"]),
        ("'log.csv', ',', True", ["warn"]),
        ("'log.csv', append=False", []),
        ("'log.csv'", []),
    ],
)
def test_a_file_that_is_continued_is_reported(arguments: str, done: list[str]) -> None:
    program = {"callbacks": "CSVLogger, ReduceLROnPlateau", "made": f"[ReduceLROnPlateau(), CSVLogger({arguments})]"}
    assert actions(migrate(PROGRAM.format(lines="", **program)), "TFM236") == done


def test_a_file_without_the_rate_is_continued() -> None:
    program = {"callbacks": "CSVLogger", "made": "[CSVLogger('log.csv', append=True)]"}
    assert actions(migrate(PROGRAM.format(lines="", **program)), "TFM236") == []
