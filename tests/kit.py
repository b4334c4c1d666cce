"""What most tests of a decision say: this program is migrated so, refused for that reason, or left alone."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tfmigrate.result import FileResult
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

SETTINGS = Settings()


def migrate(text: str, settings: Settings = SETTINGS, **modules: str) -> FileResult:
    """What becomes of train.py, which holds `text`, in a program with these other modules."""
    others = {f"{name}.py": module for name, module in modules.items()}
    return migrate_files({"train.py": text, **others}, settings)["train.py"]


def migrate_files(sources: Mapping[str, str], settings: Settings = SETTINGS) -> dict[str, FileResult]:
    """What becomes of each file of a program, path to text."""
    files = {file.path: file for file in migrate_sources(sources, settings)}
    assert not [file.error for file in files.values() if file.error]
    return files


def check_migrated(text: str, settings: Settings = SETTINGS, **modules: str) -> FileResult:
    """train.py, of which everything is migrated."""
    file = migrate(text, settings, **modules)
    assert file.status == "migrated", file.findings
    return file


def check_refused(text: str, *codes: str, settings: Settings = SETTINGS, **modules: str) -> FileResult:
    """train.py, in which something is refused under each of these codes, in order of place, and nothing else."""
    file = migrate(text, settings, **modules)
    assert tuple(finding.code for finding in file.findings if finding.action == "refuse") == codes, file.findings
    return file


def check_unchanged(text: str, settings: Settings = SETTINGS, **modules: str) -> FileResult:
    """train.py, which stays as it is; what is reported or refused is in the result."""
    file = migrate(text, settings, **modules)
    assert file.after == text
    assert not [finding for finding in file.findings if finding.action == "rewrite"], file.findings
    return file


def changed(text: str, *changes: tuple[str, str]) -> str:
    """A program with each old part, which must be in it, replaced by a new one."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def refusal(file: FileResult) -> str:
    """The code and the words of the only refusal of a file, which stays as it is."""
    assert file.after == file.before
    (finding,) = [finding for finding in file.findings if finding.action == "refuse"]
    return f"{finding.code} {finding.message}"


def with_model(code: str) -> str:
    """A program that wraps and trains a model, below some code of its own."""
    return f"""
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

{code}
model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile(loss="mse", optimizer="sgd")
parallel_model.train_on_batch(x, y)
"""


def actions(file: FileResult, code: str) -> list[str]:
    """What was done under a code, in order of place."""
    return [finding.action for finding in file.findings if finding.code == code]


def codes(file: FileResult, action: str) -> list[str]:
    """The codes under which this was done, in order of place."""
    return [finding.code for finding in file.findings if finding.action == action]


def counted(monkeypatch: pytest.MonkeyPatch, *places: tuple[object, str]) -> list[int]:
    """How often these functions are called, in a list of one number."""
    count = [0]
    for holder, name in places:
        original = getattr(holder, name)

        def counting(*arguments: object, original: object = original, **named: object) -> object:
            count[0] += 1
            return original(*arguments, **named)  # type: ignore[operator]

        monkeypatch.setattr(holder, name, counting)
    return count
