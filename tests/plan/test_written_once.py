"""Two fits on the same arrays share the dataset, where nothing in between changes what it is made of."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated

FIT = "parallel_model.fit(x, y, batch_size=16, validation_data=(x_test, y_test))"


def _program(between: str, first: str = FIT, second: str = FIT, above: str = "") -> str:
    return f"""
import numpy as np
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model

x, y = np.random.rand(64, 4), np.random.rand(64, 1)
x_test, y_test = x[:8], y[:8]
{above}
model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile("sgd", "mse")
{first}
{between}
{second}
"""


def _datasets(program: str) -> int:
    return check_migrated(program).after.count("train_dataset = ")


@pytest.mark.parametrize(
    "between",
    [
        "",
        'parallel_model.compile("adam", "mse")',
        "print(parallel_model.evaluate(x_test, y_test), len(x))",
        "model.save('half.h5')",
        "for layer in model.layers:\n    layer.trainable = False",
        "np.random.seed(1)",
        "half = 0.5",
    ],
)
def test_it_is_written_once(between: str) -> None:
    after = check_migrated(_program(between)).after
    assert after.count("train_dataset = ") == after.count("validation_dataset = ") == 1
    assert after.count("model.fit(train_dataset, validation_data=validation_dataset)\n") == 2


def test_for_a_second_fit_in_a_loop() -> None:
    assert _datasets(_program("", second=f"for rate in (0.1, 0.01):\n    {FIT}")) == 1


def test_for_three() -> None:
    assert _datasets(_program(FIT)) == 1


def test_beside_a_function_of_the_program_that_sees_none_of_the_arrays() -> None:
    program = """
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model


def say(text):
    print(text)


def train(x, y):
    model = Sequential([Dense(1, input_shape=(4,))])
    parallel_model = multi_gpu_model(model, gpus=2)
    parallel_model.compile("sgd", "mse")
    parallel_model.fit(x, y, batch_size=16)
    say("again")
    parallel_model.fit(x, y, batch_size=16, initial_epoch=1, epochs=2)
"""
    assert _datasets(program) == 1


@pytest.mark.parametrize(
    "between",
    [
        "x = x / 2",
        "x /= 2",
        "x[0] = 0",
        "y_test[0] = 0",
        "np.random.shuffle(x)",
        "x.sort()",
        "del x_test\nx_test = y_test",
        "for x in (y, y):\n    pass",
        "with open('rows') as x:\n    pass",
        "parallel_model.fit(augmented(x), y)",
        "augment()",
        "exec(open('more.py').read())",
        "import numpy as x",
    ],
)
def test_it_is_made_again_where_it_may_have_changed(between: str) -> None:
    above = "def augment():\n    x[0] = 0\n\n\ndef augmented(rows):\n    rows[0] = 0\n    return rows\n"
    assert _datasets(_program(between, above=above)) >= 2


@pytest.mark.parametrize(
    "second",
    [
        FIT.replace("16", "32"),
        FIT.replace("(x, y,", "(x_test, y_test,"),
        FIT.replace("16", "16, shuffle=False"),
        FIT.replace("16", "16, steps_per_epoch=4"),
    ],
)
def test_another_dataset_is_another(second: str) -> None:
    assert _datasets(_program("", second=second)) == 2


def test_the_first_again_after_another() -> None:
    assert _datasets(_program(FIT.replace("16", "32"))) == 3


def test_data_that_is_computed_in_the_call_is_computed_again() -> None:
    fit = "parallel_model.fit(np.random.rand(64, 4), y, batch_size=16)"
    assert _datasets(_program("", fit, fit)) == 2


def test_what_only_one_arm_makes_is_made_again_behind_it() -> None:
    assert _datasets(_program("", first=f"if warm:\n    {FIT}", above="warm = len(x) > 3")) == 2


def test_two_functions_make_one_each() -> None:
    program = """
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model


class Net:
    def __init__(self, x, y):
        self.x, self.y = x, y
        model = Sequential([Dense(1, input_shape=(4,))])
        self.parallel_model = multi_gpu_model(model, gpus=2)
        self.parallel_model.compile("sgd", "mse")

    def first(self):
        self.parallel_model.fit(self.x, self.y, batch_size=16)

    def second(self):
        self.parallel_model.fit(self.x, self.y, batch_size=16)


def both(x, y):
    net = Net(x, y)
    net.first()
    net.second()
"""
    assert _datasets(program) == 2


@pytest.mark.parametrize(
    ("between", "datasets"), [("print(self.y)", 1), ("self.x = self.y", 2), ("self.load()", 2), ("change(self)", 2)]
)
def test_arrays_that_an_object_keeps(between: str, datasets: int) -> None:
    program = f"""
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model


def change(net):
    net.x = net.y


class Net:
    def load(self):
        self.x = self.y

    def train(self, x, y):
        self.x, self.y = x, y
        model = Sequential([Dense(1, input_shape=(4,))])
        parallel_model = multi_gpu_model(model, gpus=2)
        parallel_model.compile("sgd", "mse")
        parallel_model.fit(self.x, self.y, batch_size=16)
        {between}
        parallel_model.fit(self.x, self.y, batch_size=16)
"""
    assert _datasets(program) == datasets
