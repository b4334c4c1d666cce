"""What the interpreter does grows with the code that it has to follow, and no faster: its evaluations are counted."""

from __future__ import annotations

import pytest

from tfmigrate.migrate import migrate_bytes
from tfmigrate.settings import Settings
from tfmigrate.understand.interpreter import Interpreter

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
    evaluated = 0
    original = Interpreter.evaluate

    def counting(self: Interpreter, *arguments: object) -> object:
        nonlocal evaluated
        evaluated += 1
        return original(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Interpreter, "evaluate", counting)

    def work(functions: int) -> int:
        nonlocal evaluated
        evaluated = 0
        text = START + "".join(function.format(this=i, before=i - 1) for i in range(1, functions))
        last = f"\n\nlast = multi_gpu_model(f{functions - 1}(), gpus=2)\nlast.compile('sgd', 'mse')\n"
        file = migrate_bytes((text + ("" if function is WRAPPED else last)).encode(), "models.py", Settings())
        assert file.error is None
        assert "multi_gpu_model" not in file.after
        return evaluated

    once, twice = work(count), work(2 * count)
    assert once > 4 * count
    assert twice < 2.5 * once


def test_lists_in_a_dict_that_grow_line_by_line_cost_no_more_with_each_line() -> None:
    lines = "".join(f"    made['k{i % 9}'].append(Dense({i}))\n    made[key].append({i})\n" for i in range(40))
    text = f"{START}\n\nmade = {{}}\nfor key in names:\n    made[key] = []\n{lines}"
    file = migrate_bytes((text + "multi_gpu_model(f0(), gpus=2)\n").encode(), "models.py", Settings())
    assert file.status == "migrated"
