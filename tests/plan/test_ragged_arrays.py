"""np.array() of parts that differ in shape, which NumPy refuses since 1.24."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kit import actions, check_migrated, migrate

HEAD = """\
import cv2
import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.preprocessing.sequence import pad_sequences
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
{code}
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
"""

APPENDED = """\
def load(paths):
    data = []
    for path in paths:
        picture = cv2.imread(path)
        picture = cv2.resize(picture, (32, 32))
        data.append([picture, {label}])
    np.random.shuffle(data)
    data = np.array(data)
    return data
"""


def in_function(*lines: str) -> str:
    return "\n    ".join(("def load(texts, number):", *lines))


@pytest.mark.parametrize(
    ("code", "after"),
    [
        ("a = np.array([[1, 2], [3]])", "np.array([[1, 2], [3]], dtype=object)"),
        ("a = np.asarray([(1, 2), 3])", "np.asarray([(1, 2), 3], dtype=object)"),
        (
            "a = np.array([np.zeros((13, 13)), np.ones((26, 26))])",
            "np.array([np.zeros((13, 13)), np.ones((26, 26))], dtype=object)",
        ),
        ("rows = [[1, 2], [3]]\na = np.array(rows)", "np.array(rows, dtype=object)"),
        ("a = np.array([[[1, 2], [3]], [[1], [2]]])", "[[1], [2]]], dtype=object)"),
        ("a = np.array(model.get_weights())", "np.array(model.get_weights(), dtype=object)"),
        ("np.save('w.npy', model.get_weights())", "np.save('w.npy', np.array(model.get_weights(), dtype=object))"),
        ("np.save('w.npy', arr=model.get_weights())", "arr=np.array(model.get_weights(), dtype=object))"),
        (
            "weights = [each.get_weights() for each in (model, model)]\na = np.mean([model.get_weights()], axis=0)",
            "np.mean(np.array([model.get_weights()], dtype=object), axis=0)",
        ),
        (APPENDED.format(label="1"), "data = np.array(data, dtype=object)"),
        (APPENDED.format(label="[0, 1]"), "data = np.array(data, dtype=object)"),
        (
            in_function(
                "z = []", "z.append(np.zeros((number, 13)))", "z.append(np.zeros((number, 26)))", "a = np.array(z)"
            ),
            "np.array(z, dtype=object)",
        ),
        (in_function("return pad_sequences(np.array(texts))"), "pad_sequences(np.array(texts, dtype=object))"),
        (in_function("x = np.array(texts)", "x = pad_sequences(x, maxlen=4)"), "x = np.array(texts, dtype=object)"),
        (in_function("x = np.array(texts)", "y = pad_sequences(x, maxlen=4)"), "x = np.array(texts, dtype=object)"),
    ],
)
def test_parts_that_differ_are_an_array_of_objects(code: str, after: str) -> None:
    file = check_migrated(HEAD.format(code=code))
    assert after in file.after
    assert actions(file, "TFM294") == ["rewrite"]
    again = migrate(file.after)
    assert again.after == file.after


@pytest.mark.parametrize(
    "code",
    [
        "a = np.array([[1, 2], [3, 4]])",
        "a = np.array([[1, 2], [3]], dtype=object)",
        "a = np.array([[1, 2], [3]], object)",
        "a = np.array([[1, 2], [3]], **options)",
        "a = np.array([(1, 'a'), (2, 'b')])",
        "a = np.array([[1, -2], [x, y]])",
        "a = np.array([[*x, 1], [1, 2]])",
        "a = np.array([np.zeros((13, 13)) for _ in range(3)])",
        "a = np.array([np.zeros((n, 13)), np.zeros((m, 13))])",
        "a = np.array([np.zeros(n), np.zeros(m)])",
        "a = np.array([first, second])",
        "a = np.array([[float(word) for word in line.split()] for line in lines])",
        "a = np.array(model.layers[0].get_weights())",
        "a = np.array(tokenizer.texts_to_sequences([text]))",
        "a = np.concatenate([np.zeros((3, 2)), np.zeros((4, 2))])",
        "groups = [[], [1]]\ngroups[0].append(2)\na = np.array(groups)",
        "groups = [[], [1]]\nfor group in groups:\n    fill(group)\na = np.array(groups)",
        "row = [1, 2]\nrow.append(3)\na = np.array([row, [4, 5, 6]])",
        "row = [1, 2]\nrow += [3]\na = np.array([row, [4, 5, 6]])",
        "row = [1, 2]\nrow[1:] = [2, 3]\na = np.array([row, [4, 5, 6]])",
        "rows = []\nrows.append([1, 2])\nrows.pop()\nrows.append([1])\na = np.array(rows)",
        "rows = []\nif n:\n    rows.append([1, 2])\nelse:\n    rows.append([1])\na = np.array(rows)",
        "rows = []\nfor x in xs:\n    rows.append([x, x + 1])\na = np.array(rows)",
        in_function("x = np.array(texts)", "print(x.mean())", "y = pad_sequences(x)"),
        in_function("if number:", "    texts = [[1], [1, 2]]", "return np.array(texts)"),
        in_function("rows = [[1], [2, 3]]", "if number:", "    rows = [[1], [2]]", "return np.array(rows)"),
    ],
)
def test_other_arrays_stay(code: str) -> None:
    file = migrate(HEAD.format(code=code))
    assert actions(file, "TFM294") == []


@pytest.mark.parametrize(
    "parts",
    [
        [[1, 2], [3]],
        [[1, 2], 3],
        [np.zeros((13, 13)), np.zeros((26, 26))],
        [[np.zeros((5, 5)), 1], [np.zeros((5, 5)), 0]],
        [np.zeros((4, 3)), np.zeros(3)],
    ],
)
def test_numpy_wants_to_be_told(parts: list[object]) -> None:
    with pytest.raises(ValueError, match="inhomogeneous"):
        np.array(parts)
    assert np.array(parts, dtype=object).dtype == object


ALONG = """\
class Boxes:
    def __init__(self, count):
        self.count = count

    def encode(self, box):
        encoded = np.zeros((self.count, 5))
        ignored = np.zeros((self.count, 1))
        return {returned}

    def assign(self, boxes):
        pairs = np.apply_along_axis({function}, 1, boxes[:, :4])
        return np.array([pairs[i, 0] for i in range(len(pairs))])


