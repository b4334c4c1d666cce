from __future__ import annotations

from pathlib import Path

import pytest

from tfmigrate.verify.run.devices import gpus


def tool(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a program called nvidia-smi, and nothing else, on PATH."""
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_names_each_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(tmp_path, monkeypatch, "echo 'NVIDIA A100, 40960 MiB'\necho 'NVIDIA T4, 15360 MiB'")
    assert gpus() == ("NVIDIA A100, 40960 MiB", "NVIDIA T4, 15360 MiB")


def test_none_where_the_tool_fails_or_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(tmp_path, monkeypatch, "echo 'no driver'; exit 9")
    assert gpus() == ()
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert gpus() == ()
