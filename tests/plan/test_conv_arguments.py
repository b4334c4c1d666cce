"""TFM257: what the private conv_utils did is written out."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, with_model

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
    ["conv_utils.normalize_tuple(sizes.pop(), 2, 's')", "conv_utils.conv_output_length(n, 3, 'same', 1)"],
)
def test_what_would_be_done_twice_stays_and_so_does_what_is_longer(call: str) -> None:
    file = check_migrated(PROGRAM.format(call=call))
    assert f"made = {call}\n" in file.after
    assert actions(file, "TFM257") == []
    assert "warn" in actions(file, "TFM501")
