"""Pins of the project round the code: what is mended in which form, what is told, and what is left alone."""

from __future__ import annotations

import importlib.metadata
import importlib.util

import pytest
from packaging.requirements import Requirement

from tfmigrate import rules
from tfmigrate.plan.packages.files import names_packages
from tfmigrate.plan.packages.pins import Project, mended
from tfmigrate.result import FileResult
from tfmigrate.settings import Settings


def project(**about: object) -> Project:
    settings = Settings(**{k: v for k, v in about.items() if k in ("target", "select", "ignore")})  # type: ignore[arg-type]
    rest = {k: v for k, v in about.items() if k in ("imports_keras", "stays", "writes_for_tensorboard")}
    return Project(settings, rules.all_rules(), **rest)  # type: ignore[arg-type]


def told(file: FileResult) -> list[tuple[int, int, str, str]]:
    return [(f.line, f.column, f.code, f.action) for f in file.findings]


@pytest.mark.parametrize(
    "line",
    [
        "tensorflow",
        "tensorflow>=2.4",
        "tensorflow==2.10.1",
        "tensorflow~=2.9.0",
        "tensorflow-datasets==1.2",
        "tensorflow_addons==0.6",
        "keras",
        "keras>=2.0",
        "keras==3.3",
        "keras-tuner==1.0",
        "numpy",
        "numpy>=1.16",
        "numpy!=1.19",
        "numpy<2",
        "h5py~=3.1",
        "pandas==0.24",
        "-r base.txt",
        "--extra-index-url https://example.org/simple",
        "git+https://github.com/keras-team/keras-contrib.git",
        "https://example.org/tensorflow_gpu-1.15-cp37.whl",
        "./vendored/keras",
        "# tensorflow-gpu==1.15",
        "tensorflow-gpu==1.15  # tfmigrate: skip",
    ],
)
def test_a_line_is_left_alone(line: str) -> None:
    file = mended("requirements.txt", line + "\n", project())
    assert file.after == line + "\n"
    assert not [finding for finding in file.findings if finding.action != "suppressed"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tensorflow", "tensorflow"),
        ("tensorflow<2", "tensorflow>=2.4"),
        ("tensorflow>=1.4,<2.0", "tensorflow>=2.4"),
        ("tensorflow>=1.4,!=2.5.0", "tensorflow>=2.4,!=2.5.0"),
        ("tensorflow~=1.15.0", "tensorflow>=2.4"),
        ("tensorflow~=2.1", "tensorflow>=2.4,<3"),
        ("tensorflow==1.*", "tensorflow>=2.4"),
        ("tensorflow==2.3.1", "tensorflow>=2.4"),
        ("TensorFlow_GPU==1.15 # cards", "tensorflow>=2.4 # cards"),
        ("tensorflow-gpu", "tensorflow"),
        ("tensorflow-cpu (==1.15)", "tensorflow-cpu >=2.4"),
        ("tensorflow-gpu==1.4;sys_platform!='darwin'", "tensorflow>=2.4 ;sys_platform!='darwin'"),
        ("numpy<1.20", "numpy"),
        ("protobuf==3.6.*", "protobuf"),
        ("h5py == 2.10.0 ; python_version<'3.8'", "h5py ; python_version<'3.8'"),
        ("grpcio<=1.16", "grpcio"),
    ],
)
def test_a_requirement_becomes(old: str, new: str) -> None:
    assert mended("requirements.txt", old, project()).after == new


def test_a_target_says_what_is_needed() -> None:
    assert mended("requirements.txt", "tensorflow==2.12\n", project(target="2.16")).after == "tensorflow>=2.16\n"
    assert mended("requirements.txt", "keras==2.12\n", project(target="2.16")).after == ""
    assert mended("requirements.txt", "keras==2.12\n", project()).after == "keras==2.12\n"


def test_codes_can_be_left_out() -> None:
    text = "tensorflow-gpu==1.15\nkeras==2.2.4\nnumpy==1.16\n"
    assert mended("requirements.txt", text, project(ignore=("TFM6",))).findings == ()
    only = mended("requirements.txt", text, project(select=("TFM602",)))
    assert only.after == "tensorflow-gpu==1.15\nnumpy==1.16\n"


