"""Notebooks: one program out of the cells, and back into them byte for byte."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tfmigrate.files import notebook
from tfmigrate.files.source import SourceError
from tfmigrate.result import Cell, FileResult, Finding
from tfmigrate.rewrite import Source, migrate_program
from tfmigrate.settings import Settings


def written(*sources: str | Sequence[str], indent: int | None = 1, **metadata: object) -> str:
    """A notebook of code cells, and a Markdown cell in front, as Jupyter writes it."""
    cells: list[dict[str, object]] = [{"cell_type": "markdown", "metadata": {}, "source": ["# multi_gpu_model\n", "é"]}]
    for number, source in enumerate(sources):
        output = {"name": "stdout", "output_type": "stream", "text": [f"out {number}\n"]}
        cells.append({"cell_type": "code", "execution_count": 7, "metadata": {}, "outputs": [output], "source": source})
    document = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 2}
    return json.dumps(document, indent=indent, ensure_ascii=False) + "\n"


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def migrated(text: str, *changes: tuple[str, str], clear_outputs: bool = False) -> str:
    """The notebook after each `old` in its program became `new`."""
    book = notebook.read(text)
    program = book.program
    for old, new in changes:
        assert old in program
        program = program.replace(old, new)
    file = FileResult("a.ipynb", "migrated", before=book.program, after=program)
    restored = book.restored(file, clear_outputs=clear_outputs)
    assert restored.before == text
    return restored.after


MAGICS = """%matplotlib inline
!pip install \\
    keras==2.2.4
if x:
    !ls {x}
files, more = !ls, 2
n = %timeit -o f()
y = (10
     % 3, '''
%not a magic
!nor this''')
model.fit?
??model
print(y)"""


@pytest.mark.parametrize(
    "source",
    [
        MAGICS,
        "%%time\nx = 1",
        "%%capture out\n# 1\nfrom __future__ import division\nfrom __future__ import (print_function,\n division)\nx=1",
        "from __future__ import division",
        '# who\n"""What the cell is\n\n\'for\'."""\n\nfrom __future__ import division\nx = 1',
        "'what'\nfrom __future__ import division",
        "%%bash\nif [ x ]; then multi_gpu_model; fi",
        "%%writefile a.py\nprint 'x'",
        "",
        "\n",
        "x = 1\n",
        "x = 1\r\ny = 2\r\n",
        "# only a comment",
        "cd ../data",
        "pip install -q keras\n",
    ],
)
@pytest.mark.parametrize("form", [str, lines])
def test_the_program_parses_and_nothing_changes_when_it_does_not(source: str, form: object) -> None:
    assert callable(form)
    text = written("a = 1", form(source), "b = 2")
    book = notebook.read(text)
    compile(book.program, "program", "exec")
    assert "print 'x'" not in book.program
    same = FileResult("a.ipynb", "unchanged", before=book.program, after=book.program)
    assert book.restored(same, clear_outputs=True).after == text
    compile(book.script(), "script", "exec")
    # A change elsewhere leaves this cell's bytes as they were.
    after = migrated(text, ("b = 2", "c = 3"))
    assert after == written("a = 1", form(source), "c = 3")


@pytest.mark.parametrize("source", ["cd = 3 4", "cd ..\nx = 1", "cp", "walk .."])
def test_a_magic_without_its_sign_is_one_only_where_ipython_takes_it_for_one(source: str) -> None:
    assert not notebook.read(written(source)).cells[0].kept


def test_what_pip_installs_is_seen_without_a_sign_too() -> None:
    book = notebook.read(written("a = 1", "pip install tensorflow==1.15"))
    assert [(cell.number, line, text) for cell, line, text in book.shell_lines()] == [
        (3, 1, "pip install tensorflow==1.15")
    ]


def test_magics_are_put_back_where_they_stood() -> None:
    text = written(MAGICS)
    after = migrated(text, ("print(y)", "print(z)"), ("if x:\n    ", "if x:\n        "))
    assert after == written(MAGICS.replace("print(y)", "print(z)").replace("    !ls", "        !ls"))


