"""steps_per_epoch beside a Sequence (TFM409)."""

from __future__ import annotations

from types import SimpleNamespace

import libcst as cst
import pytest

from tests.kit import migrate
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
    (result,) = migrate_sources({"train.py": SCRIPT.format(call=call)}, settings or Settings())
    last = cst.Module(cst.parse_module(result.after).body[-1:]).code
    return last, [finding.action for finding in result.findings if finding.code == "TFM409"]


@pytest.mark.parametrize(
    ("call", "new"),
    [
        (
            "fit_generator(pictures, steps_per_epoch=pictures.samples // 32)",
            "fit(Epochs(pictures, pictures.samples // 32))",
        ),
        ("fit_generator(rows, steps_per_epoch=3)", "fit(Epochs(rows, 3))"),
        ("fit_generator(more, 3, 2, workers=4)", "fit(Epochs(more, 3), epochs=2)"),
        (
            "fit(rows, steps_per_epoch=len(names) / 32, epochs=2)",
            "fit(Epochs(rows, int(-(-len(names) // 32))), epochs=2)",
        ),
        ("fit(generator.flow(x, y), steps_per_epoch=100)", "fit(Epochs(generator.flow(x, y), 100))"),
        ("fit_generator(generator=rows, steps_per_epoch=3)", "fit(Epochs(rows, 3))"),
    ],
)
def test_epochs_get_the_steps_that_are_asked_for(call: str, new: str) -> None:
    assert migrated(call) == (f"model.{new}\n", ["rewrite"])


def test_several_machines_too() -> None:
    last, done = migrated("fit_generator(rows, steps_per_epoch=3)", Settings(strategy="multi-worker"))
    assert "fit(Epochs(rows, 3)" in last
    assert done == ["rewrite"]


def test_each_fit_has_its_own_steps() -> None:
    both = "fit_generator(rows, steps_per_epoch=3)\nparallel_model.fit_generator(rows, steps_per_epoch=5)"
    result = migrate(SCRIPT.format(call=both))
    assert result.after.count("class Epochs(") == 1
    assert result.after.endswith("model.fit(Epochs(rows, 3))\nmodel.fit(Epochs(rows, 5))\n")


def test_a_second_fix_changes_nothing() -> None:
    once = migrate(SCRIPT.format(call="fit_generator(rows, steps_per_epoch=3)"))
    (again,) = migrate_sources({"train.py": once.after}, Settings())
    assert again.after == once.after


@pytest.mark.parametrize("begins", [True, False])
def test_the_first_epoch_begins_with_the_first_batch(begins: bool) -> None:
    """Keras 3 calls on_epoch_end once before the first epoch, and on_epoch_begin, which Keras 2 does not have."""
    (result,) = migrate_sources({"train.py": SCRIPT.format(call="fit_generator(rows, steps_per_epoch=3)")}, Settings())
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
        epochs.on_epoch_end()
    found = []
    for _ in range(4):
        if begins:
            epochs.on_epoch_begin()
        found.append([epochs[index] for index in range(len(epochs))])
        epochs.on_epoch_end()
    assert found == [[0, 1, 2], [3, 0, 1], [2, 3, 0], [1, 2, 3]]
    assert data.ended == 3


def test_data_that_may_be_something_else_is_told() -> None:
    assert migrated("fit_generator(rows if small else feed(), steps_per_epoch=3)")[1] == ["warn"]


def test_so_is_what_another_caller_gives() -> None:
    calls = "train(rows)\ntrain(feed())\n"
    script = SCRIPT.format(call="summary()") + (
        f"\n\ndef train(data):\n    parallel_model.fit_generator(data, steps_per_epoch=3)\n\n\n{calls}"
    )
    result = migrate(script)
    assert [finding.action for finding in result.findings if finding.code == "TFM409"] == ["warn"]
    assert "class Epochs" not in result.after


@pytest.mark.parametrize(
    "call",
    [
        "fit_generator(rows)",
        "fit_generator(rows, steps_per_epoch=None)",
        "fit_generator(rows, steps_per_epoch=len(rows))",
        "fit_generator(rows, steps_per_epoch=length)",
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


def test_a_sequence_that_is_an_iterator_too_is_given_in_epochs_and_not_made_a_dataset() -> None:
    own = "class More(Rows):\n    def __next__(self):\n        return load(0)\n"
    script = SCRIPT.format(call="fit_generator(more, steps_per_epoch=3)").replace("class More(Rows):\n    pass\n", own)
    assert migrate(script).after.endswith("model.fit(Epochs(more, 3))\n")
