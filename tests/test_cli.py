"""The command line: options in, exit codes and streams out, and never a traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest

from tests.conftest import ROOT, Tfmigrate, git, put
from tests.files.test_notebook import written
from tfmigrate import __version__, cli, migrate
from tfmigrate.cli.extras import install_line
from tfmigrate.verify.judge import verdict
from tfmigrate.verify.judge.plan import VerifyOptions
from tfmigrate.verify.judge.report import Report

PLAIN = b"x = 1\n"
HIT = b"p = multi_gpu_model(m)\n"
REFUSED = b"multi_gpu_model # refuse\n"


@pytest.mark.usefixtures("fake_rewrite")
class TestExitCodes:
    @pytest.mark.parametrize(
        ("data", "check", "fix", "diff"),
        [
            (PLAIN, 0, 0, 0),
            (HIT, 1, 0, 1),
            (REFUSED, 1, 1, 1),
            (HIT + REFUSED, 1, 1, 1),
            (b"multi_gpu_model # suppressed\n", 0, 0, 0),
            (b"syntax! multi_gpu_model\n", 2, 2, 2),
            (b"crash! multi_gpu_model\n", 2, 2, 2),
            (b"multi_gpu_model # \xe9\n", 2, 2, 2),
        ],
    )
    def test_of_check_diff_and_fix(
        self, project: Path, tfmigrate: Tfmigrate, data: bytes, check: int, fix: int, diff: int
    ) -> None:
        path = put("a.py", data)
        assert tfmigrate("check").code == check
        assert tfmigrate("fix", "--diff").code == diff
        assert path.read_bytes() == data
        assert tfmigrate("fix").code == fix

    @pytest.mark.parametrize("command", ["check", "fix"])
    def test_a_missing_path_among_good_ones(self, project: Path, tfmigrate: Tfmigrate, command: str) -> None:
        put("a.py", HIT)
        done = tfmigrate.exits(2, command, "a.py", "gone.py", "--format", "json")
        files = json.loads(done.out)["files"]
        assert [(file["path"], file["status"]) for file in files] == [("a.py", "migrated"), ("gone.py", "error")]
        assert (Path("a.py").read_bytes() == HIT) == (command == "check")


@pytest.mark.usefixtures("fake_rewrite")
class TestOutput:
    def test_check_and_fix_report_the_same_places(self, project: Path, tfmigrate: Tfmigrate) -> None:
        put("a.py", HIT + b"# suppressed multi_gpu_model\n" + REFUSED + HIT)

        def places(*arguments: str) -> list[tuple[str, str, int]]:
            (file,) = json.loads(tfmigrate(*arguments, "--format", "json").out)["files"]
            return [(file["path"], one["code"], one["line"]) for one in file["findings"]]

        assert places("check") == places("fix") != []

    def test_text(self, project: Path, tfmigrate: Tfmigrate) -> None:
        put("sub/a.py", HIT)
        assert tfmigrate("check", "sub").text.splitlines()[0].startswith("sub/a.py:1:5: TFM001 ")
        assert tfmigrate("check").text.splitlines()[-1] == "1 file checked: 1 file can be migrated."
        assert tfmigrate("fix").text.splitlines()[-1] == "1 file checked: 1 file migrated."
        assert tfmigrate("fix").text == "1 file checked, nothing to migrate.\n"

    @pytest.mark.parametrize("form", ["sarif", "github", "gitlab", "junit", "rdjson", "grouped"])
    def test_every_form_is_reachable(self, project: Path, tfmigrate: Tfmigrate, form: str) -> None:
        put("a.py", HIT)
        done = tfmigrate.exits(1, "check", "--format", form)
        assert "TFM001" in done.text

    def test_the_configuration_counts(self, project: Path, tfmigrate: Tfmigrate) -> None:
        put("a.py", HIT)
        put("pyproject.toml", b"[tool.tfmigrate]\nformat = 'json'\nexclude = ['a.py']\n")
        assert json.loads(tfmigrate("check").out)["files"] == []
        assert "nothing" in tfmigrate("check", "--format", "text").text

    def test_diff_is_a_patch_on_stdout_and_a_report_on_stderr(self, project: Path, tfmigrate: Tfmigrate) -> None:
        put("a.py", b"# coding: latin-1\n# \xe9\n" + HIT)
        done = tfmigrate("fix", "--diff")
        put("the.patch", done.out)
        assert "can be migrated" in done.err
        git("init", "-q")
        git("apply", "the.patch")
        assert Path("a.py").read_bytes() == b"# coding: latin-1\n# \xe9\np = scope(m)\n"

    def test_diff_and_format_do_not_mix(self, project: Path, tfmigrate: Tfmigrate) -> None:
        done = tfmigrate.exits(2, "fix", "--diff", "--format", "json")
        assert "--diff prints a patch" in done.err


@pytest.mark.usefixtures("fake_rewrite")
class TestStdin:
    def test_check(self, project: Path, tfmigrate: Tfmigrate) -> None:
        done = tfmigrate("check", "-", stdin=HIT)
        assert (done.code, done.text.split(":")[0]) == (1, "<stdin>")
        assert tfmigrate("check", "-", stdin=PLAIN).code == 0

    @pytest.mark.parametrize(
        ("data", "code", "out"),
        [
            (HIT, 0, b"p = scope(m)\n"),
            (b"\xef\xbb\xbf" + HIT, 0, b"\xef\xbb\xbfp = scope(m)\n"),
            (b"a\r\n# \xc3\xa9", 0, b"a\r\n# \xc3\xa9"),
            (REFUSED, 1, REFUSED),
            (b"\xe9", 2, b"\xe9"),
        ],
    )
    def test_fix_writes_the_program_to_stdout_and_the_report_to_stderr(
        self, project: Path, tfmigrate: Tfmigrate, data: bytes, code: int, out: bytes
    ) -> None:
        done = tfmigrate("fix", "-", stdin=data)
        assert (done.code, done.out) == (code, out)
        assert done.err

    def test_comes_alone(self, project: Path, tfmigrate: Tfmigrate) -> None:
        done = tfmigrate.exits(2, "check", "-", "a.py")
        assert "must be the only path" in done.err


@pytest.mark.usefixtures("fake_rewrite")
class TestErrors:
    """One line on stderr, exit 2, nothing on stdout."""

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["check", "--select", "TFM9"], "select: there is no code 'TFM9'; `tfmigrate explain` lists them"),
            (["check", "--ignore", "TFM001,TFM11"], "ignore: there is no code 'TFM11'; did you mean 'TFM101'?"),
            (["check", "--target", "1.15"], "command line: target = '1.15' is older than 2.4"),
            (["check", "--from", "x"], "command line: from = 'x' is not understood"),
            (["check", "--format", "yaml"], "'yaml' is not one of"),
            (["check", "--jobs", "0"], "--jobs"),
            (["chekc"], "No such command 'chekc'; did you mean 'check'?"),
            (["check", "--select", "far-away"], "the code of far-away is TFM101"),
            (["explain", "TFM100"], "'TFM100' is neither a rule nor FILE:LINE; did you mean TFM101 (far-away)"),
            (["explain", "TFM999"], "did you mean TFM101 (far-away)"),
            (["explain", "so far"], "did you mean TFM101 (far-away)?"),
            (["explain", "nothing"], "neither a rule nor FILE:LINE; `tfmigrate explain` lists the rules"),
            (["check", "--config", "gone.toml"], "gone.toml: cannot be read: No such file or directory; check"),
            (["check", "--config", "x.toml", "--isolated"], "--isolated reads no configuration file"),
            (["check", "--statistics", "--format", "sarif"], "--statistics supports text and json, not sarif"),
            (["check", "--output-file", "no/where.txt"], "--output-file no/where.txt: cannot be written: No such file"),
            (["explain", "gone.py:3"], "gone.py: does not exist"),
        ],
    )
    def test_wrong_options(self, project: Path, tfmigrate: Tfmigrate, arguments: list[str], message: str) -> None:
        done = tfmigrate(*arguments)
        assert (done.code, done.out) == (2, b"")
        assert message in done.err
        assert "Traceback" not in done.err

    def test_a_broken_configuration(self, project: Path, tfmigrate: Tfmigrate) -> None:
        put("pyproject.toml", b"[tool.tfmigrate\n")
        done = tfmigrate("check")
        assert (done.code, done.out) == (2, b"")
        assert done.err.startswith(f"tfmigrate: {project / 'pyproject.toml'}: cannot be read: ")
        assert done.err.count("\n") == 1

    def test_the_unexpected(self, project: Path, tfmigrate: Tfmigrate, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object) -> None:
            raise ZeroDivisionError("oops")

        monkeypatch.setattr(migrate, "check", fail)
        done = tfmigrate.exits(2, "check")
        assert done.err.startswith("tfmigrate: internal error: ZeroDivisionError: oops (test_cli.py:")
        assert "report it" in done.err

    def test_control_c(self, project: Path, tfmigrate: Tfmigrate, monkeypatch: pytest.MonkeyPatch) -> None:
        def stop(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(migrate, "check", stop)
        done = tfmigrate("check")
        assert (done.code, done.err.strip()) == (cli.INTERRUPTED, "tfmigrate: stopped")

    def test_a_reader_that_went_away(self, project: Path) -> None:
        put("a.py", PLAIN)
        command = f"{sys.executable} -m tfmigrate check --format json . 2>err.txt | true"
        subprocess.run(["bash", "-c", command], check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
        assert "Traceback" not in Path("err.txt").read_text()


@pytest.mark.usefixtures("fake_rewrite")
class TestChoices:
    def test_select_and_ignore(self, project: Path, tfmigrate: Tfmigrate) -> None:
        put("a.py", HIT + REFUSED)

        def codes(*options: str) -> set[str]:
            files = json.loads(tfmigrate("check", "--format", "json", *options).out)["files"]
            return {finding["code"] for file in files for finding in file["findings"]}

        assert codes() == {"TFM001", "TFM101"}
        assert codes("--select", "TFM1") == {"TFM101"}
        assert codes("--ignore", "TFM1,TFM001") == set()
        assert codes("--ignore", "TFM1", "--select", "TFM") == {"TFM001"}

    def test_changed(self, project: Path, tfmigrate: Tfmigrate) -> None:
        (project / ".git").rmdir()
        git("init", "-q", "-b", "main")
        put("old.py", HIT)
        git("add", ".")
        git("commit", "-q", "-m", "old")
        put("new.py", HIT)
        assert [line.split(":")[0] for line in tfmigrate("check", "--changed").text.splitlines()[:-1]] == ["new.py"]
        assert "old.py" in tfmigrate("check").text
        done = tfmigrate.exits(2, "check", "--changed", "new.py")
        assert "write --changed=REV" in done.err

    def test_nothing_changed_means_nothing_is_looked_at(self, project: Path, tfmigrate: Tfmigrate) -> None:
        (project / ".git").rmdir()
        git("init", "-q", "-b", "main")
        put("old.py", HIT)
        git("add", ".")
        git("commit", "-q", "-m", "old")
        assert tfmigrate("check", "--changed").text == "0 files checked, nothing to migrate.\n"


@pytest.mark.usefixtures("fake_rewrite")
class TestExplain:
    def test_a_code(self, project: Path, tfmigrate: Tfmigrate) -> None:
        done = tfmigrate("explain", "tfm001")
        fix = "**TFM001** `wrap`: safe fix, made by `tfmigrate fix`."
        assert (done.code, done.text) == (0, f"# Wrap\n\n{fix}\n\nIt wraps.\n\nWhy.\n")

    def test_the_list(self, project: Path, tfmigrate: Tfmigrate) -> None:
        assert tfmigrate("explain").text == "TFM001  Wrap\nTFM101  Far\n"

    def test_a_place(self, project: Path, tfmigrate: Tfmigrate) -> None:
        put("a.py", PLAIN + REFUSED + HIT)
        done = tfmigrate.exits(0, "explain", "a.py:2")
        assert done.text.startswith("a.py:2:1: TFM101 say, refuse: 5% [refused]\n\n# Far\n")
        assert "TFM001" not in done.text
        nothing = tfmigrate("explain", "a.py:1")
        assert (nothing.code, nothing.text) == (1, "a.py:1: nothing to explain; this file has findings at line 2, 3\n")
        put("b.py", PLAIN)
        assert "no findings" in tfmigrate("explain", "b.py:1").text


LIGHT = """
import sys
import time
from tfmigrate.cli import run
code = run(sys.argv[1:])
loaded = {name.split(".")[0] for name in sys.modules} | set(sys.modules)
heavy = {"libcst", "rich", "numpy", "tensorflow", "matplotlib", "jinja2", "packaging"} & loaded
if sys.argv[1] != "explain":
    heavy |= {"tfmigrate.rules", "tomllib"} & loaded
