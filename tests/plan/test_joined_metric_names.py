"""Names of metrics that are put together change as those that are written out do, or are reported."""

from __future__ import annotations

import pytest

from tests.kit import migrate
from tfmigrate.settings import Settings

HEAD = """from keras.callbacks import EarlyStopping
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse", metrics=["accuracy"])
prefix = "out_"
"""


def migrated(lines: str, head: str = HEAD) -> tuple[str, list[str]]:
    file = migrate(f"{head}MARK = 0\n{lines}\n", Settings(ignore=("TFM309",)))
    actions = [finding.action for finding in file.findings if finding.code == "TFM210"]
    return file.after.partition("MARK = 0\n")[2].rstrip("\n"), actions


@pytest.mark.parametrize(
    ("lines", "after"),
    [
        ("EarlyStopping(monitor='val_' + 'acc')", "EarlyStopping(monitor='val_accuracy')"),
        ("EarlyStopping('val_' + prefix + 'acc')", "EarlyStopping('val_out_accuracy')"),
        ("EarlyStopping(monitor='val_%s' % 'acc')", "EarlyStopping(monitor='val_accuracy')"),
        ("EarlyStopping(monitor='val_{}'.format('acc'))", "EarlyStopping(monitor='val_accuracy')"),
        ("EarlyStopping(monitor=other + 'acc')", "EarlyStopping(monitor=other + 'accuracy')"),
        ("EarlyStopping(monitor=other + '_acc')", "EarlyStopping(monitor=other + '_accuracy')"),
        ("name = 'val_acc'\nEarlyStopping(monitor=name)", "name = 'val_accuracy'\nEarlyStopping(monitor=name)"),
        ("EarlyStopping('val_acc' if x else 'acc')", "EarlyStopping('val_accuracy' if x else 'accuracy')"),
        (
            "a = 'val_acc'\nb = a\nc = b\nd = c\ne = d\nf = e\nEarlyStopping(monitor=f)",
            "a = 'val_accuracy'\nb = a\nc = b\nd = c\ne = d\nf = e\nEarlyStopping(monitor=f)",
        ),
        (
            "a = 'val_acc' if x else b\nb = a\nEarlyStopping(monitor=a)",
            "a = 'val_accuracy' if x else b\nb = a\nEarlyStopping(monitor=a)",
        ),
    ],
)
def test_a_name_put_together_is_the_one_of_today(lines: str, after: str) -> None:
    written, actions = migrated(lines)
    assert written == after
    assert set(actions) == {"rewrite"}


@pytest.mark.parametrize(
    ("lines", "after"),
    [
        ("ModelCheckpoint('{val_' + other + 'acc:.2f}.h5')", "ModelCheckpoint('{val_' + other + 'accuracy:.2f}.h5')"),
        (
            "end = '{val_' + other + '_acc}'\nModelCheckpoint(join(x, 'a-' + end + '.h5'))",
            "end = '{val_' + other + '_accuracy}'\nModelCheckpoint(join(x, 'a-' + end + '.h5'))",
        ),
        ("ModelCheckpoint('{a}{' + other + 'acc!s}.h5')", "ModelCheckpoint('{a}{' + other + 'accuracy!s}.h5')"),
    ],
)
def test_a_field_put_together_in_a_file_name_is_the_one_of_today(lines: str, after: str) -> None:
    written, actions = migrated("from os.path import join\nfrom keras.callbacks import ModelCheckpoint\n" + lines)
    assert written.endswith(after)
    assert set(actions) == {"rewrite"}


@pytest.mark.parametrize(
    ("lines", "after"),
    [
        ("ModelCheckpoint('{val_acc:.2f}' + other + '.h5')", "ModelCheckpoint('{val_accuracy:.2f}' + other + '.h5')"),
        (
            "part = '-{val_acc}'\nModelCheckpoint(join(x, other + part + '.h5'))",
            "part = '-{val_accuracy}'\nModelCheckpoint(join(x, other + part + '.h5'))",
        ),
        ("Own(parallel, 'a-{val_acc}' + other + '.h5')", "Own(model, 'a-{val_accuracy}' + other + '.h5')"),
    ],
)
def test_a_field_in_any_part_of_a_file_name_is_the_one_of_today(lines: str, after: str) -> None:
    own = "class Own(ModelCheckpoint):\n    def __init__(self, single, path):\n"
    own += "        super().__init__(path)\n        self.single = single\n\n"
    head = f"from os.path import join\nfrom keras.callbacks import ModelCheckpoint\n{own}"
    written, actions = migrated(head + lines)
    assert written.endswith(after)
    assert set(actions) == {"rewrite"}


