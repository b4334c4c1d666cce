from __future__ import annotations

from pathlib import Path

import pytest

from tfmigrate.files.pins import written_for


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("requirements.txt", "numpy==1.16\nKeras==2.2.4  # old\n", "keras==2.2.4"),
        ("requirements-dev.txt", "tensorflow~=2.3\n", "tensorflow==2.3"),
        ("setup.py", "setup(install_requires=['keras==2.1.6', \"numpy\"])\n", "keras==2.1.6"),
        ("environment.yml", "  - keras=2.2.4\n  - tensorflow=1.12=gpu\n", "keras==2.2.4, tensorflow==1.12"),
        ("Dockerfile", "FROM tensorflow/tensorflow:1.15.2-gpu-py3\nRUN pip install numpy\n", "tensorflow==1.15.2"),
        ("Dockerfile", "RUN pip install keras==2.3.1 tensorflow-gpu==1.14\n", "keras==2.3.1, tensorflow==1.14"),
        ("Pipfile", '[packages]\nkeras = "==2.2.0"\n', "keras==2.2.0"),
        ("pyproject.toml", '[project]\ndependencies = ["tensorflow[and-cuda]==2.3.0"]\n', "tensorflow==2.3.0"),
        ("requirements.txt", "keras>=2.0\ntensorflow<2\n# keras==1.0\n", None),
        ("requirements.txt", "my-keras==9.9\nkeras-contrib==2.0.8\ntf-keras==2.16\n", None),
        ("notes.txt", "keras==2.2.4\n", None),
    ],
)  # fmt: skip
def test_reads_the_pins_of_a_project(project: Path, name: str, text: str, expected: str | None) -> None:
    (project / name).write_text(text)
    assert written_for(project) == expected


def test_looks_upward_to_the_repository_and_no_further(project: Path) -> None:
    (project / "requirements.txt").write_text("keras==2.2.4\n")
    (project / "src" / "deep").mkdir(parents=True)
    assert written_for(project / "src" / "deep") == "keras==2.2.4"
    (project / "src" / "requirements.txt").write_text("keras==2.1.5\n")
    assert written_for(project / "src" / "deep") == "keras==2.1.5"
    (project / "requirements.txt").unlink()
    (project / "src" / "requirements.txt").unlink()
    (project.parent / "requirements.txt").write_text("keras==2.0.9\n")
    assert written_for(project / "src" / "deep") is None
