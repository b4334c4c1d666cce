from __future__ import annotations

from pathlib import Path

import pytest

from tfmigrate import settings
from tfmigrate.settings import Settings, SettingsError


def configure(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text)


def test_defaults_without_configuration(project: Path) -> None:
    assert settings.load(project, {}) == Settings()


def test_reads_every_key_and_the_command_line_wins(project: Path) -> None:
    configure(
        project,
        """[tool.tfmigrate]
        target = "2.16"
        from = "keras==2.2.4"
        strategy = "mirrored"
        batch = "keep"
        pipeline = "arrays"
        select = ["TFM0"]
        ignore = ["TFM005"]
        exclude = ["legacy/"]
        aliases = ["mylib.gpu.multi_gpu_model"]
        format = "json"
        jobs = 3
        program-timeout = 5
        largest-file = 7
        """,
    )
    (project / "src").mkdir()
    (project / "src" / "train.py").touch()
    expected = Settings(
        target="2.16",
        from_version="keras==2.2.4",
        strategy="mirrored",
        batch="keep",
        pipeline="arrays",
        select=("TFM0",),
        ignore=("TFM005",),
        exclude=("legacy/",),
        aliases=("mylib.gpu.multi_gpu_model",),
        format="json",
        jobs=3,
        program_timeout=5,
        largest_file=7,
        root=project,
    )
    assert settings.load(project / "src" / "train.py", {"target": None}) == expected
    given = settings.load(project, {"target": "2.4", "from_version": "1.15", "select": ("TFM1",), "jobs": None})
    assert (given.target, given.from_version, given.select, given.jobs) == ("2.4", "1.15", ("TFM1",), 3)


def test_the_nearest_pyproject_counts(project: Path) -> None:
    configure(project, '[tool.tfmigrate]\nbatch = "keep"\n')
    inner = project / "inner"
    inner.mkdir()
    configure(inner, "[project]\nname = 'x'\n")
    assert settings.load(inner, {}) == Settings(root=inner)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.tfmigrate]\ntarge = '2.16'\n", "no setting 'targe'; did you mean 'target'?"),
        ("[tool.tfmigrate]\nroot = '/'\n", "no setting 'root'"),
        ("[tool.tfmigrate]\nfrom_version = '1.15'\n", "no setting 'from_version'"),
        ("[tool.tfmigrate]\ntarget = 2.16\n", "target = 2.16 is not a string; put it in quotes"),
        ("[tool.tfmigrate]\ntarget = 'new'\n", "target = 'new' is not a TensorFlow version"),
        ("[tool.tfmigrate]\ntarget = '1.15'\n", "target = '1.15' is older than 2.4"),
        ("[tool.tfmigrate]\nfrom = 'long ago'\n", "from = 'long ago' is not understood"),
        ("[tool.tfmigrate]\nbatch = 'seeds'\n", "is not one of auto, seed, keep; did you mean 'seed'?"),
        ("[tool.tfmigrate]\nselect = [1]\n", "select = [1] is not a list of strings"),
        ("[tool.tfmigrate]\njobs = 0\n", "jobs = 0 is not a number of processes"),
        ("[tool.tfmigrate]\nprogram-timeout = 0\n", "program-timeout = 0 is not a number of seconds"),
        ("[tool.tfmigrate]\nprogram-timeout = inf\n", "program-timeout = inf is not a number of seconds"),
        ('[tool.tfmigrate]\nprogram-timeout = "1m"\n', "program-timeout = '1m' is not a number of seconds"),
        ("[tool.tfmigrate]\nlargest-file = 0.5\n", "largest-file = 0.5 is not a number of characters"),
        ("[tool.tfmigrate]\njobs = true\n", "jobs = True is not a number of processes"),
        ("tool.tfmigrate = 1\n", "tool.tfmigrate is not a table"),
        ("[tool.tfmigrate\n", "cannot be read: "),
    ],
)
def test_mistakes_are_told_with_file_and_way_out(project: Path, text: str, message: str) -> None:
    configure(project, text)
    with pytest.raises(SettingsError) as told:
        settings.load(project, {})
    assert message in str(told.value)
    assert str(project / "pyproject.toml") in str(told.value)


def test_a_configuration_that_is_not_utf8_is_told(project: Path) -> None:
    (project / "pyproject.toml").write_bytes(b"# caf\xe9\n")
    with pytest.raises(SettingsError, match="cannot be read"):
        settings.load(project, {})


@pytest.mark.parametrize(
    ("select", "ignore", "wanted"),
    [
        ((), (), {"TFM001", "TFM101", "TFM201"}),
        (("TFM1",), (), {"TFM101"}),
        (("TFM001", "TFM2"), (), {"TFM001", "TFM201"}),
        ((), ("TFM0",), {"TFM101", "TFM201"}),
        (("TFM",), ("TFM101",), {"TFM001", "TFM201"}),
    ],
)
def test_wants(select: tuple[str, ...], ignore: tuple[str, ...], wanted: set[str]) -> None:
    chosen = Settings(select=select, ignore=ignore)
    assert {code for code in ("TFM001", "TFM101", "TFM201") if chosen.wants(code)} == wanted


@pytest.mark.parametrize(
    ("text", "keras", "tensorflow"),
    [
        ("1.15", None, (1, 15)),
        ("keras==2.2.4", (2, 2, 4), None),
        ("tf 2.3, keras 2.3.1", (2, 3, 1), (2, 3)),
        ("tensorflow-gpu==1.13.1", None, (1, 13, 1)),
        (None, None, None),
    ],
)
def test_written_for(text: str | None, keras: tuple[int, ...] | None, tensorflow: tuple[int, ...] | None) -> None:
    chosen = Settings(from_version=text)
    assert (chosen.written_for("keras"), chosen.written_for("tensorflow")) == (keras, tensorflow)


class TestPerFileIgnores:
    def test_patterns_are_relative_to_the_pyproject(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        table = '[tool.tfmigrate]\nignore = ["TFM3"]\n[tool.tfmigrate.per-file-ignores]\n'
        (tmp_path / "pyproject.toml").write_text(table + '"legacy/" = ["TFM2"]\n"*.ipynb" = "TFM001"\n')
        monkeypatch.chdir(tmp_path)
        chosen = settings.load(tmp_path, {})
        assert chosen.for_file("a.py").ignore == ("TFM3",)
        assert chosen.for_file("legacy/sub/a.py").ignore == ("TFM3", "TFM2")
        assert chosen.for_file("legacy/a.ipynb").ignore == ("TFM3", "TFM2", "TFM001")
        (tmp_path / "legacy").mkdir()
        monkeypatch.chdir(tmp_path / "legacy")
        assert chosen.for_file("a.py").ignore == ("TFM3", "TFM2")
        assert chosen.for_file("../a.py").ignore == ("TFM3",)

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("per-file-ignores = 1", r"per-file-ignores = 1 is not a table"),
            ("per-file-ignores = {'a' = [1]}", r"per-file-ignores.a = \[1\] is not a list of strings"),
            ("per_file_ignores = {}", "did you mean 'per-file-ignores'"),
            ("clear-outputs = 'yes'", "clear-outputs = 'yes' is neither true nor false"),
        ],
    )
    def test_mistakes(self, tmp_path: Path, line: str, message: str) -> None:
        (tmp_path / "pyproject.toml").write_text(f"[tool.tfmigrate]\n{line}\n")
        with pytest.raises(settings.SettingsError, match=message):
            settings.load(tmp_path, {})
