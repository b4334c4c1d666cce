"""steps_per_epoch beside a Sequence (TFM409)."""

from __future__ import annotations

from types import SimpleNamespace

import libcst as cst
import pytest

from tests.kit import actions, migrate
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

SCRIPT = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.preprocessing.image import ImageDataGenerator
from keras.utils import Sequence, multi_gpu_model
import keras


class Rows(Sequence):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return load(index)


class More(Rows):
    pass


class Plain(keras.callbacks.Callback):
    pass


model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile("sgd", "mse")
pictures = ImageDataGenerator().flow_from_directory("data")
rows, more = Rows(), More()
length = len(rows)
parallel_model.{call}
"""


def migrated(call: str, settings: Settings | None = None) -> tuple[str, list[str]]:
    """The last statement, and what was done of TFM409."""
    result = migrate(SCRIPT.format(call=call), settings or Settings())
    last = cst.Module(cst.parse_module(result.after).body[-1:]).code
    return last, actions(result, "TFM409")


@pytest.mark.parametrize(
    ("call", "new"),
    [
        (
            "fit_generator(pictures, steps_per_epoch=pictures.samples // 32, epochs=2)",
            "fit(Epochs(pictures, pictures.samples // 32), epochs=2)",
        ),
        ("fit_generator(rows, steps_per_epoch=3, epochs=2)", "fit(Epochs(rows, 3), epochs=2)"),
        ("fit_generator(more, 3, 2, workers=4)", "fit(Epochs(more, 3), epochs=2)"),
        (
            "fit(rows, steps_per_epoch=len(names) / 32, epochs=2)",
            "fit(Epochs(rows, len(names) / 32), epochs=2)",
        ),
        (
            "fit(generator.flow(x, y), steps_per_epoch=100, epochs=n)",
            "fit(Epochs(generator.flow(x, y), 100), epochs=n)",
        ),
        ("fit_generator(generator=rows, steps_per_epoch=3, epochs=2)", "fit(Epochs(rows, 3), epochs=2)"),
    ],
)
def test_epochs_get_the_steps_that_are_asked_for(call: str, new: str) -> None:
    assert migrated(call) == (f"model.{new}\n", ["rewrite"])


@pytest.mark.parametrize(
    ("call", "new"),
    [
        ("fit_generator(flow, int(np.ceil(x.shape[0] / float(size))), 2)",
         "fit(flow, steps_per_epoch=int(np.ceil(x.shape[0] / float(size))), epochs=2)"),
        ("fit_generator(flow, len(x) / size, 2)", "fit(flow, steps_per_epoch=math.ceil(len(x) / size), epochs=2)"),
        ("fit_generator(generator.flow(x, batch_size=8), steps, 2)",
         "fit(generator.flow(x, batch_size=8), steps_per_epoch=steps, epochs=2)"),
        ("fit_generator(generator.flow(x, y), math.ceil(len(x) / 32), 2)",
         "fit(generator.flow(x, y), steps_per_epoch=math.ceil(len(x) / 32), epochs=2)"),
        ("fit_generator(flow, len(x) // size, 2)", "fit(Epochs(flow, len(x) // size), epochs=2)"),
        ("fit_generator(flow, len(y) / size, 2)", "fit(Epochs(flow, len(y) / size), epochs=2)"),
        ("fit_generator(generator.flow(x, y, 8, subset='training'), len(x) / 8, 2)",
         "fit(Epochs(generator.flow(x, y, 8, subset='training'), len(x) / 8), epochs=2)"),
    ],
)  # fmt: skip
def test_as_many_steps_as_a_flow_has_batches_stay(call: str, new: str) -> None:
    made = "flow = generator.flow(x, y, size)\nsteps = np.ceil(len(x) / 8)\nparallel_model.{call}"
    script = "import math\nimport numpy as np\n" + SCRIPT.replace("parallel_model.{call}", made)
    after = migrate(script.format(call=call)).after
    assert f"model.{new}\n".replace("=steps", "=int(steps)") in after


def test_several_machines_too() -> None:
    last, done = migrated("fit_generator(rows, steps_per_epoch=3, epochs=2)", Settings(strategy="multi-worker"))
    assert "fit(Epochs(rows, 3)" in last
    assert done == ["rewrite"]


def test_each_fit_has_its_own_steps() -> None:
    result = migrate(SCRIPT.format(call="fit_generator(rows, 3, 2)\nparallel_model.fit_generator(rows, 5, 2)"))
    assert result.after.count("class Epochs(") == 1
    assert result.after.endswith("model.fit(Epochs(rows, 3), epochs=2)\nmodel.fit(Epochs(rows, 5), epochs=2)\n")


def test_a_second_fix_changes_nothing() -> None:
    once = migrate(SCRIPT.format(call="fit_generator(rows, 3, 2)"))
    again = migrate(once.after)
    assert again.after == once.after


@pytest.mark.parametrize("begins", [True, False])
def test_the_first_epoch_begins_with_the_first_batch(begins: bool) -> None:
    """Keras 3 calls on_epoch_end once before the first epoch, under a strategy on_epoch_begin before that too."""
    result = migrate(SCRIPT.format(call="fit_generator(rows, steps_per_epoch=3, epochs=2)"))
    helper = result.after[result.after.index("class Epochs(") : result.after.index("class Rows(")]
    base = type("Sequence", (), {"on_epoch_begin": lambda self: None} if begins else {})
    made = {"tf": SimpleNamespace(keras=SimpleNamespace(utils=SimpleNamespace(Sequence=base)))}
    exec(helper, made)

    class Data(list[int]):
        ended = 0

        def on_epoch_end(self) -> None:
            self.ended += 1

    data = Data(range(4))
    epochs = made["Epochs"](data, 3)  # type: ignore[operator]
    if begins:
        epochs.on_epoch_begin()
        epochs.on_epoch_end()
    found = []
    for _ in range(4):
        found.append([epochs[index] for index in range(len(epochs))])
        epochs.on_epoch_end()
    assert found == [[0, 1, 2], [3, 0, 1], [2, 3, 0], [1, 2, 3]]
    assert data.ended == 3


def test_data_that_may_be_something_else_is_told() -> None:
    assert migrated("fit_generator(rows if small else feed(), steps_per_epoch=3, epochs=2)")[1] == ["warn"]


def test_so_is_what_another_caller_gives() -> None:
    calls = "train(rows)\ntrain(feed())\n"
    script = SCRIPT.format(call="summary()") + (
        f"\n\ndef train(data):\n    parallel_model.fit_generator(data, steps_per_epoch=3, epochs=2)\n\n\n{calls}"
    )
    result = migrate(script)
    assert actions(result, "TFM409") == ["warn"]
    assert "class Epochs" not in result.after


@pytest.mark.parametrize(
    "call",
    [
        "fit_generator(rows)",
        "fit_generator(rows, steps_per_epoch=None)",
        "fit_generator(rows, steps_per_epoch=len(rows))",
        "fit_generator(rows, steps_per_epoch=length)",
        "fit_generator(rows, steps_per_epoch=rows.__len__(), epochs=2)",
        "fit_generator(rows, validation_data=pictures, validation_steps=3)",
        "fit(x, y, steps_per_epoch=3)",
        "fit_generator(unknown, steps_per_epoch=3)",
        "fit_generator(Plain(), steps_per_epoch=3)",
        "evaluate_generator(rows, steps=3)",
    ],
)
def test_nothing_else_is(call: str) -> None:
    last, done = migrated(call)
    assert "Epochs" not in last
    assert done == []


def test_a_method_of_another_name_is_not_the_length() -> None:
    assert migrated("fit_generator(rows, steps_per_epoch=rows.batches(), epochs=2)")[1] == ["rewrite"]


@pytest.mark.parametrize("epochs", ["", ", epochs=1"])
def test_one_epoch_goes_on_nowhere(epochs: str) -> None:
    assert migrated(f"fit_generator(rows, steps_per_epoch=3{epochs})") == (
        f"model.fit(rows, steps_per_epoch=3{epochs})\n",
        ["warn"],
    )
    assert migrated("fit_generator(rows, steps_per_epoch=3, epochs=2, initial_epoch=1)")[1] == ["rewrite"]


OWN_LENGTH = """import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import Sequence, multi_gpu_model