def test_one_line_stays_where_two_ask_for_the_same() -> None:
    file = mended("requirements.txt", "tensorflow-gpu==1.15\nx\ntensorflow==1.15\n", project())
    assert file.after == "tensorflow>=2.4\nx\n"
    assert [finding.line for finding in file.findings] == [1, 3]


def test_a_file_with_hashes_is_told_and_left() -> None:
    text = "numpy==1.16.4 \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\nsix\n"
    file = mended("requirements.txt", text, project())
    assert file.after == text
    assert told(file) == [(1, 1, "TFM603", "warn")]
    assert "hashes" in file.findings[0].message


def test_keras_stays_where_a_file_imports_it() -> None:
    file = mended("requirements.txt", "keras==2.2.4\n", project(imports_keras="tools/old.py"))
    assert (file.after, told(file)) == ("keras==2.2.4\n", [(1, 1, "TFM602", "warn")])
    assert "tools/old.py still imports it" in file.findings[0].message


def test_where_the_old_is_needed_still_all_is_told() -> None:
    file = mended("requirements.txt", "tensorflow-gpu==1.15\n", project(stays="b.py still needs the old one"))
    assert (file.after, told(file)) == ("tensorflow-gpu==1.15\n", [(1, 1, "TFM601", "warn")])
    assert file.findings[0].message.endswith("write tensorflow>=2.4 by hand (b.py still needs the old one)")


PYPROJECT = """\
[project]
name = "keras"
keywords = ["keras==2.2.4"]
dependencies = [
    "tensorflow-gpu==1.15.2",  # cards
    'keras==2.2.4',
    "numpy<1.20; python_version < '3.8'",
]

[project.optional-dependencies]
all = ["pandas", "keras==2.2.4"]
one = ["keras==2.2.4"]
two = ["keras==2.2.4", "scipy"]
"""


def test_pyproject_is_mended_where_it_speaks_of_dependencies() -> None:
    text = PYPROJECT.replace('keywords = ["keras==2.2.4"]', 'keywords = ["keras"]')
    assert mended("pyproject.toml", text, project()).after == (
        """\
[project]
name = "keras"
keywords = ["keras"]
dependencies = [
    "tensorflow>=2.4",  # cards
    "numpy ; python_version < '3.8'",
]

[project.optional-dependencies]
all = ["pandas"]
one = []
two = ["scipy"]
"""
    )


def test_what_is_no_dependency_is_not_taken_for_one() -> None:
    file = mended("pyproject.toml", PYPROJECT, project())
    assert 'keywords = ["keras==2.2.4"]' in file.after


def test_poetrys_tables_are_mended() -> None:
    text = """\
[tool.poetry]
name = "keras"
[tool.poetry.dependencies]
python = "^3.7"
tensorflow-gpu = "^1.15"
keras = "2.2.4"
numpy = "~1.16"
[tool.other]
keras = "2.2.4"
"""
    assert mended("pyproject.toml", text, project()).after == (
        """\
[tool.poetry]
name = "keras"
[tool.poetry.dependencies]
python = "^3.7"
tensorflow = ">=2.4"
numpy = "*"
[tool.other]
keras = "2.2.4"
"""
    )


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("setup.py", "setup(install_requires=['keras==2.1.6',\n  \"numpy\", 'tensorflow-gpu'])\n",
         [(1, 26, "TFM602", "warn"), (2, 13, "TFM601", "warn")]),
        ("setup.py", "setup(name='keras', keywords='tensorflow keras', description='tensorflow-gpu 1.15')\n", []),
        ("setup.cfg", "[options]\ninstall_requires =\n    tensorflow==1.15\n    numpy\n", [(3, 5, "TFM601", "warn")]),
        ("Pipfile", '[packages]\nkeras = "==2.2.0"\nnumpy = "*"\n', [(2, 1, "TFM602", "warn")]),
        ("environment.yml", "name: tensorflow\ndependencies:\n  - python=3.6\n"
         "  - conda-forge::tensorflow-gpu=1.12=gpu\n  - pip:\n    - 'keras==2.2.4'\n    - numpy=1.26\n",
         [(4, 18, "TFM601", "warn"), (6, 8, "TFM602", "warn")]),
        ("Dockerfile", "FROM tensorflow/tensorflow:1.15.2-gpu-py3\nRUN apt-get update && \\\n  pip3 install -q \\\n"
         "  keras==2.2.4 numpy && echo keras==2.2.4\n", [(1, 6, "TFM601", "warn"), (4, 3, "TFM602", "warn")]),
        ("gpu.Dockerfile", "FROM nvcr.io/nvidia/tensorflow:19.10-py3\n", [(1, 6, "TFM601", "warn")]),
        ("Dockerfile", "FROM nvcr.io/nvidia/tensorflow:22.12-tf1-py3\n", [(1, 6, "TFM601", "warn")]),
        ("Dockerfile", "FROM nvcr.io/nvidia/tensorflow:23.10-tf2-py3\nFROM tensorflow/tensorflow:2.16.1-gpu\n", []),
        ("Dockerfile", "FROM tensorflow/tensorflow:latest-gpu\nRUN pip install keras\n", []),
    ],
)  # fmt: skip
def test_other_forms_are_told(name: str, text: str, expected: list[tuple[int, int, str, str]]) -> None:
    file = mended(name, text, project())
    assert file.after == text
    assert told(file) == expected


