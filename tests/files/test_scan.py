from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import git
from tfmigrate.files.scan import search

HIT = "from keras.utils import multi_gpu_model\n"
NEEDLES = (b"multi_gpu_model",)


def put(path: str, text: str = HIT) -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def found(*paths: str, **options: object) -> list[str]:
    return [one.path for one in search(paths or (".",), NEEDLES, **options).files]  # type: ignore[arg-type]


def test_finds_needles_in_python_files_only(project: Path) -> None:
    put("a.py")
    put("sub/b.py")
    put("c.py", "x = 1\n")
    put("d.txt")
    scan = search(["."], NEEDLES)
    assert [one.path for one in scan.files] == ["a.py", os.path.join("sub", "b.py")]
    assert scan.files[0].data == HIT.encode()
    assert len(scan.paths) == 3
    assert scan.errors == ()


def test_any_of_several_needles_is_enough(project: Path) -> None:
    put("a.py", "fit_generator")
    put("b.py", "multi_gpu_model")
    put("c.py", "nothing")
    assert [one.path for one in search(["."], (b"multi_gpu_model", b"fit_generator")).files] == ["a.py", "b.py"]


@pytest.mark.parametrize("folder", [".git/hooks", "node_modules/x", "__pycache__", "a/node_modules/b", ".tox/py"])
def test_never_walks(project: Path, folder: str) -> None:
    put(f"{folder}/x.py")
    assert found() == []


def test_never_walks_a_virtual_environment_under_any_name(project: Path) -> None:
    put("env37/lib/x.py")
    put("env37/pyvenv.cfg", "")
    put("conda/y.py")
    put("conda/conda-meta/history", "")
    put("lib/z.py")
    assert found() == [os.path.join("lib", "z.py")]


def test_naming_a_virtual_environment_says_why_it_is_not_walked(project: Path) -> None:
    put("env/pyvenv.cfg", "")
    put("env/lib/x.py")
    scan = search(["env"], NEEDLES)
    assert scan.files == ()
    assert [(error.path, error.status) for error in scan.errors] == [("env", "error")]
    assert "never searched" in (scan.errors[0].error or "")
    assert found("env/lib/x.py") == ["env/lib/x.py"]


def test_gitignore_at_every_level(project: Path) -> None:
    put(".gitignore", "generated_*.py\nout/\n/top.py\n")
    put("sub/.gitignore", "!generated_keep.py\nlocal.py\n")
    for path in ("generated_a.py", "out/x.py", "top.py", "sub/top.py", "sub/local.py", "local.py"):
        put(path)
    put("sub/generated_keep.py")
    put("sub/deep/generated_b.py")
    assert found() == ["local.py", "sub/generated_keep.py", "sub/top.py"]


def test_a_folder_that_gitignore_takes_back_is_walked(project: Path) -> None:
    put(".gitignore", "*\n!*.py\n!src/\n!src/nets/\n!kept\n!/odd\nodd/inner/\n")
    for path in ("top.py", "src/a.py", "src/nets/b.py", "src/out/c.py", "kept/d.py", "odd/e.py", "odd/inner/f.py"):
        put(path)
    subprocess.run(["git", "init", "-q"], check=True)
    listed = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard", "*.py"], check=True, capture_output=True, text=True
    )
    assert found() == sorted(listed.stdout.split())
    assert found("src/out") == ["src/out/c.py"]


def test_what_was_committed_is_walked_though_a_gitignore_names_it(project: Path) -> None:
    put(".gitignore", "build/\nlocal_*.py\n")
    for path in ("build/lib/a.py", "build/lib/b.py", "build/node_modules/c.py", "local_a.py", "local_b.py", "gone.py"):
        put(path)
    put("build/lib/notes.txt")
    git("init", "-q")
    git("add", "-f", "build/lib/a.py", "build/lib/notes.txt", "build/node_modules/c.py", "local_a.py")
    assert found() == ["build/lib/a.py", "gone.py", "local_a.py"]
    assert len(search(["."], NEEDLES).paths) == 4
    assert found("build") == ["build/lib/a.py", "build/lib/b.py"]
    assert [one.path for one in search(["."], NEEDLES, ["build/lib"]).files] == ["gone.py", "local_a.py"]
    Path("build/lib/a.py").unlink()
    assert found() == ["gone.py", "local_a.py"]


