"""TFM257: what the private conv_utils did is written out."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, with_model
from tfmigrate.plan.helpers.conv_output_length import conv_output_length

PROGRAM = with_model("from keras import backend as K\nfrom keras.utils import conv_utils\n\nmade = {call}")


@pytest.mark.parametrize(
    ("call", "written"),
    [
        ("conv_utils.normalize_tuple(size, 2, 'size')", "(size,) * 2 if isinstance(size, int) else tuple(size)"),
        ("f(conv_utils.normalize_tuple(a[0], n=3))", "f(((a[0],) * 3 if isinstance(a[0], int) else tuple(a[0])))"),
        (
            "conv_utils.normalize_tuple(size, n + 1, 'size')",
            "(size,) * (n + 1) if isinstance(size, int) else tuple(size)",
        ),
        ("conv_utils.normalize_tuple((1, 2), 2, 'size')", "(1, 2)"),
        ("conv_utils.normalize_data_format(form)", "(form or tf.keras.backend.image_data_format()).lower()"),
        ("conv_utils.normalize_data_format(None)", "tf.keras.backend.image_data_format()"),
        ("K.normalize_data_format(a or b)", "((a or b) or tf.keras.backend.image_data_format()).lower()"),
        ("conv_utils.normalize_padding('SAME' if wide else padding)", "('SAME' if wide else padding).lower()"),
    ],
)
def test_what_a_call_does_is_written_in_its_place(call: str, written: str) -> None:
    file = check_migrated(PROGRAM.format(call=call))
    assert f"made = {written}\n" in file.after
    assert "conv_utils" not in file.after


@pytest.mark.parametrize(
    "call",
    ["conv_utils.normalize_tuple(sizes.pop(), 2, 's')", "conv_utils.deconv_length(n, 2, 3, 'same')"],
)
def test_what_would_be_done_twice_stays_and_so_does_what_is_longer(call: str) -> None:
    file = check_migrated(PROGRAM.format(call=call))
    assert f"made = {call}\n" in file.after
    assert actions(file, "TFM257") == []
    assert "warn" in actions(file, "TFM501")


@pytest.mark.parametrize(
    ("lines", "call", "after"),
    [
        ("from keras.utils import conv_utils", "conv_utils.conv_output_length", "conv_output_length"),
        ("import keras.utils.conv_utils as cu", "cu.conv_output_length", "conv_output_length"),
        ("from keras.utils.conv_utils import conv_output_length", "conv_output_length", "conv_output_length_2"),
        ("from tensorflow.python.keras.utils import conv_utils", "conv_utils.conv_output_length", "conv_output_length"),
    ],
)
def test_the_length_of_an_output_is_computed_by_a_function(lines: str, call: str, after: str) -> None:
    file = check_migrated(with_model(f"{lines}\n\nmade = [{call}(n, 3, 'same', stride=2) for n in sizes]\n"))
    assert f"def {after}(input_length, filter_size, padding, stride, dilation=1):\n" in file.after
    assert f"made = [{after}(n, 3, 'same', stride=2) for n in sizes]\n" in file.after
    assert "conv_utils" not in file.after
    assert set(actions(file, "TFM257")) == {"rewrite"}
    assert actions(file, "TFM501") == []


def test_another_function_of_that_name_stays() -> None:
    lines = "from layers import conv_output_length\n\nmade = conv_output_length(8, 3, 'same', 2)\n"
    file = check_migrated(with_model(lines))
    assert "made = conv_output_length(8, 3, 'same', 2)\n" in file.after
    assert actions(file, "TFM257") == []


@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("padding", ["same", "valid", "full", "causal"])
def test_the_lengths_are_those_of_old_keras(padding: str, stride: int, dilation: int) -> None:
    for length in range(7, 12):
        dilated = 3 + 2 * (dilation - 1)
        covered = {"valid": length - dilated + 1, "full": length + dilated - 1}.get(padding, length)
        assert conv_output_length(length, 3, padding, stride, dilation) == (covered + stride - 1) // stride
    assert conv_output_length(None, 3, padding, stride) is None
