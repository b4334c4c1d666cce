"""What the interpreter does grows with the code that it has to follow, and no faster: its evaluations are counted."""

from __future__ import annotations

import sys
from types import FrameType

import libcst as cst
import pytest

from tests.kit import counted
from tfmigrate import walk
from tfmigrate.migrate import migrate_bytes
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings
from tfmigrate.understand import store
from tfmigrate.understand.interpreter import Interpreter
from tfmigrate.understand.joins import join
from tfmigrate.understand.module import Module
from tfmigrate.understand.values import (
    ClassValue,
    Frame,
    Items,
    Literal,
    Mapping,
    Method,
    ModelObject,
    Opaque,
    Site,
    Symbol,
    Value,
    options,
)

START = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


def f0():
    return Sequential([Dense(1, input_shape=(4,))])
"""

CALLED_ONCE = """

def f{this}():
    model = f{before}()
    model.add(Dense({this}))
    return model
"""

CALLED_TWICE = CALLED_ONCE.replace("    model =", "    other = f{before}()\n    model =")

WRAPPED = """

def f{this}():
    model = multi_gpu_model(f0(), gpus=2)
    model.compile("sgd", "mse")


f{this}()
"""


@pytest.mark.parametrize(("function", "count"), [(CALLED_ONCE, 100), (CALLED_TWICE, 12), (WRAPPED, 20)])
def test_twice_the_functions_are_twice_the_work(function: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated = counted(monkeypatch, (Interpreter, "evaluate"))

    def work(functions: int) -> int:
        evaluated[0] = 0
        text = START + "".join(function.format(this=i, before=i - 1) for i in range(1, functions))
        last = f"\n\nlast = multi_gpu_model(f{functions - 1}(), gpus=2)\nlast.compile('sgd', 'mse')\n"
        file = migrate_bytes((text + ("" if function is WRAPPED else last)).encode(), "models.py", Settings())
        assert file.error is None
        assert "multi_gpu_model" not in file.after
        return evaluated[0]

    once, twice = work(count), work(2 * count)
    assert once > 4 * count
    assert twice < 2.5 * once


def test_lists_in_a_dict_that_grow_line_by_line_cost_no_more_with_each_line() -> None:
    lines = "".join(f"    made['k{i % 9}'].append(Dense({i}))\n    made[key].append({i})\n" for i in range(40))
    text = f"{START}\n\nmade = {{}}\nfor key in names:\n    made[key] = []\n{lines}"
    file = migrate_bytes((text + "multi_gpu_model(f0(), gpus=2)\n").encode(), "models.py", Settings())
    assert file.status == "migrated"


HEAD = START.partition("\n\n")[0] + "\n"
END = "\nmodel = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), 2)\nmodel.compile('sgd', 'mse')\n"
PARTS = {
    "functions": "def f{n}(a, b):\n    c = a + b * {n}\n    return helper(c, key='{n}')\n\n\n",
    "classes": (
        "class C{n}(Base):\n    x = {n}\n\n    def f(self, b):\n        for i in range(b):\n"
        "            self.a = i\n\n\n"
    ),
    "branches": "if flag == {n}:\n    value = {n}\n    other = g(value)\nelse:\n    other = value\n",
    "texts": "if flag == {n}:\n    value = read('{n}').part\n",
    "lists": "rows.append(g({n}))\nheld['k{n}'] = {n}\n",
    "models": "m{n} = Sequential([Dense({n}, input_shape=(4,))])\nm{n}.compile('sgd', 'mse')\n",
}


@pytest.mark.parametrize("kind", PARTS)
def test_a_file_of_twice_the_size_is_twice_the_work(kind: str) -> None:
    """Calls of Python functions of this project, which are what a run's time goes with."""

    def work(number: int) -> int:
        text = HEAD + "rows = []\nheld = {}\n" + "".join(PARTS[kind].format(n=n) for n in range(number)) + END
        calls = 0

        def count(frame: FrameType, event: str, _: object) -> None:
            nonlocal calls
            calls += event == "call" and "tfmigrate" in frame.f_code.co_filename

        before = sys.getprofile()
        sys.setprofile(count)
        try:
            file = migrate_bytes(text.encode(), "models.py", Settings(from_version="keras==2.2.4", program_timeout=300))
        finally:
            sys.setprofile(before)
        assert file.status == "migrated"
        return calls

    work(10)  # What is loaded and cached once.
    once, twice = work(100), work(200)
    assert once > 5_000
    assert twice < 2.3 * once