class Rows(Sequence):
    def __init__(self, x, size=8, **more):
        self.x, self.size = x, size
        self.more = more

    def __len__(self):
        \"\"\"How many batches.\"\"\"
        return {length}

    def __getitem__(self, index):
        return self.x[index]


def train(x, BATCH):
    model = Sequential([Dense(1, input_shape=(4,))])
    model = multi_gpu_model(model, gpus=2)
    model.compile("sgd", "mse")
    steps = len(x) // BATCH
    rows = Rows({given})
    model.fit_generator(rows, steps_per_epoch={steps}, epochs=5)
"""


@pytest.mark.parametrize(
    ("length", "given", "steps", "same"),
    [
        ("len(self.x) // self.size", "x, BATCH", "len(x) // BATCH", True),
        ("len(self.x) // self.size", "x, BATCH", "steps", True),
        ("(len(self.x) // self.size)", "x, size=BATCH", "len( x )//BATCH", True),
        ("int(np.ceil(len(self.x) / self.size))", "x, BATCH", "int(np.ceil(len(x) / BATCH))", True),
        ("int(np.floor(len(self.x) / self.size))", "x, BATCH", "len(x) // BATCH", True),
        ("int(np.floor(len(self.x) / self.size))", "x, BATCH", "int(len(x) / BATCH)", True),
        ("int(np.ceil(len(self.x) / self.size))", "x, BATCH", "math.ceil(len(x) / BATCH)", True),
        ("int(self.size)", "x, BATCH", "int(BATCH)", True),
        ("int(np.ceil(len(self.x) / self.size))", "x, BATCH", "len(x) // BATCH", False),
        ("round(len(self.x) / self.size)", "x, BATCH", "len(x) // BATCH", False),
        ("round(len(self.x) / self.size)", "x, BATCH", "math.ceil(len(x) / BATCH)", False),
        ("len(self.x) // self.size", "x[1:], BATCH", "len(x) // BATCH", False),
        ("len(self.x) // self.size", "x", "len(x) // BATCH", False),
        ("len(x) // self.size", "x, BATCH", "len(x) // BATCH", False),
        ("self.more['n']", "x, n=BATCH", "BATCH", False),
    ],
)
def test_the_length_that_a_class_computes_is_left(length: str, given: str, steps: str, same: bool) -> None:
    text = OWN_LENGTH.format(length=length, given=given, steps=steps)
    result = migrate(text)
    assert ("Epochs" not in result.after) == same
    assert (f"model.fit(rows, steps_per_epoch={steps}, epochs=5)" in result.after) == same


def test_the_length_of_a_class_of_another_module_is_read() -> None:
    text = OWN_LENGTH.format(length="int(np.floor(len(self.x) / self.size))", given="x, BATCH", steps="len(x) // BATCH")
    head, rows, rest = text.partition("class Rows(Sequence):")
    body, train, end = rest.partition("def train(")
    texts = {
        "train.py": head.replace("import Sequence, ", "import ") + "from rows import Rows\n\n\n" + train + end,
        "rows.py": "import numpy as np\nfrom keras.utils import Sequence\n\n\n" + rows + body.rstrip() + "\n",
    }
    assert "Epochs" not in migrate_sources(texts, Settings())[0].after
    other = texts["rows.py"].replace("len(self.x)", "len(SAMPLES)")
    texts = {"train.py": texts["train.py"].replace("len(x)", "len(SAMPLES)"), "rows.py": other}
    assert "Epochs" in migrate_sources(texts, Settings())[0].after


def test_a_sequence_that_is_an_iterator_too_is_given_in_epochs_and_not_made_a_dataset() -> None:
    own = "class More(Rows):\n    def __next__(self):\n        return load(0)\n"
    script = SCRIPT.format(call="fit_generator(more, 3, 2)").replace("class More(Rows):\n    pass\n", own)
    assert migrate(script).after.endswith("model.fit(Epochs(more, 3), epochs=2)\n")


@pytest.mark.parametrize(
    ("steps", "whole"),
    [
        ("pictures.samples // pictures.batch_size", True),
        ("length // 3", True),
        ("max(1, length // 3)", True),
        ("int(length / 3)", True),
        ("7", True),
        ("length / 3", False),
        ("length // size", False),
        ("max(1, size)", False),
        ("args.steps", True),
        ("args.other", False),
        ("args.unset", False),
    ],
)
def test_only_what_may_be_no_integer_is_rounded(steps: str, whole: bool) -> None:
    head = (
        "import argparse\nfrom elsewhere import size\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--steps', type=int, default=100)\nparser.add_argument('--other', default=100)\n"
        "parser.add_argument('--unset', type=int)\nargs = parser.parse_args()\n"
    )
    text = head + SCRIPT.format(call=f"fit_generator(pictures, steps_per_epoch={steps}, epochs=2)")
    result = migrate(text)
    assert "class Epochs" in result.after
    assert ("self.steps = steps\n" in result.after) is whole
    assert ("rounded up" in result.after) is not whole


def test_steps_of_a_single_epoch_say_nothing_of_the_class() -> None:
    text = SCRIPT.format(call="fit_generator(pictures, steps_per_epoch=7, epochs=2)")
    result = migrate(f"{text}model.fit_generator(pictures, steps_per_epoch=size / 3)\n")
    assert "self.steps = steps\n" in result.after