def test_comments_and_blank_lines_of_a_gitignore_ask_for_no_pattern(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("a.py")
    put("#b.py")
    put(".gitignore", "# a.py\n\n  \n")
    with monkeypatch.context() as patched:
        patched.delattr("tfmigrate.files.scan.compiled")  # It loads pathspec, as slow as a walk over 10,000 files.
        assert found() == ["#b.py", "a.py"]
    put(".gitignore", "# a.py\n\\#b.py\n")
    assert found() == ["a.py"]


def test_gitignore_of_the_repository_counts_when_a_folder_in_it_is_walked(project: Path) -> None:
    put(".gitignore", "generated.py\n")
    put(".git/info/exclude", "mine.py\n")
    put("src/pkg/generated.py")
    put("src/pkg/mine.py")
    put("src/pkg/kept.py")
    assert found("src/pkg") == ["src/pkg/kept.py"]


def test_an_ignored_file_or_folder_that_is_named_is_handled(project: Path) -> None:
    put(".gitignore", "skip.py\nout/\n")
    put("skip.py")
    put("out/x.py")
    assert found() == []
    assert found("skip.py") == ["skip.py"]
    assert found("out") == ["out/x.py"]


def test_exclude_is_relative_to_the_configuration(project: Path) -> None:
    put("legacy/a.py")
    put("src/legacy/b.py")
    put("src/c.py")
    assert found("src", exclude=["/legacy/"], root=project) == ["src/c.py", "src/legacy/b.py"]
    assert found(".", exclude=["/legacy/"], root=project) == ["src/c.py", "src/legacy/b.py"]
    assert found(".", exclude=["legacy/"], root=project) == ["src/c.py"]


def test_a_named_file_needs_no_suffix(project: Path) -> None:
    put("train")
    assert found("train") == ["train"]


def test_a_missing_path_is_an_error_and_the_others_go_on(project: Path) -> None:
    put("a.py")
    scan = search(["gone.py", "a.py", "also/gone"], NEEDLES)
    assert [one.path for one in scan.files] == ["a.py"]
    assert [error.path for error in scan.errors] == ["also/gone", "gone.py"]
    assert all("does not exist" in (error.error or "") for error in scan.errors)


def test_what_is_no_file_and_no_folder_is_an_error_not_a_wait(project: Path) -> None:
    os.mkfifo("pipe.py")
    scan = search(["pipe.py"], NEEDLES)
    assert "regular file" in (scan.errors[0].error or "")
    assert found(".") == []


def test_a_file_found_twice_is_handled_once(project: Path) -> None:
    put("src/a.py")
    assert found(".", "src", "src/a.py", str(project / "src")) == ["src/a.py"]
    os.symlink("a.py", "src/z_link.py")
    os.symlink("a.py", "src/A_link.py")
    assert found("src") == ["src/a.py"]


def test_a_link_inside_the_paths_leads_to_its_target(project: Path) -> None:
    put("src/real.txt")
    os.symlink("real.txt", "src/link.py")
    (one,) = search(["src"], NEEDLES).files
    assert (one.path, one.real) == ("src/link.py", str(project / "src" / "real.txt"))


def test_a_link_out_of_the_paths_is_an_error(project: Path) -> None:
    put("other/real.py")
    Path("src").mkdir()
    os.symlink("../other/real.py", "src/link.py")
    scan = search(["src"], NEEDLES)
    assert scan.files == ()
    assert scan.errors[0].path == "src/link.py"
    assert "outside the given paths" in (scan.errors[0].error or "")
    assert "outside" in (search(["src/link.py"], NEEDLES).errors[0].error or "")
    assert found("src", "other") == ["other/real.py"]


def test_links_to_folders_are_not_followed(project: Path) -> None:
    put("src/a.py")
    os.symlink("..", "src/up")
    assert found("src") == ["src/a.py"]


def test_a_link_to_nothing(project: Path) -> None:
    os.symlink("nowhere", "dangling.py")
    assert "broken link" in (search(["dangling.py"], NEEDLES).errors[0].error or "")
    assert search(["."], NEEDLES).errors == ()


def test_an_unreadable_file_or_folder_is_an_error_and_the_others_go_on(unprivileged: Path) -> None:
    put("a.py").chmod(0)
    put("b.py")
    put("closed/c.py").parent.chmod(0)
    scan = search(["."], NEEDLES)
    assert [one.path for one in scan.files] == ["b.py"]
    assert [(error.path, error.error) for error in scan.errors] == [
        ("a.py", "cannot be read: Permission denied"),
        ("closed", "cannot be read: Permission denied"),
    ]
    assert "cannot be read" in (search(["closed"], NEEDLES).errors[0].error or "")
    Path("closed").chmod(0o755)


@pytest.mark.parametrize("folder", [".venv/lib", "venv", "a/.venv/x", ".tox/py", "site-packages", "old/dist-packages"])
def test_installed_packages_are_never_walked_by_the_names_of_their_folders(project: Path, folder: str) -> None:
    put(f"{folder}/x.py")
    put("kept.py")
    assert found() == ["kept.py"]


@pytest.mark.parametrize("program", ["activate", "python", "python3"])
def test_an_environment_without_a_mark_is_known_by_what_it_holds(project: Path, program: str) -> None:
    put(f"env/bin/{program}", "")
    put("env/lib/python2.7/os.py")
    put("env/src/package/x.py")
    put("Env/Lib/site-packages/y.py")
    put("Env/Scripts/activate.bat", "")
    put("Env/src/z.py")
    assert found() == []
    assert found("env/src") == ["env/src/package/x.py"]


def test_a_folder_of_sources_that_is_called_env_is_walked(project: Path) -> None:
    put("env/gym.py")
    put("project/bin/activate", "")
    put("project/lib/net.py")
    put("tools/bin/python/x.py")
    put("tools/lib/pythonic.txt", "")
    assert found() == ["env/gym.py", "project/lib/net.py"]


def test_what_was_committed_in_an_environment_is_not_walked_either(project: Path) -> None:
    put(".gitignore", "env/\nbuilt/\n")
    put("env/bin/python", "")
    put("env/lib/python2.7/os.py")
    put("env/x.py")
    put("built/y.py")
    git("init", "-q")
    git("add", "-f", ".")
    assert found() == ["built/y.py"]


def test_a_link_out_of_the_tree_is_skipped_and_a_named_one_is_an_error(project: Path) -> None:
    put("other/real.py")
    Path("src").mkdir()
    os.symlink("../other/real.py", "src/link.py")
    assert [one.status for one in search(["src"], NEEDLES).errors] == ["skipped"]
    assert [one.status for one in search(["src/link.py"], NEEDLES).errors] == ["error"]
    assert [one.status for one in search(["src", "src/link.py"], NEEDLES).errors] == ["error"]


def test_a_gitignore_that_is_a_pipe_leaves_nothing_out_and_says_so(project: Path) -> None:
    git("init", "-q")
    put(".git/info/exclude", "mine.py\n")
    put("src/a.py")
    os.mkfifo("src/.gitignore")
    os.mkfifo(".gitignore")
    scan = search(["src"], NEEDLES)
    assert [one.path for one in scan.files] == ["src/a.py"]
    assert [(one.path, one.status) for one in scan.errors] == [(".gitignore", "skipped"), ("src/.gitignore", "skipped")]
    assert all("a pipe, not a regular file" in (one.error or "") for one in scan.errors)


def test_malformed_lines_of_a_gitignore_match_nothing_and_the_others_count(project: Path) -> None:
    put(".gitignore", "!\n\\\n[z-a].py\na.py\nfoo\\\n")
    put("a.py")
    put("b.py")
    assert found() == ["b.py"]