def test_what_a_name_may_be_is_bounded() -> None:
    found: Value = Literal(0)
    sizes = []
    for number in range(1000):
        found = join(found, Literal(number), Opaque(f"the result of f{number}()"), Method(Opaque(f"{number}"), "x"))
        sizes.append(len(options(found)))
    assert max(sizes) < 80
    assert any(isinstance(option, Opaque) and option.origin == "one of many values" for option in options(found))


def test_methods_of_many_dicts_are_those_of_one() -> None:
    found: Value = Literal(0)
    for number in range(40):
        dicts = Mapping(("key",), (Literal(number),))
        found = join(found, Method(dicts, "items"), Method(dicts, "get"), Method(Items((Literal(number),)), "append"))
    assert len(options(found)) < 40
    assert {option.name for option in options(found) if isinstance(option, Method)} == {"items", "get", "append"}
    lists = [option.receiver for option in options(found) if isinstance(option, Method) and option.name == "append"]
    parts = [part for items in lists if isinstance(items, Items) for part in items.values]
    held = {literal for part in parts for literal in options(part)}
    assert held == {Literal(number) for number in range(40)}


def test_models_and_symbols_are_told_apart_however_many_numbers_there_are() -> None:
    found = join(*(Literal(number) for number in range(100)), *(Symbol(f"keras.layers.L{n}") for n in range(100)))
    assert {option.name for option in options(found) if isinstance(option, Symbol)} == {
        f"keras.layers.L{number}" for number in range(100)
    }
    assert not any(isinstance(option, Literal) for option in options(found))


def test_a_value_is_hashed_once_however_deep_it_is() -> None:
    hashed = 0

    class Counting(str):
        def __hash__(self) -> int:
            nonlocal hashed
            hashed += 1
            return super().__hash__()

    value: Value = Literal(Counting("x"))
    for _ in range(200):
        value = Items((value,))
        join(value, Literal(1))
    assert hashed < 10


def _program(files: int) -> dict[str, str]:
    """Modules that import, inherit from and call each other."""
    found = {"train.py": "from m0 import build\n" + HEAD + "model = multi_gpu_model(build(), 2)\n"}
    for n in range(files):
        up = f"from m{n // 2} import T{n // 2}, build as upper\n" if n else ""
        found[f"m{n}.py"] = (
            f"{up}{HEAD}\n\nclass T{n}({f'T{n // 2}' if n else 'object'}):\n    def __init__(self, size):\n"
            f"        self.size = size\n\n    def grow(self, by):\n        if by > {n}:\n            self.size = by\n"
            f"        return self.size\n\n\ndef build(units=8):\n    thing = T{n}(units)\n    thing.grow(units)\n"
            f"    if units > 3:\n        other = {'upper(units - 1)' if n else 'None'}\n"
            "    else:\n        other = thing\n"
            "    return Sequential([Dense(units, input_shape=(4,))])\n\n\nbuild()\n"
        )
    return found


def test_a_program_of_twice_the_files_is_twice_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    joined = counted(monkeypatch, (Interpreter, "evaluate"), (store, "join"), (walk, "_below"))

    def work(files: int) -> int:
        joined[0] = 0
        results = migrate_sources(_program(files), Settings(from_version="keras==2.2.4"))
        assert not any(file.error for file in results)
        return joined[0]

    once, twice = work(16), work(32)
    assert once > 2_000
    assert twice < 2.6 * once  # The calls go one level deeper.


def test_what_inherits_twice_or_is_built_on_itself_is_looked_at_once() -> None:
    """Ancestors that meet again would double the work with each class; a model added to itself would never end."""
    frame = Frame(Module("a.py", "pass\n"), None, None)

    def cls(*bases: ClassValue) -> ClassValue:
        return ClassValue(cst.ClassDef(cst.Name("A"), cst.IndentedBlock([])), frame, bases)

    one = other = cls()
    for _ in range(2000):
        one, other = cls(one, other), cls(other, one)
    assert len(list(one.ancestors())) == 2000 * 2
    assert one.lookup("nothing") is None
    assert list(one.outside_bases()) == []

    site = Site(frame, cst.SimpleStatementLine(()))
    first, second = (ModelObject(site, cst.Name("m"), {site}) for _ in range(2))
    first.on, second.on = frozenset((first, second)), frozenset((first,))
    assert {*first.base_models()} == {first, second}
