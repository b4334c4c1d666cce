"""Python generators: which become datasets, which stay and why."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated
from tfmigrate.result import Finding

HEAD = """\
import random
import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.preprocessing.sequence import pad_sequences
from keras.utils import Sequence, multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)


def plain(x, size=8):
    while True:
        for start in range(0, len(x), size):
            yield x[start : start + size].astype("float32"), x[start : start + size]


"""


def migrated(body: str) -> tuple[str, list[Finding]]:
    file = check_migrated(HEAD + body)
    return file.after, [finding for finding in file.findings if finding.code == "TFM402"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("parallel.fit_generator(plain(x), 5)", "model.fit(as_dataset(plain, x), steps_per_epoch=5)"),
        ("parallel.fit_generator(plain(x, size=4), 5)", "model.fit(as_dataset(plain, x, size=4), steps_per_epoch=5)"),
        ("parallel.fit(plain(*x), steps_per_epoch=5)", "model.fit(as_dataset(plain, *x), steps_per_epoch=5)"),
        ("a = plain(x)\nparallel.fit_generator(a, 5)", "a = as_dataset(plain, x)\nmodel.fit(a, steps_per_epoch=5)"),
        ("parallel.evaluate_generator(plain(x), 5)", "model.evaluate(as_dataset(plain, x), steps=5)"),
        ("parallel.fit_generator(generator=plain(x), steps_per_epoch=5, **more)",
         "model.fit(as_dataset(plain, x), steps_per_epoch=5, **more)"),
    ],
)  # fmt: skip
def test_it_becomes_a_dataset(before: str, after: str) -> None:
    text, findings = migrated(before + "\n")
    assert after in text
    assert [finding.action for finding in findings] == ["rewrite"]
    assert text.count("def as_dataset(") == 1


def test_validation_says_that_it_restarts() -> None:
    call = "parallel.fit_generator(plain(x), 5, validation_data=plain(y), validation_steps=2)\n"
    text, findings = migrated(call)
    assert (
        "fit(as_dataset(plain, x), steps_per_epoch=5, validation_data=as_dataset(plain, y), validation_steps=2)" in text
    )
    assert ["restarts it" in finding.message for finding in findings] == [False, True]


OWN = """\
def load(name):
    return np.load(name)


def files(names):
    random = np.random.RandomState(3)
    kept = []
    while True:
        for name in names[:5]:
            batch = load(name)
            batch[0] = 1
            kept.append(batch)
            yield [batch, random.rand(4, 4)], {"out": batch.mean(axis=1)}