@pytest.mark.parametrize(
    "name",
    [
        "requirements.txt",
        "requirements-gpu.txt",
        "dev-requirements.txt",
        "setup.py",
        "constraints.txt",
        "environment.yml",
        "Dockerfile.gpu",
        "pyproject.toml",
    ],
)
def test_a_file_of_this_name_is_looked_at(name: str) -> None:
    assert names_packages(name)


@pytest.mark.parametrize("name", ["notes.txt", "train.py", "docker-compose.yml", "config.yaml", "setup.sh"])
def test_a_file_of_another_name_is_not(name: str) -> None:
    assert not names_packages(name)


@pytest.mark.skipif(not importlib.util.find_spec("tensorflow"), reason="needs the verify extra")
def test_todays_tensorflow_needs_at_least_what_the_table_says() -> None:
    name = next(n for n in ("tensorflow", "tensorflow-cpu") if _installed(n))
    found = {r.name.lower().replace("_", "-"): r for r in map(Requirement, importlib.metadata.requires(name) or ())}
    table = project().brought
    compared = table.keys() & found.keys()
    assert {"numpy", "h5py", "protobuf"} <= compared
    for package in compared:
        lower = [clause.version for clause in found[package].specifier if clause.operator == ">="]
        assert not lower or found[package].specifier.contains(lower[0])
        assert all(table[package] <= type(table[package])(version) for version in lower), package


def _installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


# ---- tensorboard ----


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tensorflow>=2.4\n", "tensorflow>=2.4\ntensorboard\n"),
        ("tensorflow>=2.4", "tensorflow>=2.4\ntensorboard"),
        ("tensorflow-gpu==1.15\nnumpy\n", "tensorflow>=2.4\ntensorboard\nnumpy\n"),
        ("tensorflow>=2.4\r\nnumpy\r\n", "tensorflow>=2.4\r\ntensorboard\r\nnumpy\r\n"),
    ],
)
def test_a_program_that_writes_for_tensorboard_requires_it(before: str, after: str) -> None:
    found = mended("requirements.txt", before, project(writes_for_tensorboard="train.py"))
    assert found.after == after
    assert "TFM604" in {finding.code for finding in found.findings}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("requirements.txt", "numpy\n"),
        ("requirements.txt", "tensorflow>=2.4\ntensorboard\n"),
        ("requirements.txt", "tensorflow==2.9.3\n"),
        ("requirements.txt", "tensorflow>=2.4  # tfmigrate: skip[TFM604]\n"),
    ],
)
def test_what_requires_it_or_needs_no_line_stays(path: str, text: str) -> None:
    assert mended(path, text, project(writes_for_tensorboard="train.py")).after == text


def test_other_forms_are_reported() -> None:
    text = '[project]\ndependencies = ["tensorflow>=2.4"]\n'
    found = mended("pyproject.toml", text, project(writes_for_tensorboard="train.py"))
    assert found.after == text
    assert [(finding.code, finding.action) for finding in found.findings] == [("TFM604", "warn")]


def test_without_the_callback_nothing_is_added() -> None:
    assert mended("requirements.txt", "tensorflow>=2.4\n", project()).after == "tensorflow>=2.4\n"
