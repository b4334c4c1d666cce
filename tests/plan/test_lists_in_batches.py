"""Lists in the batches of generators and Sequences (TFM235), and a dict for the only output (TFM224)."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, migrate
from tests.plan.whole import migrated

GENERATOR = "def rows():\n    while True:\n        {}\n\n\n"
SEQUENCE = "class Rows(keras.utils.Sequence):\n    def __getitem__(self, index):\n        {}\n\n\n"
TRAIN = "model.fit(rows(), steps_per_epoch=3)"
TRAIN_ON = "model.fit(Rows())"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("yield [a, b]", "yield a, b"),
        ("yield [a, b], c", "yield (a, b), c"),
        ("yield [[a, b], [c]]", "yield (a, b), c"),
        ("yield [a], c, w", "yield a, c, w"),
        ("yield [a, *more], c", "yield (a, *more), c"),
        ("yield [*more], c", "yield tuple(more), c"),
        ("pair = [a, b]\n        yield pair, c", "pair = [a, b]\n        yield tuple(pair), c"),
        (
            "pair = [a]\n        pair.append(b)\n        yield pair",
            "pair = [a]\n        pair.append(b)\n        yield tuple(pair)",
        ),
        (
            "def more():\n            yield [a, b]\n        yield [c, d]",
            "def more():\n            yield [a, b]\n        yield c, d",
        ),
    ],
)  # fmt: skip
def test_a_generator_yields_tuples(before: str, after: str) -> None:
    text, done = migrated(GENERATOR.format(before) + TRAIN, "TFM235")
    assert GENERATOR.format(after) in text
    assert set(done) == {"rewrite"}


def test_a_sequence_returns_them() -> None:
    text, done = migrated(SEQUENCE.format("return [[a, b], [c, d]]") + TRAIN_ON, "TFM235")
    assert (text, done) == (SEQUENCE.format("return [(a, b), (c, d)]") + TRAIN_ON, ["rewrite", "rewrite"])


MAKE = "\n    def make(self, index):\n        return [a, b], [c]\n\n\n"


@pytest.mark.parametrize(
    "lines",
    [
        "return self.make(index)",
        "batch = self.make(index)\n        return batch",
        "batch = self.last = self.make(index)\n        return batch",
    ],
)
def test_what_makes_the_batches_of_a_sequence_returns_them(lines: str) -> None:
    text, done = migrated(SEQUENCE.format(lines).rstrip("\n") + "\n" + MAKE + TRAIN_ON, "TFM235")
    assert "    def make(self, index):\n        return (a, b), c\n" in text
    assert set(done) == {"rewrite"}


def test_a_subclass_makes_the_batches() -> None:
    base = SEQUENCE.format("return self.make(index)").replace("Rows", "Base")
    text, done = migrated(f"{base}class Rows(Base):{MAKE}{TRAIN_ON}", "TFM235")
    assert "    def make(self, index):\n        return (a, b), c\n" in text
    assert done == ["rewrite", "rewrite"]


@pytest.mark.parametrize(
    "lines",
    [
        "self.make(index)\n        return a, b",  # makes no batch
        "return len(self.make(index)), a",
        "made = self.make(index)\n        batch = a, b\n        return batch",
        "first, last = self.make(index)\n        return batch",
        "return self.load(index)",  # of nobody that is known
    ],
)
def test_a_function_that_makes_no_batch_stays(lines: str) -> None:
    before = SEQUENCE.format(lines).rstrip("\n") + "\n" + MAKE + TRAIN_ON
    text, done = migrated(before, "TFM235")
    assert done == []
    assert "return [a, b], [c]" in text


@pytest.mark.parametrize(
    "lines",
    [
        GENERATOR.format("yield a, b") + TRAIN,
        GENERATOR.format("yield a, [0, 1]") + TRAIN,
        GENERATOR.format("yield {'a': a}, b") + TRAIN,
        GENERATOR.format("yield [a, b]") + "list(rows())",
        GENERATOR.format("yield [a, b]") + "scaler.fit(rows())",
        GENERATOR.format("yield [a, b]") + "model.predict(rows(), steps=3)",
        GENERATOR.format("pair = load()\n        yield pair, c") + TRAIN,
        GENERATOR.format(
            "images = []\n        for name in names:\n            images.append(name)\n        yield images, c"
        )
        + TRAIN,
        SEQUENCE.format("return [a, b]") + TRAIN_ON,
        "class Rows:\n    def __getitem__(self, index):\n        return [[a, b], c]\n\n\nRows()[0]",
    ],
)
def test_other_batches_stay(lines: str) -> None:
    text, done = migrated(lines, "TFM235")
    assert done == []
    assert lines.partition("\n\n\n")[0] in text


def test_a_list_that_predict_takes_too_is_reported() -> None:
    lines = GENERATOR.format("yield [a, b]") + TRAIN + "\nmodel.predict(rows(), steps=3)"
    text, done = migrated(lines, "TFM235")
    assert "yield [a, b]" in text
    assert done == ["warn"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (GENERATOR.format("yield a, {'one': b}") + TRAIN, GENERATOR.format("yield a, b")),
        (SEQUENCE.format("return a, {'one': b}, {'one': w}") + TRAIN_ON, SEQUENCE.format("return a, b, w")),
    ],
)
def test_targets_under_the_name_of_the_only_output_are_yielded_alone(before: str, after: str) -> None:
    text, done = migrated(before, "TFM224")
    assert after in text
    assert set(done) == {"rewrite"}


def test_names_of_several_outputs_stay() -> None:
    lines = GENERATOR.format("yield {'a': a}, {'one': b, 'two': c}") + TRAIN
    assert migrated(lines, "TFM224")[1] == []


def test_arrays_of_a_method_whose_results_are_unpacked_are_a_tuple() -> None:
    text = """\
