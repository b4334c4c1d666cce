"""What said in how many threads a Sequence is loaded keeps its effect."""

from __future__ import annotations

import pytest

from tests.kit import migrate
from tfmigrate.plan.data.sequences import LOADING

HEAD = """from keras.layers import Dense
from keras.models import Sequential
from keras.utils import Sequence, multi_gpu_model


class Rows(Sequence):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return load(index)


def rows():
    while True:
        yield load(0)


model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
train, held = Rows(), Rows()
"""


def migrated(lines: str) -> tuple[str, bool]:
    file = migrate(f"{HEAD}MARK = 0\n{lines}\n")
    told = any("if the data is a Sequence" in f.message for f in file.findings)
    return file.after.partition("MARK = 0\n")[2].rstrip("\n"), told


@pytest.mark.parametrize(
    ("call", "after"),
    [
        ("fit_generator(train, workers=8)", "train.workers = 8\nmodel.fit(train)"),
        (
            "fit_generator(train, use_multiprocessing=True, max_queue_size=count(), epochs=2)",
            "train.use_multiprocessing = True\ntrain.max_queue_size = count()\nmodel.fit(train, epochs=2)",
        ),
        (
            "fit_generator(Rows(), workers=8)",
            "train_sequence = Rows()\ntrain_sequence.workers = 8\nmodel.fit(train_sequence)",
        ),
        (
            "fit_generator(train, workers=8, validation_data=Rows())",
            "validation_sequence = Rows()\ntrain.workers = 8\nvalidation_sequence.workers = 8\n"
            "model.fit(train, validation_data=validation_sequence)",
        ),
        (
            "fit_generator(train, workers=8, validation_data=held)",
            "train.workers = 8\nheld.workers = 8\nmodel.fit(train, validation_data=held)",
        ),
        ("evaluate_generator(held, workers=8)", "held.workers = 8\nmodel.evaluate(held)"),
        ("predict_generator(held, workers=8)", "held.workers = 8\nmodel.predict(held)"),
        ("fit(train, workers=8)", "train.workers = 8\nmodel.fit(train)"),
        (
            "fit(train,\n    workers=8,  # a half\n    epochs=2,\n    use_multiprocessing=True  # faster\n)",
            "train.workers = 8  # a half\ntrain.use_multiprocessing = True  # faster\nmodel.fit(train,\n"
            "    epochs=2\n)",
        ),
    ],
)
def test_the_sequence_says_it(call: str, after: str) -> None:
    assert migrated(f"parallel.{call}") == (after, False)


@pytest.mark.parametrize("asked", ["workers=1", "workers=0", "use_multiprocessing=False", "max_queue_size=10"])
def test_what_keras_did_anyway_is_not_said(asked: str) -> None:
    assert migrated(f"parallel.fit_generator(train, {asked})") == ("model.fit(train)", False)


@pytest.mark.parametrize(("data", "told"), [("unknown", True), ("rows()", False)])
def test_data_that_may_be_a_sequence_is_reported(data: str, told: bool) -> None:
    after, said = migrated(f"parallel.fit_generator({data}, workers=8, steps_per_epoch=3)")
    assert ".workers" not in after
    assert said == told


def test_a_sequence_in_epochs_is_loaded_as_it_was() -> None:
    file = migrate(f"{HEAD}parallel.fit_generator(train, steps_per_epoch=3, epochs=2, workers=8)\n")
    assert "train.workers = 8\nmodel.fit(Epochs(train, 3), epochs=2)" in file.after
    assert 'self.workers = getattr(data, "workers", 1)' in file.after
    assert "self.max_queue_size" not in file.after


@pytest.mark.parametrize(
    ("head", "asked", "copied"),
    [
        ("", "use_multiprocessing=False", []),
        ("", "workers=1, max_queue_size=10", []),
        ("workers = 8\n", "workers=1", []),
        ("", "use_multiprocessing=True, workers=1", ["use_multiprocessing"]),
        ("", "max_queue_size=size, workers=n", ["workers", "max_queue_size"]),
        ("parallel.evaluate_generator(held, workers=8)\n", "verbose=0", []),
        ("parallel.fit_generator(train, workers=8)\n", "use_multiprocessing=True", ["use_multiprocessing"]),
        ("train.workers = 8\n", "verbose=0", ["workers"]),
    ],
)
def test_epochs_copy_no_more_than_the_program_asks_for(head: str, asked: str, copied: list[str]) -> None:
    file = migrate(f"{HEAD}{head}parallel.fit_generator(train, steps_per_epoch=3, epochs=2, {asked})\n")
    helper = file.after[file.after.index("class Epochs(") : file.after.index("class Rows(")]
    assert [name for name in LOADING if f"self.{name} = getattr(data" in helper] == copied