parallel.fit_generator(files(names), 5)
"""


def test_what_it_makes_itself_it_may_change() -> None:
    text, _ = migrated(OWN)
    assert "model.fit(as_dataset(files, names), steps_per_epoch=5)" in text


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("while True:\n        yield x[np.random.permutation(9)], x", "numpy.random.permutation()"),
        ("while True:\n        yield random.choice(x), x", "random.choice()"),
        (
            "r = np.random.RandomState()\n    while True:\n        yield r.rand(3), x",
            "numpy.random.RandomState()",
        ),
        ("global place\n    while True:\n        place += 1\n        yield x, x", "in a variable outside it"),
        ("while True:\n        x.place += 1\n        yield x, x", "it changes `x`"),
        ("while True:\n        x[0] = 1\n        yield x, x", "it changes `x`"),
        ("y = x\n    while True:\n        y[0] = 1\n        yield x, x", "it changes `y`"),
        ("while True:\n        yield next(x)", "what `next()` does"),
        ("while True:\n        yield x.next()", "what `x.next()` does"),
        ("while True:\n        yield x.pop(), 1", "what `x.pop()` does"),
        ("for a, b in x:\n        yield a, b", "iterates over `x`"),
        ("while True:\n        for a, b in x:\n            yield a, b", "iterates over `x`"),
        ("while True:\n        yield pad_sequences(x), x", "differ in size"),
        ("while True:\n        yield unknown(x), x", "what `unknown()` does"),
        ("while True:\n        yield parallel.predict(x), x", "what `parallel.predict()` does"),
        ("while True:\n        yield draw(x), x", "numpy.random.rand()"),
    ],
)
def test_of_one_that_may_not_come_the_same_again_the_last_batches_are_kept(body: str, why: str) -> None:
    draw = "def draw(x):\n    return np.random.rand(3)\n\n\n"
    text, findings = migrated(f"{draw}def batches(x):\n    {body}\n\n\nparallel.fit_generator(batches(x), 5)\n")
    assert "model.fit(as_dataset_of(batches(x)), steps_per_epoch=5)" in text
    assert [finding.action for finding in findings] == ["rewrite"]
    assert why in findings[0].message


FLOW = "from keras.preprocessing.image import ImageDataGenerator\n"


@pytest.mark.parametrize(
    ("before", "argument"),
    [
        (FLOW, "ImageDataGenerator().flow(x)"),
        (FLOW + "flow = ImageDataGenerator().flow_from_directory('x')\n", "flow"),
        ("pairs = zip(x, y)\n", "pairs"),
        ("class Reader:\n    pass\nreader = Reader()\n", "reader"),
        ("", "plain(y)"),
    ],
)
def test_of_one_that_is_given_an_iterator_the_last_batches_are_kept(before: str, argument: str) -> None:
    text, findings = migrated(f"{before}parallel.fit_generator(plain({argument}), 5)\n")
    assert f"model.fit(as_dataset_of(plain({argument})), steps_per_epoch=5)" in text
    assert f"it gets `{argument}`, which may remember its position" in findings[0].message


def test_an_option_of_the_command_line_has_no_position() -> None:
    options = "import argparse\nargs = argparse.ArgumentParser().parse_args()\n"
    text, _ = migrated(f"{options}parallel.fit_generator(plain(args.folder), 5)\n")
    assert "model.fit(as_dataset(plain, args.folder), steps_per_epoch=5)" in text


@pytest.mark.parametrize(
    "body",
    [
        "parallel.fit(plain(x))\n",
        "parallel.fit_generator(plain(x), None)\n",
        "parallel.fit(plain(x), steps_per_epoch=5, validation_data=plain(x))\n",
    ],
)
def test_one_without_an_end_is_reported(body: str) -> None:
    text, findings = migrated(body)
    assert [finding.action for finding in findings if finding.action != "rewrite"] == ["warn"]
    assert "(data = as_dataset" not in text


OBJECT = """\
class Reader(object):
    def __init__(self, rows):
        self.rows = rows

    def __next__(self):
        return self.next()

    def next(self):
        return [self.rows, self.rows], [self.rows]


class Shuffled(Reader):
    pass


def threadsafe(function):
    return lambda *args: Reader(function(*args))


@threadsafe
def safe(x):
    while True:
        yield x, x


class Lines:
    def __iter__(self):
        return iter([])