encoded = Boxes(7).assign(np.ones((3, 4)))
"""


def test_arrays_of_unknown_length_along_an_axis_are_joined_as_before() -> None:
    code = ALONG.format(returned="encoded.ravel(), ignored.ravel()", function="self.encode")
    after = check_migrated(HEAD.format(code=code)).after
    assert "np.apply_along_axis(lambda row: array_of(self.encode(row)), 1, boxes[:, :4])" in after
    scope: dict[str, object] = {"np": np}
    exec(after[after.index("def array_of") : after.index("with strategy.scope():\n    model.compile")], scope)
    assert np.shape(scope["encoded"]) == (3, 35)


@pytest.mark.parametrize(
    ("returned", "function"),
    [
        ("encoded.ravel()", "self.encode"),
        ("encoded.max(), encoded.min()", "self.encode"),
        ("box[0], box[1]", "self.encode"),
        ("np.zeros(3), np.ones(3)", "self.encode"),
        ("encoded.ravel(), ignored.ravel()", "np.sort"),
        ("encoded.ravel(), ignored.ravel()", "len"),
    ],
)
def test_what_is_one_array_for_each_row_is_left_alone(returned: str, function: str) -> None:
    file = check_migrated(HEAD.format(code=ALONG.format(returned=returned, function=function)))
    assert f"np.apply_along_axis({function}, 1, boxes[:, :4])" in file.after
    assert actions(file, "TFM294") == []