sys.exit(f"exit code {code}, loaded {heavy}" if code or heavy else 0)
"""


@pytest.mark.parametrize("arguments", [["check", "."], ["fix", "."], ["explain"], ["--version"], ["check", "--help"]])
def test_a_run_without_a_hit_loads_nothing_heavy(project: Path, arguments: list[str]) -> None:
    put("a.py", PLAIN)
    put(".gitignore", b"b.py\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", LIGHT, *arguments], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


def test_many_files_in_several_processes_give_the_same_result(project: Path, tfmigrate: Tfmigrate) -> None:
    program = (ROOT / "fixtures" / "base_parallel" / "before" / "train.py").read_bytes()
    for number in range(6):
        put(f"f{number}.py", program + b"#\n" * number + (b"print 'x'" if number == 3 else b""))
    alone = tfmigrate.exits(2, "check", "--format", "json", "--jobs", "1")
    assert json.loads(alone.out)["summary"]["migrated"] == 5
    assert tfmigrate("check", "--format", "json", "--jobs", "2") == alone


def test_python_dash_m(project: Path) -> None:
    put("a.py", PLAIN)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-m", "tfmigrate", "check"], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "1 file checked, nothing to migrate.\n")


@pytest.mark.usefixtures("fake_rewrite")
class TestVerify:
    """Options in, verdict out; the judge itself is tested in tests/verify."""

    @pytest.fixture
    def judged(self, monkeypatch: pytest.MonkeyPatch) -> list[VerifyOptions]:
        """What the judge was asked; with the text of the new script as it was at that moment in `args`."""
        asked: list[VerifyOptions] = []

        def judge(options: VerifyOptions, tell: Callable[[str], None], **more: object) -> Report:
            asked.append(replace(options, args=(*options.args, options.new.read_text())))
            tell("running genuine")
            return Report("INCONCLUSIVE", "for a test", "old -> new")

        monkeypatch.setattr(verdict, "verify", judge)
        return asked

    def test_every_option_reaches_the_judge(
        self, project: Path, tfmigrate: Tfmigrate, judged: list[VerifyOptions]
    ) -> None:
        put("prog/old.py", b"old")
        put("prog/new.py", b"new")
        options = "--replicas 2 --old-python /py37 --new-python /py312 --timeout 60 --cwd prog --epochs 3 --steps 4"
        options += " --subset 500 --workers 2 --no-packages --time-limit 900"
        more = [
            "--synthetic-data",
            "--env",
            "A=1",
            "--env",
            "B=x=y",
            "--args",
            "--lr 0.1 --name 'a b'",
            "--report",
            "out",
        ]
        done = tfmigrate.exits(3, "verify", "prog/old.py", "prog/new.py", *options.split(), *more)
        assert done.err == "running genuine\n"
        assert judged == [
            VerifyOptions(
                old=Path("prog/old.py"),
                new=Path("prog/new.py"),
                args=("--lr", "0.1", "--name", "a b", "new"),
                replicas=2,
                old_python=Path("/py37"),
                new_python=Path("/py312"),
                seconds=60,
                epochs=3,
                steps=4,
                subset=500,
                workers=2,
                synthetic_data=True,
                depth="default",
                environment={"A": "1", "B": "x=y"},
                keep=Path("out/runs"),
                packages=False,
                version=__version__,
                command=mock.ANY,
                with_todays_names=mock.ANY,
                time_limit=900,
            )
        ]
        assert "INCONCLUSIVE  for a test" in done.text
        assert "Report: out/report.html" in done.text
        assert json.loads(Path("out/report.json").read_text())["verdict"] == "INCONCLUSIVE"

    @pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
    def test_ended_from_outside(
        self, project: Path, tfmigrate: Tfmigrate, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        put("old.py", b"old")
        kept = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background is started without it

        def judge(options: VerifyOptions, tell: Callable[[str], None], **more: object) -> Report:
            os.kill(os.getpid(), getattr(signal, name))
            time.sleep(10)
            raise AssertionError("went on")

        monkeypatch.setattr(verdict, "verify", judge)
        try:
            done = tfmigrate("verify", "old.py", "old.py")
        finally:
            for one, handler in kept.items():
                signal.signal(one, handler)
        assert (done.code, done.err.strip()) == (130, "tfmigrate: stopped")

    def test_the_forms_of_the_verdict(self, project: Path, tfmigrate: Tfmigrate, judged: list[VerifyOptions]) -> None:
        put("old.py", b"old")
        put("new.py", b"new")
        assert "### " in tfmigrate("verify", "old.py", "new.py", "--pull-request").text
        assert "<testsuites" in tfmigrate("verify", "old.py", "new.py", "--format", "junit").text
        mixed = tfmigrate("verify", "old.py", "new.py", "--format", "json", "--pull-request")
        assert (mixed.code, "leave out --format json" in mixed.err) == (2, True)

    def test_without_new_a_copy_for_several_machines_is_run(
        self, project: Path, tfmigrate: Tfmigrate, judged: list[VerifyOptions], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put("prog/old.py", HIT)
        chosen: list[str] = []
        monkeypatch.setattr(
            migrate, "fix_copy", lambda old, new, how, *more: (chosen.append(how.strategy), new.write_text("new"))
        )
        tfmigrate("verify", "prog/old.py", "--workers", "2")
        tfmigrate("verify", "prog/old.py")
        assert chosen == ["multi-worker", "mirrored"]

    def test_without_new_a_migrated_copy_is_run(
        self, project: Path, tfmigrate: Tfmigrate, judged: list[VerifyOptions]
    ) -> None:
        old = put("prog/old.py", HIT)
        done = tfmigrate("verify", "prog/old.py", "--format", "json")
        (options,) = judged
        assert options.args == ("p = scope(m)\n",)
        assert options.new.name == "old.py"
        assert not options.new.exists()
        assert old.read_bytes() == HIT
        assert json.loads(done.out)["verdict"] == "INCONCLUSIVE"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["verify", "gone.py"], "gone.py: does not exist"),
            (["verify", "plain.py"], "plain.py: nothing to migrate; pass the script to compare it with as NEW"),
            (["verify", "refused.py"], "refused.py:1:1: TFM101 say, refuse: 5%; migrate it by hand"),
            (["verify", "hit.py", "--cwd", "gone"], "--cwd gone: no such folder"),
            (["verify", "hit.py", "--smoke", "--thorough"], "leave out --thorough"),
            (["verify", "."], "is a folder"),
            (["verify", "pack.train"], "no such module"),
            (["verify", ".", "-m", "pack.train"], "neither train.py nor train/__main__.py"),
            (["verify", "hit.py", "-m", "pack.train"], "OLD and NEW are the folders"),
            (["verify", "hit.py", "--driver", "plain.py"], "takes the program's folder"),
            (["verify", ".", ".", "--driver", "plain.py"], "leave out NEW"),
            (["verify", "hit.py", "--stub", "cv2"], "is not MODULE=FILE"),
            (["verify", "hit.py", "--env", "A"], "--env 'A' is not NAME=VALUE"),
            (["verify", "hit.py", "--replicas", "1"], "--replicas"),
            (
                ["verify", "hit.py", "--report", "plain.py/out"],
                "--report plain.py/out: cannot be created: Not a directory",
            ),
            (["verify"], "Missing argument 'OLD'"),
        ],
    )
    def test_mistakes(
        self,
        project: Path,
        tfmigrate: Tfmigrate,
        judged: list[VerifyOptions],
        arguments: list[str],
        message: str,
    ) -> None:
        put("plain.py", PLAIN)
        put("refused.py", REFUSED)
        put("hit.py", HIT)
        done = tfmigrate(*arguments)
        assert (done.code, done.out, judged) == (2, b"", [])
        assert message in done.err
        assert "Traceback" not in done.err

    def test_a_notebook_is_run_as_a_script(
        self, project: Path, tfmigrate: Tfmigrate, judged: list[VerifyOptions]
    ) -> None:
        book = written("%matplotlib inline\nx = 1", "multi_gpu_model", "display(x)")
        put("prog/old.ipynb", book.encode())
        put("prog/data.csv", b"1")
        assert tfmigrate("verify", "prog/old.ipynb").code == 3
        (asked,) = judged
        assert (asked.old.name, asked.new.name) == ("old_notebook.py", "old_notebook.py")
        assert asked.old.parent != asked.new.parent
        script = "None  # %matplotlib inline\nx = 1\n# Cell 3\nscope\n# Cell 4\ndisplay(x)\n"
        assert asked.args[-1] == f"import builtins; builtins.display = print  # As IPython gives it.\n{script}"
        assert Path("prog/old.ipynb").read_text() == book

    def test_a_notebook_against_a_script(
        self, project: Path, tfmigrate: Tfmigrate, judged: list[VerifyOptions]
    ) -> None:
        put("old.ipynb", written("x = 1").encode())
        put("new.py", b"x = 1\n")
        assert tfmigrate("verify", "old.ipynb", "new.py").code == 3
        assert (judged[0].old.name, judged[0].new.name, judged[0].args) == ("old_notebook.py", "new.py", ("x = 1\n",))
        assert "leave out --program and --cwd" in tfmigrate("verify", "old.ipynb", "new.py", "--cwd", ".").err
        assert "gone.ipynb: does not exist" in tfmigrate("verify", "gone.ipynb", "new.py").err
        put("bad.ipynb", b"{}")
        assert "bad.ipynb: is not a notebook of format 4" in tfmigrate("verify", "bad.ipynb", "new.py").err

    @pytest.mark.parametrize("missing", ["numpy", "jinja2", "matplotlib"])
    def test_without_the_extra(self, project: Path, missing: str) -> None:
        put("hit.py", HIT)
        program = (
            f"import sys; sys.modules[{missing!r}] = None; from tfmigrate.cli import main; main(['verify', 'hit.py'])"
        )
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        assert done.returncode == 2
        assert done.stderr == f"tfmigrate: verify needs {missing}: {install_line('verify')}\n"


class TestRuntimes:
    """`runtimes` with the search for interpreters replaced; the search itself is tested in tests/verify."""

    @pytest.fixture
    def made(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        from tfmigrate.verify.run import devices, runtimes

        made: list[str] = []

        def make(name: str) -> None:
            if name == "tf2.3":
                raise runtimes.CannotMake("Python 3.8 is needed for tf2.3 and was not found. Install it")
            made.append(name)

        old = runtimes.Runtime(Path("/opt/py37"), (3, 7, 17), "1.15.0", "2.3.1", origin="made")
        monkeypatch.setattr(devices, "gpus", lambda: ("NVIDIA A100, 40960 MiB",) if made else ())
        monkeypatch.setattr(runtimes, "make", make)
        monkeypatch.setattr(runtimes, "discover", lambda: (old,) if made else ())
        return made

    def test_the_table_says_what_is_missing(self, tfmigrate: Tfmigrate, made: list[str]) -> None:
        done = tfmigrate.exits(0, "runtimes")
        assert "`tfmigrate runtimes --make tf1.15` builds one" in done.text
        assert "pip install 'tfmigrate[verify]" in done.text
        assert "No GPU found: replicas run on logical CPUs" in done.text

    def test_make_one(self, tfmigrate: Tfmigrate, made: list[str]) -> None:
        done = tfmigrate("runtimes", "--make", "tf1.15", "--format", "json")
        assert (done.code, made) == (0, ["tf1.15"])
        (row,) = json.loads(done.out)["runtimes"]
        assert json.loads(done.out)["gpus"] == ["NVIDIA A100, 40960 MiB"]
        assert (row["python"], row["tensorflow"], row["serves"][0]) == ("/opt/py37", "1.15.0", "genuine keras")

    def test_a_name_that_is_unknown_is_not_said_to_be_built(self, tfmigrate: Tfmigrate, made: list[str]) -> None:
        assert "Building tf1.15" in tfmigrate("runtimes", "--make", "tf1.15").err
        assert "Building" not in tfmigrate("runtimes", "--make", "tf1.51").err

    def test_one_that_cannot_be_made_stops_no_other(self, tfmigrate: Tfmigrate, made: list[str]) -> None:
        done = tfmigrate("runtimes", "--make", "all")
        assert (done.code, made) == (2, ["tf1.15"])
        assert "tfmigrate: Python 3.8 is needed for tf2.3" in done.err
        assert "/opt/py37" in done.text
        assert "GPU: NVIDIA A100, 40960 MiB" in done.text