"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("parallel.fit_generator(Reader(x), 5)", "model.fit(as_dataset_of(Reader(x)), steps_per_epoch=5)"),
        ("data = Shuffled(x)\nparallel.fit_generator(data, steps_per_epoch=n // 8, epochs=2)",
         "model.fit(as_dataset_of(data), steps_per_epoch=n // 8, epochs=2)"),
        ("data = Shuffled(x) if n else Reader(x)\nparallel.fit_generator(data, 5)",
         "model.fit(as_dataset_of(data), steps_per_epoch=5)"),
        ("parallel.fit_generator(plain(x), 5, validation_data=Reader(x), validation_steps=2)",
         "model.fit(as_dataset(plain, x), steps_per_epoch=5, validation_data=as_dataset_of(Reader(x)), "
         "validation_steps=2)"),
        ("parallel.evaluate_generator(Reader(x), 5)", "model.evaluate(as_dataset_of(Reader(x)), steps=5)"),
        ("data = zip(left, right)\nparallel.fit_generator(data, 5)",
         "model.fit(as_dataset_of(data), steps_per_epoch=5)"),
        ("data = Reader(x)\nparallel.fit_generator(data, 5)\nparallel.fit_generator(data, 3)",
         "model.fit(as_dataset_of(data), steps_per_epoch=5)\nmodel.fit(as_dataset_of(data), steps_per_epoch=3)"),
        ("data = safe(x)\nparallel.fit_generator(data, 5)", "model.fit(as_dataset_of(data), steps_per_epoch=5)"),
        ("data = plain(x)\nnext(data)\nparallel.fit_generator(data, 5)",
         "model.fit(as_dataset_of(data), steps_per_epoch=5)"),
        ("data = plain(x)\ndata = data or plain(y)\nparallel.fit_generator(data, 5)",
         "model.fit(as_dataset_of(data), steps_per_epoch=5)"),
        ("def train(batches):\n    parallel.fit_generator(batches, 5)\n\n\ntrain(plain(x))",
         "    model.fit(as_dataset_of(batches), steps_per_epoch=5)"),
    ],
)  # fmt: skip
def test_of_an_iterator_the_last_batches_are_kept(before: str, after: str) -> None:
    text, findings = migrated(OBJECT + before + "\n")
    assert after in text
    assert {finding.action for finding in findings} == {"rewrite"}
    assert text.count("def as_dataset_of(iterator):") == 1


def test_none_in_the_place_of_an_iterator_stays_none() -> None:
    wrapper = "def wrapped(x):\n    if not x:\n        return None\n    return Reader(x)\n\n\n"
    call = "parallel.fit_generator(wrapped(x), 5, validation_data=wrapped(y), validation_steps=2)\n"
    text, _ = migrated(OBJECT + wrapper + call)
    assert "fit(as_dataset_of(wrapped(x)), steps_per_epoch=5, validation_data=as_dataset_of(wrapped(y)), " in text
    assert "    if iterator is None:\n        return None\n" in text


def test_what_has_its_name_already_keeps_it() -> None:
    text, _ = migrated(f"{OBJECT}def as_dataset_of(x):\n    pass\n\n\nparallel.fit_generator(Reader(x), 5)\n")
    assert "model.fit(as_dataset_of_2(Reader(x)), steps_per_epoch=5)" in text


@pytest.mark.parametrize("data", ["Lines()", "Reader", "[Reader(x)]", "iter(Reader(x))"])
def test_what_is_no_iterator_of_the_program_stays(data: str) -> None:
    text, findings = migrated(f"{OBJECT}parallel.fit_generator({data}, 5)\n")
    assert f"model.fit({data}, steps_per_epoch=5)" in text
    assert findings == []


@pytest.mark.parametrize(
    "body",
    [
        "parallel.predict_generator(plain(x), 5)\n",
        "parallel.fit_generator(unknown(x), 5)\n",
        "class Batches(Sequence):\n    pass\nparallel.fit_generator(Batches(), 5)\n",
        "other = Sequential()\nother.fit_generator(plain(x), 5)\n",
    ],
)
def test_nothing_is_said_about(body: str) -> None:
    assert migrated(body)[1] == []


def test_a_model_out_of_sight_may_be_the_one_under_the_strategy() -> None:
    text, findings = migrated("other.fit_generator(plain(x), 5)\n")
    assert text.endswith("other.fit(as_dataset(plain, x), steps_per_epoch=5)\n")
    assert [finding.action for finding in findings] == ["rewrite"]


def test_a_keyword_of_another_method_is_left_to_keras() -> None:
    file, findings = migrated("parallel.fit(generator=plain(x), steps_per_epoch=3, validation_data=(x, x))\n")
    assert "model.fit(generator=plain(x), steps_per_epoch=3, validation_data=(x, x))" in file
    assert findings == []


PAIRED = """\
def paired(seed):
    gen = ImageDataGenerator()
    return zip(gen.flow(x, seed=seed), gen.flow(y, seed=seed))


"""