import numpy as np
from tensorflow.keras.layers import Concatenate, Dense, Input
from tensorflow.keras.models import Model
from tensorflow.keras.utils import Sequence, multi_gpu_model


class Pairs(Sequence):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        images, labels = self.loaded(index)
        return images, labels

    def loaded(self, index):
        pairs = [np.zeros((8, 4)) for _ in range(2)]
        numbers = [float(n) for n in range(8)]
        pairs[0][:] = index
        return pairs, np.array(numbers)


one, other = Input((4,)), Input((4,))
model = multi_gpu_model(Model([one, other], Dense(1)(Concatenate()([one, other]))), gpus=2)
model.compile("sgd", "mse")
model.fit(Pairs())
"""
    file = check_migrated(text)
    assert "        return tuple(pairs), np.array(numbers)\n" in file.after
    assert "        return images, labels\n" in file.after


TWO_OUTPUTS = """\
import numpy as np
from tensorflow.keras.layers import Dense, Input
from tensorflow.keras.models import Model
from tensorflow.keras.utils import Sequence, multi_gpu_model

rows = Input((4,))
model = Model(rows, [Dense(1, name="one")(rows), Dense(2, name="two")(rows)])
teacher = Model(rows, [Dense(1)(rows), Dense(2)(rows)])
single = Model(rows, Dense(1)(rows))


def made():
    return [np.zeros((8, 1)), np.zeros((8, 2))]


class Taught(Sequence):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        {lines}


parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
parallel.fit_generator(Taught(), epochs=2)
"""
LOOP = "goals = []\n        for size in sizes:\n            goals.append(np.zeros((8, size)))\n        "


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return x, teacher.predict(x)", "return x, tuple(teacher.predict(x))"),
        ("return [x, teacher.predict(x)]", "return [x, tuple(teacher.predict(x))]"),
        ("goals = teacher.predict(x)\n        return x, goals", "return x, tuple(goals)"),
        ("return x, list(teacher.predict(x))", "return x, tuple(list(teacher.predict(x)))"),
        (LOOP + "return x, goals", "return x, tuple(goals)"),
        ("goals = [np.zeros((8, n)) for n in sizes]\n        return x, goals", "return x, tuple(goals)"),
        ("return x, [np.zeros((8, n)) for n in sizes]", "return x, tuple([np.zeros((8, n)) for n in sizes])"),
        ("return x, [a] + [b]", "return x, tuple([a] + [b])"),
        ("return x, made()", "return x, tuple(made())"),
        ("return x, made(), [np.ones(8) for _ in range(2)]", "tuple(made()), tuple([np.ones(8) for _ in range(2)])"),
    ],
)
def test_a_list_for_several_outputs_is_a_tuple(before: str, after: str) -> None:
    file = check_migrated(TWO_OUTPUTS.format(lines=before))
    assert after in file.after
    assert set(actions(file, "TFM235")) == {"rewrite"}
    assert migrate(file.after).after == file.after


@pytest.mark.parametrize(
    "lines",
    [
        "return x, single.predict(x)",
        "return x, goals_of(x)",
        "return x, (a, b)",
        "return x, a + b",
        "return x, {'one': a, 'two': b}",
        "return x, tuple(teacher.predict(x))",
        LOOP.replace("goals", "pictures") + "return pictures, (a, b)",
    ],
)
def test_what_may_be_no_list_stays(lines: str) -> None:
    file = check_migrated(TWO_OUTPUTS.format(lines=lines))
    assert lines in file.after
    assert actions(file, "TFM235") == []


def test_a_list_of_unknown_length_stays_where_the_model_has_one_output() -> None:
    text = TWO_OUTPUTS.replace("multi_gpu_model(model,", "multi_gpu_model(single,").format(
        lines=LOOP + "return x, goals"
    )
    file = check_migrated(text)
    assert actions(file, "TFM235") == []


def test_a_list_for_several_inputs_is_a_tuple() -> None:
    text = TWO_OUTPUTS.replace("Model(rows, [Dense(1, name", "Model([rows, Input((2,))], [Dense(1, name")
    file = check_migrated(text.format(lines="parts = [np.zeros((8, n)) for n in sizes]\n        return parts, (a, b)"))
    assert "return tuple(parts), (a, b)" in file.after


def test_a_tuple_that_a_method_returns_is_not_made_again_where_it_is_unpacked() -> None:
    program = """\
import numpy as np
from tensorflow.keras.layers import Dense, Input, concatenate
from tensorflow.keras.models import Model
from tensorflow.keras.utils import Sequence, multi_gpu_model


class Data(Sequence):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        inputs, targets = self.make(index)
        return inputs, targets

    def make(self, index):
        first, second = np.zeros((4, 2)), np.zeros((4, 2))
        return [first, second], np.zeros(4)


first, second = Input((2,)), Input((2,))
model = multi_gpu_model(Model([first, second], Dense(1)(concatenate([first, second]))), 2)
model.compile("adam", "mse")
model.fit(Data(), epochs=2)
"""
    after = check_migrated(program).after
    assert "return (first, second), np.zeros(4)\n" in after
    assert "return inputs, targets\n" in after
