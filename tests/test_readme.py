"""What the README says is true: its example is the tool's output, its commands and options exist."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from tests.conftest import ROOT
from tfmigrate import cli, settings
from tfmigrate.migrate import migrate_bytes
from tfmigrate.settings import Settings

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(info: str) -> list[str]:
    return re.findall(rf"^```{info}\n(.*?)^```$", README, flags=re.M | re.S)


def test_the_example_is_what_the_tool_does() -> None:
    (before,), (after,) = blocks("python before"), blocks("python after")
    file = migrate_bytes(before.encode(), "example.py", Settings())
    assert file.error is None
    assert {finding.action for finding in file.findings} == {"rewrite"}
    assert file.after == after


def test_the_configuration_is_valid(tmp_path: Path) -> None:
    (block,) = blocks("toml")
    (tmp_path / "pyproject.toml").write_text(block)
    assert settings.load(tmp_path, {}).aliases == ("mylib.gpu.multi_gpu_model",)


COMMANDS = re.findall(r"^tfmigrate (\w+) ?(.*?) *(?:#.*)?$", README, flags=re.M)


@pytest.mark.parametrize(("name", "arguments"), COMMANDS)
def test_every_command_line_is_understood(name: str, arguments: str) -> None:
    assert cli.commands()[name].make_context(name, arguments.split()).args == []


def test_every_option_exists() -> None:
    known = {
        option
        for command in cli.commands().values()
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for option in parameter.opts
    }
    told = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README))
    assert told <= known
    assert told >= {"--format", "--select", "--diff", "--report", "--make", "--synthetic-data"}


def test_it_is_read_in_minutes_and_begins_with_the_two_commands() -> None:
    assert len(README.split()) <= 900
    first_screen = README.splitlines()[:25]
    assert [line.split("#")[0].strip() for line in first_screen if line.startswith("make ")] == [
        "make demo",
        "make test",
    ]


def test_what_it_links_to_is_there() -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", README):
        assert (ROOT / target).exists(), target


def test_every_command_is_told() -> None:
    assert all(f"tfmigrate {name}" in README for name in cli.commands())


def test_the_make_targets_exist() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.M))
    assert set(re.findall(r"^make (\w+)", README, flags=re.M)) <= targets
    assert "make test" in (ROOT / ".ci" / "run").read_text()
