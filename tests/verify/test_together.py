"""Limits that runs share, and the groups of the kernel that hold them to it."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

from tfmigrate.cli.amounts import size
from tfmigrate.verify.run import cgroups, together
from tfmigrate.verify.run.together import Together, Use
from tfmigrate.verify.run.world import Limits

LIMITS = Limits(memory_bytes=100, disk_bytes=100, processes=10)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Together:
    monkeypatch.setattr(cgroups, "own", lambda: ())
    return Together(LIMITS)


def never() -> int:
    raise AssertionError("nothing is crowded")


def test_one_run_may_take_all(runs: Together) -> None:
    assert runs.report("one", Use(disk=100, memory=100, processes=10), never) is None


def test_nobody_else_is_ended_for_what_an_ending_run_still_holds(runs: Together) -> None:
    use = Use(disk=1, memory=60, processes=1)
    assert [runs.report(run, use, lambda: 60) for run in ("one", "other")] == [None, None]
    assert runs.report("one", use, lambda: 60) == "memory"
    assert runs.report("other", use, lambda: 60) is None


@pytest.mark.parametrize("what", ["disk", "processes"])
def test_the_one_with_the_most_is_ended(runs: Together, what: str) -> None:
    small, large = ({"disk": 1, "memory": 1, "processes": 1, what: amount} for amount in (4, 99))
    assert runs.report("small", Use(**small), never) is None
    assert runs.report("large", Use(**large), never) == what
    assert runs.report("small", Use(**small), never) is None
    runs.forget("large")
    assert runs.report("small", Use(**small), never) is None


def test_shared_pages_are_counted_once_before_a_run_is_ended(runs: Together) -> None:
    use = Use(disk=0, memory=80, processes=1)
    assert runs.report("one", use, never) is None
    assert runs.report("two", use, lambda: 40) is None, "the other may share as much"
    assert runs.report("one", use, lambda: 40) is None, "80 in all"
    assert runs.report("two", use, lambda: 70) == "memory"
    assert runs.report("one", use, lambda: 40) is None, "the other has more"
    runs.forget("two")
    assert runs.report("one", use, never) is None


def test_how_many_runs_go_on_beside(runs: Together) -> None:
    for name in ("one", "two", "three"):
        runs.report(name, Use(0, 0, 0), never)
    runs.forget("three")
    assert runs.beside("one") == 1


# Groups: in a folder that has the files of one


@pytest.fixture
def hierarchy(tmp_path: Path) -> Path:
    """/user/session below the root, as systemd makes them: the session has no controllers to hand down."""
    own = tmp_path / "cgroup" / "user" / "session"
    own.mkdir(parents=True)
    for folder, handed in ((own, ""), (own.parent, "cpu memory pids"), (own.parent.parent, "cpu memory pids")):
        (folder / "cgroup.subtree_control").write_text(handed)
        (folder / "cgroup.procs").write_text("")
    (own.parent / "memory.max").write_text("max\n")
    (own / "memory.max").write_text("5000\n")
    (tmp_path / "own").write_text("4:memory:/elsewhere\n0::/user/session\n")
    (tmp_path / "mounts").write_text(f"30 24 0:26 / {tmp_path / 'cgroup'} rw,nosuid shared:9 - cgroup2 cgroup2 rw\n")
    return own


def groups(hierarchy: Path) -> tuple[Path, ...]:
    folder = hierarchy.parents[2]
    return cgroups.own(folder / "own", folder / "mounts")


def test_the_groups_of_a_process(hierarchy: Path) -> None:
    assert groups(hierarchy) == (hierarchy, hierarchy.parent, hierarchy.parents[1])


def test_a_group_is_made_where_controllers_are_handed_down(hierarchy: Path) -> None:
    made = cgroups.make(groups(hierarchy), 1 << 30, 700)
    assert made is not None
    assert made.parent == hierarchy.parent
    assert (made / "memory.max").read_text() == str(1 << 30)
    assert (made / "pids.max").read_text() == "700"
    assert (made / "cgroup.subtree_control").read_text() == "+memory"


def test_no_group_is_made_without_controllers(hierarchy: Path) -> None:
    assert cgroups.make((hierarchy,), 1, 1) is None
    assert list(hierarchy.glob("tfmigrate-*")) == []


def test_a_group_that_takes_no_limits_is_given_up(hierarchy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, text: str) -> int:
        raise PermissionError(path, text)

    monkeypatch.setattr(Path, "write_text", refuse)
    assert cgroups.make(groups(hierarchy), 1, 1) is None
    assert list(hierarchy.parents[1].rglob("tfmigrate-*")) == []


def test_a_run_that_the_kernel_ended(tmp_path: Path) -> None:
    group = cgroups.for_run(tmp_path)
    assert group is not None
    assert (group / "memory.oom.group").read_text() == "1"
    assert not cgroups.ran_out_of_memory(group)
    (group / "memory.events").write_text("low 0\nhigh 0\nmax 4\noom 0\noom_kill 0\n")
    assert not cgroups.ran_out_of_memory(group)
    (group / "memory.events").write_text("low 0\nhigh 0\nmax 4\noom 1\noom_kill 3\noom_group_kill 1\n")
    assert cgroups.ran_out_of_memory(group)


def test_memory_is_that_of_the_container(hierarchy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = groups(hierarchy)
    monkeypatch.setattr(cgroups, "own", lambda: found)
    assert cgroups.memory_of(9000) == 5000
    assert cgroups.memory_of(4000) == 4000


def test_a_process_of_a_run_joins_a_real_group() -> None:
    """The kernel's own files, with whatever controllers it has."""
    found = cgroups.own()
    root = next((folder for folder in found if os.access(folder / "cgroup.procs", os.W_OK)), None)
    if root is None or not os.access(root, os.W_OK):
        pytest.skip(f"no cgroup v2 to be changed: {found}")
    group = root / f"tfmigrate-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no group can be made: {error}")
    try:
        child = os.fork()
        if child == 0:
            (group / "cgroup.procs").write_text(str(os.getpid()))
            named = next(line for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))
            os._exit(0 if named.endswith(f"/{group.name}") else 1)
        _, status = os.waitpid(child, 0)
        assert os.WEXITSTATUS(status) == 0
    finally:
        cgroups.remove(group)
    assert not group.exists()