def test_one_that_is_made_in_the_call_is_loaded_so_in_epochs_too() -> None:
    call = "parallel.fit_generator(Rows(), steps_per_epoch=3, epochs=2, workers=int(count() / 2))"
    file = migrate(f"{HEAD}{call}\n")
    assert file.after.endswith("""
train_sequence = Rows()
train_sequence.workers = int(count() / 2)
model.fit(Epochs(train_sequence, 3), epochs=2)
""")


@pytest.mark.parametrize(
    ("calls", "lines"),
    [
        (
            "parallel.fit_generator(train, workers=8)\nparallel.fit_generator(train, max_queue_size=2)",
            [
                "train.workers = 8",
                "train.max_queue_size = 10",
                "model.fit(train)",
                "train.workers = 1",
                "train.max_queue_size = 2",
                "model.fit(train)",
            ],
        ),
        (
            "parallel.fit_generator(train, workers=8)\nparallel.evaluate_generator(held, max_queue_size=2)",
            ["train.workers = 8", "model.fit(train)", "held.max_queue_size = 2", "model.evaluate(held)"],
        ),
    ],
)
def test_a_default_is_written_where_another_call_set_something_else_on_the_same(calls: str, lines: list[str]) -> None:
    after, _ = migrated(calls)
    assert after.splitlines() == lines


def test_a_default_is_written_where_the_other_call_may_have_the_same() -> None:
    calls = "parallel.fit_generator(data or train, workers=8)\nparallel.evaluate_generator(train, max_queue_size=2)"
    after, _ = migrated(calls)
    assert "train.workers = 1\ntrain.max_queue_size = 2\n" in after


@pytest.mark.parametrize(
    "own", ["    max_queue_size = 3\n", "    def __init__(self):\n        self.max_queue_size = 3\n"]
)
def test_a_default_is_written_where_the_class_has_something_of_that_name(own: str) -> None:
    head = HEAD.replace("class Rows(Sequence):\n", f"class Rows(Sequence):\n{own}")
    after = migrate(f"{head}parallel.fit_generator(train, workers=8)\n").after
    assert after.endswith("train.workers = 8\ntrain.max_queue_size = 10\nmodel.fit(train)\n")


def test_a_callback_that_predicts_says_it_too() -> None:
    told = """

class Look(keras.callbacks.Callback):
    def __init__(self, workers):
        self.rows, self.workers = Rows(), workers

    def on_epoch_end(self, epoch, logs=None):
        print(self.model.predict_generator(self.rows, workers=self.workers))


parallel.fit_generator(train, callbacks=[Look(4)])
"""
    after = migrate(f"import keras\n{HEAD}{told}").after
    assert "        self.rows.workers = self.workers\n        print(self.model.predict(self.rows))\n" in after


def test_an_iterator_of_pictures_is_a_sequence() -> None:
    head = HEAD.replace("import Sequence,", "import").replace("Rows(Sequence)", "Rows(Iterator)")
    head = f"from keras.preprocessing.image import Iterator\n{head}"
    assert "train.workers = 8\nmodel.fit(train)\n" in migrate(f"{head}parallel.fit_generator(train, workers=8)\n").after


@pytest.mark.parametrize(
    ("between", "again"),
    [
        ("print(1)", False),
        ("train = Rows()", True),
        ("parallel.fit_generator(train, workers=4)", True),
        ("if x:\n    print(1)", False),
        ("if x:\n    train = held", True),
    ],
)
def test_what_is_set_already_is_not_set_again(between: str, again: bool) -> None:
    call = "parallel.fit_generator(train, workers=8)"
    after, _ = migrated(f"{call}\n{between}\n{call}")
    assert after.count("train.workers = 8\n") == (2 if again else 1)


def test_what_an_expression_computes_is_set_each_time() -> None:
    call = "parallel.fit_generator(train, workers=count())"
    after, _ = migrated(f"{call}\n{call}")
    assert after.count("train.workers = count()\n") == 2