@pytest.mark.parametrize(
    ("lines", "after"),
    [
        ("ModelCheckpoint('{acc}' '-{val_acc}.h5')", "ModelCheckpoint('{accuracy}' '-{val_accuracy}.h5')"),
        (
            "name = ('{acc:.2f}'\n    '.h5')\nModelCheckpoint(name)",
            "'{accuracy:.2f}'\n    '.h5')\nModelCheckpoint(name)",
        ),
        ("ModelCheckpoint(f'{x}-{{val_acc:.2f}}.h5')", "ModelCheckpoint(f'{x}-{{val_accuracy:.2f}}.h5')"),
        ("ModelCheckpoint(f'{acc:.2f}-{{acc}}.h5')", "ModelCheckpoint(f'{acc:.2f}-{{accuracy}}.h5')"),
        ("ModelCheckpoint(f'{acc:.2f}-{{acc}}.hdf5')", "ModelCheckpoint(f'{acc:.2f}-{{accuracy}}.h5')"),
        ("ModelCheckpoint(x + f'-{{acc}}' '.h5')", "ModelCheckpoint(x + f'-{{accuracy}}' '.h5')"),
        ("ModelCheckpoint('{}-{{acc}}.h5'.format(x))", "ModelCheckpoint('{}-{{accuracy}}.h5'.format(x))"),
        ("ModelCheckpoint('{acc}-{{acc}}.h5'.format(acc=x))", "ModelCheckpoint('{acc}-{{accuracy}}.h5'.format(acc=x))"),
        (
            "name = '{}-{{acc:.1f}}.h5'\nModelCheckpoint(name.format(x))",
            "name = '{}-{{accuracy:.1f}}.h5'\nModelCheckpoint(name.format(x))",
        ),
    ],
)
def test_a_field_that_another_filling_leaves_open_is_the_one_of_today(lines: str, after: str) -> None:
    written, actions = migrated("from keras.callbacks import ModelCheckpoint\nx = acc = 1\n" + lines)
    assert written.endswith(after)
    assert set(actions) == {"rewrite"}


@pytest.mark.parametrize(
    "lines", ["print(f'{acc:.2f}')", "print('{acc}'.format(acc=x))", "ModelCheckpoint(f'{acc}.h5')"]
)
def test_a_value_of_the_programs_own_keeps_its_name(lines: str) -> None:
    written, actions = migrated("from keras.callbacks import ModelCheckpoint\nx = acc = 1\n" + lines)
    assert written.endswith(lines)
    assert actions == []


def test_a_text_that_the_program_fills_in_itself_too_is_reported() -> None:
    lines = "part = '-{val_acc}'\nModelCheckpoint(part + '.h5')\nprint(part.format(val_acc=1))"
    written, actions = migrated(f"from keras.callbacks import ModelCheckpoint\n{lines}")
    assert written.endswith(lines)
    assert actions == ["warn"]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("ModelCheckpoint('a-{lr:.5f}.h5')", True),
        ("ModelCheckpoint(other + '-{epoch}-{lr}' + other + '.h5')", True),
        ("ModelCheckpoint(other + '%s-{epoch}-{lr:.4f}.h5' % other)", True),
        ("ModelCheckpoint(f'{other}-{{lr}}.h5')", True),
        ("ModelCheckpoint('{}-{{lr}}.h5'.format(other))", True),
        ("ModelCheckpoint('{lr}-{{epoch}}.h5'.format(lr=1))", False),
        ("ModelCheckpoint('%s-{epoch}.h5' % '{lr}')", False),
        ("ModelCheckpoint('lr/{epoch}{lrs}.h5')", False),
        ("print('{lr}.h5'.format(lr=1))\nModelCheckpoint('a.h5')", False),
        ("def log(logs):\n    logs['lr'] = 1\n\nModelCheckpoint('a-{lr}.h5')", False),
    ],
)
def test_the_rate_in_a_file_name_is_reported(lines: str, told: bool) -> None:
    written, actions = migrated("from keras.callbacks import ModelCheckpoint\n" + lines)
    assert written.endswith(lines)
    assert actions == (["warn"] if told else [])


@pytest.mark.parametrize(
    "lines",
    [
        "ModelCheckpoint('{epoch}' + other + '_acc:1.h5')",
        "ModelCheckpoint('{val_' + other + 'loss:.2f}acc.h5')",
        "ModelCheckpoint('{val_' + other + 'vacc:.2f}.h5')",
    ],
)
def test_what_is_no_field_of_that_name_stays(lines: str) -> None:
    written, actions = migrated("from keras.callbacks import ModelCheckpoint\n" + lines)
    assert written.endswith(lines)
    assert not actions


@pytest.mark.parametrize("lines", ["EarlyStopping(monitor='val_' + name)", "EarlyStopping(monitor='val_%s' % name)"])
def test_a_name_out_of_sight_is_reported(lines: str) -> None:
    assert migrated(lines) == (lines, ["warn"])


@pytest.mark.parametrize(
    "lines",
    [
        "EarlyStopping(monitor='val_' + 'loss')",
        "EarlyStopping(monitor=other + 'loss')",
        "EarlyStopping(monitor=other + 'vacc')",
        "EarlyStopping(monitor=args.monitor)",
        "print('val_' + 'acc')",
    ],
)
def test_other_names_stay(lines: str) -> None:
    assert migrated(lines) == (lines, [])


def test_metrics_that_keep_their_names() -> None:
    lines = "EarlyStopping(monitor='val_' + 'acc')"
    assert migrated(lines, HEAD.replace('"accuracy"', '"acc"')) == (lines, [])
