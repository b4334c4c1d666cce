"""Functions that make a session for nobody."""

from __future__ import annotations

import pytest

from tests.kit import changed, migrate, with_model

PROGRAM = with_model(
    '''
import tensorflow as tf


def get_session():
    """A session that takes memory as it needs it."""
    config = tf.ConfigProto()
    config.gpu_options.allow_growth = True
    return tf.Session(config=config)


print("ready")
'''
)


def test_it_goes() -> None:
    file = migrate(PROGRAM)
    assert "get_session" not in file.after
    assert {finding.code for finding in file.findings if finding.action == "warn"} == set()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('print("ready")', "print(get_session().list_devices())"),
        ("    return", "    print(config)\n    return"),
        ("return tf.Session(config=config)", "return config"),
    ],
)
def test_one_that_is_used_or_does_more_stays(old: str, new: str) -> None:
    assert "def get_session():" in migrate(changed(PROGRAM, (old, new))).after


def test_one_that_another_file_imports_stays() -> None:
    files = migrate(PROGRAM, other="from train import get_session\n\nsession = get_session()\n")
    assert "def get_session():" in files.after