def test_the_kernel_ends_the_largest_of_runs_whose_memory_is_limited() -> None:
    limits = Limits(memory_bytes=64 << 20, processes=20)
    with Together(limits) as runs:
        group = runs.group_for_run()
        if group is None:
            handed = {str(folder): (folder / "cgroup.subtree_control").read_text().split() for folder in cgroups.own()}
            pytest.skip(f"cgroup v2 hands no memory and pids controllers down to a group that may be made: {handed}")
        try:
            child = os.fork()
            if child == 0:
                (group / "cgroup.procs").write_text(str(os.getpid()))
                bytearray(os.urandom(1 << 20) * 200)
                os._exit(0)
            _, status = os.waitpid(child, 0)
            assert os.WTERMSIG(status) == 9
            assert cgroups.ran_out_of_memory(group)
        finally:
            cgroups.remove(group)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("12G", 12 << 30), ("1.5 GiB", 3 << 29), ("500m", 500 << 20), ("64kB", 64 << 10), ("1T", 1 << 40), ("4096", 4096)],
)
def test_sizes(text: str, expected: int) -> None:
    assert size(text) == expected


@pytest.mark.parametrize("text", ["", "0", "0.1", "-1G", "12 apples", "G", "1e9", "12GG"])
def test_no_sizes(text: str) -> None:
    with pytest.raises(click.BadParameter, match="write it as 500M or 12G"):
        size(text)


def test_the_group_goes_with_the_runs(hierarchy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = groups(hierarchy)
    removed: list[Path] = []
    monkeypatch.setattr(cgroups, "own", lambda: found)
    monkeypatch.setattr(together.cgroups, "remove", removed.append)
    with Together(LIMITS) as runs:
        one = runs.group_for_run()
        assert one is not None
        assert one.parent.parent == hierarchy.parent
    assert removed == [one.parent]