@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize("form", [str, lines])
def test_only_the_source_of_touched_cells_changes(form: object, indent: int | None) -> None:
    assert callable(form)
    first, kernel = form("a = 1\nb = 'é'"), {"language": "python"}
    text = written(first, form("c = 3\nd = 4"), indent=indent, kernelspec=kernel)
    expected = written(first, form("c = 5\nd = 4\nnew = 'è'"), indent=indent, kernelspec=kernel)
    assert migrated(text, ("c = 3", "c = 5"), ("d = 4", "d = 4\nnew = 'è'")) == expected


def test_a_line_keeps_its_own_spelling() -> None:
    text = written(["é = '/'\n", "x = 1\n", "y = 2"]).replace("'/'", "'\\/'").replace("é =", "\\u00e9 =")
    after = migrated(text, ("x = 1", "x = 'ö'"))
    assert after == text.replace("x = 1", "x = 'ö'")


def test_escapes_stay_where_the_file_is_ascii() -> None:
    text = json.dumps(json.loads(written(["x = 1"])))
    assert migrated(text, ("x = 1", "x = 'ö'")) == text.replace("x = 1", "x = '\\u00f6'")


def test_a_cell_that_becomes_empty_stays_a_cell() -> None:
    assert migrated(written(lines("a = 1"), lines("b = 2")), ("a = 1", "")) == written([], lines("b = 2"))


def test_outputs_are_cleared_on_demand_only() -> None:
    text = written("a = 1", "b = 2")
    kept = json.loads(migrated(text, ("a = 1", "a = 2")))["cells"]
    assert [(cell["execution_count"], len(cell["outputs"])) for cell in kept[1:]] == [(7, 1), (7, 1)]
    cleared = json.loads(migrated(text, ("a = 1", "a = 2"), clear_outputs=True))["cells"]
    assert [(cell["execution_count"], cell["outputs"]) for cell in cleared[1:]] == [(None, []), (None, [])]


def test_findings_name_cell_and_line() -> None:
    text = written(lines("%%time\na = 1"), lines("b = 2\nc = 3"), "d = 4\ne = 5")
    book = notebook.read(text)
    rows = book.program.split("\n")
    found = tuple(
        Finding(rows.index(row) + 1, 1, "TFM001", f"see {book.numbering.words(rows.index(row) + 1)}", "rewrite")
        for row in ("a = 1", "c = 3", "e = 5")
    )
    same = FileResult("a.ipynb", "unchanged", found, before=book.program, after=book.program)
    file = book.restored(same, clear_outputs=False)
    told = [(one.cell and one.cell.number, one.line, one.message, file.line_of(one)) for one in file.findings]
    assert told == [
        (2, 2, "see cell 2, line 2", "a = 1"),
        (3, 2, "see cell 3, line 2", "c = 3"),
        (4, 2, "see cell 4, line 2", "e = 5"),
    ]
    raw = text.split("\n")
    places = [one.cell.file_line for one in file.findings if isinstance(one.cell, Cell)]
    assert [raw[place - 1].strip() for place in places] == ['"a = 1"', '"c = 3"', '"source": "d = 4\\ne = 5"']


def test_an_error_names_cell_and_line() -> None:
    book = notebook.read(written("a = 1", "\nprint 'x'"))
    (file,) = migrate_program([Source("a.ipynb", book.program, Settings(), book.numbering)])
    assert "cell 3, line 2: looks like Python 2" in str(book.restored(file, clear_outputs=False).error)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("class __tfmigrate_cell_3__: pass\n", ""),
        ("class __tfmigrate_cell_3__: pass", "    class __tfmigrate_cell_3__: pass"),
        ("__tfmigrate_kept_0__()\n", ""),
        ("__tfmigrate_kept_0__()\n", "__tfmigrate_kept_1__()\n"),
    ],
)
def test_a_change_across_cells_is_an_error(old: str, new: str) -> None:
    with pytest.raises(SourceError, match="left as it is"):
        migrated(written("!ls\n!pwd", "b = 2"), (old, new))


def test_other_languages_are_left_alone() -> None:
    assert notebook.read(written("x <- multi_gpu_model", language_info={"name": "R"})).program == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not a notebook: .*line 1"),
        ("[]", "not a notebook of format 4"),
        ('{"worksheets": [], "nbformat": 3}', "nbconvert --to notebook"),
    ],
)
def test_what_is_no_notebook(text: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        notebook.read(text)