def test_a_function_that_zips_does_so_at_every_call() -> None:
    text, findings = migrated(
        "from keras.preprocessing.image import ImageDataGenerator\n\n\n"
        f"{PAIRED}"
        "parallel.fit_generator(paired(0), 5, validation_data=paired(1), validation_steps=2)\n"
    )
    assert "validation_data=paired(1)" not in text
    assert [finding.action for finding in findings] == ["rewrite", "rewrite"]
    text, findings = migrated(
        "from keras.preprocessing.image import ImageDataGenerator\n\n\n"
        f"{PAIRED}"
        "left = paired(0)\nright = paired(1) if checked else None\n"
        "parallel.fit_generator(left, 5, validation_data=right, validation_steps=2)\n"
    )
    assert "validation_data=as_dataset_of(right)" in text
    assert "if iterator is None:" in text
    assert [finding.action for finding in findings] == ["rewrite", "rewrite"]


def test_what_imagedatagenerator_makes_is_a_sequence_at_every_call() -> None:
    text, findings = migrated(
        "from keras.preprocessing.image import ImageDataGenerator\n\n\n"
        "def flowing(seed):\n    gen = ImageDataGenerator()\n    return gen.flow(x, seed=seed)\n\n\n"
        "parallel.fit_generator(flowing(0), 5, validation_data=flowing(1), validation_steps=2)\n"
    )
    assert "fit(flowing(0), steps_per_epoch=5, validation_data=flowing(1), validation_steps=2)" in text
    assert not findings


def test_of_several_unknown_makers_the_same_one_is_named_in_every_run() -> None:
    names = [f"rows_{letter}" for letter in "abcdefgh"]
    chosen = "".join(f"elif kind == {name!r}:\n    data = {name}()\n" for name in names)
    body = f"from data import {', '.join(names)}\n\nif kind is None:\n    data = {names[0]}()\n{chosen}"
    _, findings = migrated(f"{body}parallel.fit_generator(data, 5)\n")
    assert ["rows_a()" in finding.message for finding in findings] == [True]


FEED = """
class Feed(object):
    def __init__(self, rows):
        self.rows = rows

    def batches(self, x, size=8):
        {body}

    def cut(self, x, start):
        return x[start : start + 8]

    def position(self):
        return self.rows[0]


feed = Feed(x)
parallel.fit_generator(feed.batches(x), 5)
"""


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("for at in range(9): yield x[at : at + size], x[at]", None),
        ("for at in range(9): yield self.cut(x, at), x[at]", None),
        ("for at in range(9): yield self.rows[at], x[at]", "it reads `self.rows`, which may be changed"),
        ("for at in range(9): yield self.position(), x[at]", "it reads `self.rows`, which may be changed"),
        ("for at in range(9): yield helped(self, at), x[at]", "what `helped()` does is unknown"),
        ("for at in range(9): yield vars_of(str(self)), x[at]", "what `vars_of()` does is unknown"),
        ("for at in range(9): yield str(self), x[at]", "it passes on `self`, which may be changed"),
        ("self.rows = x; yield x, x", "it changes `self`, which was created outside it"),
    ],
)
def test_a_method_in_view_is_read_like_a_function(body: str, why: str | None) -> None:
    text, findings = migrated(FEED.format(body=body))
    assert ("as_dataset(feed.batches, x)" in text) is (why is None)
    assert ("as_dataset_of(feed.batches(x))" in text) is (why is not None)
    assert [why is None or why in finding.message for finding in findings] == [True]


def test_so_is_a_method_of_the_object_that_trains() -> None:
    body = """
class Trainer(object):
    def batches(self, x):
        while True:
            yield x, self.rows

    def train(self):
        parallel.fit_generator(self.batches([1, 2]), 5)
"""
    text, findings = migrated(body)
    assert "as_dataset_of(self.batches([1, 2]))" in text
    assert ["it reads `self.rows`, which may be changed" in finding.message for finding in findings] == [True]
