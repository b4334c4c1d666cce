"""Names of checkpoint files are followed to where they are written out (TFM205)."""

from __future__ import annotations

import pytest

from tests.kit import migrate
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

HEAD = """\
import os
import sys
from keras.callbacks import ModelCheckpoint
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
"""


def migrated(body: str) -> tuple[str, list[str]]:
    """What stands behind the head, and what was done of TFM205."""
    file = migrate(HEAD + body)
    written = file.after.partition("model.compile('sgd', 'mse')\n")[2] or file.after.partition('"mse")\n')[2]
    return written, [finding.action for finding in file.findings if finding.code == "TFM205"]


@pytest.mark.parametrize(
    ("body", "written"),
    [
        ("def save(path):\n    model.save_weights(path)\n\n\nsave('a.h5')\nmodel.load_weights('a.h5')\n",
         "save('a.weights.h5')\nmodel.load_weights('a.weights.h5')\n"),
        ("def save(path='a.h5'):\n    model.save_weights(path)\n\n\nsave()\n", "def save(path='a.weights.h5'):"),
        ("name = 'a.h5' if sys.argv else 'b.h5'\nmodel.save_weights(name)\n",
         "name = 'a.weights.h5' if sys.argv else 'b.weights.h5'"),
        ("if sys.argv:\n    name = 'a.h5'\nelse:\n    name = 'b.h5'\nmodel.save_weights(name)\n",
         "    name = 'b.weights.h5'"),
        ("name = 'a.h5'\nfor part in sys.argv:\n    name = part + name\nmodel.save_weights(name)\n",
         "name = 'a.weights.h5'\n"),
        ("model.save_weights(f'{sys.argv}.h5')\n", "model.save_weights(f'{sys.argv}.weights.h5')"),
        ("end = 'a.h5'\nmodel.save_weights(f'{os.sep}{end}')\n", "end = 'a.weights.h5'"),
        ("call = ModelCheckpoint(f'{sys.argv}-{{epoch:02d}}.hdf5', save_weights_only=True)\n",
         "ModelCheckpoint(f'{sys.argv}-{{epoch:02d}}.weights.h5', save_weights_only=True)"),
        ("name = 'a.h5'\nmodel.save_weights('%s/%s' % (sys.argv[1], name))\n", "name = 'a.weights.h5'"),
        ("name = 'a.h5'\nmodel.save_weights('out/%s' % name)\n", "name = 'a.weights.h5'"),
        ("model.save_weights('{}/{}'.format(sys.argv[1], 'a.h5'))\n", "format(sys.argv[1], 'a.weights.h5')"),
        ("model.save_weights('{:>4}/{}'.format('b.h5', 'a.h5'))\n", "format('b.h5', 'a.weights.h5')"),
        ("model.save_weights('{1}/{0}'.format('a.h5', 'b.h5'))\n", "format('a.weights.h5', 'b.h5')"),
        ("model.save_weights('{to}/{name}'.format(name='a.h5', to=os.sep))\n", "(name='a.weights.h5', to=os.sep)"),
        ("from os.path import join\nmodel.save_weights(join('out', sys.argv[1] + '.h5'))\n",
         "join('out', sys.argv[1] + '.weights.h5')"),
        ("model.save_weights(str(os.sep + 'a.h5'))\n", "str(os.sep + 'a.weights.h5')"),
        ("model.save_weights(overwrite=True, filepath='a.h5')\n", "overwrite=True, filepath='a.weights.h5')"),
        ("class Net:\n    def __init__(self, path):\n        self.path = path\n\n    def save(self):\n"
         "        model.save_weights(os.path.join('out', self.path))\n\n\nNet('a.h5').save()\n",
         "Net('a.weights.h5').save()"),
        ("def save(path):\n    call = lambda: model.save_weights(path)\n    call()\n\n\nsave('a.h5')\n",
         "save('a.weights.h5')"),
    ],
)  # fmt: skip
def test_a_name_is_changed_where_it_is_written_out(body: str, written: str) -> None:
    text, actions = migrated(body)
    assert written in text
    assert set(actions) == {"rewrite"}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("model.save_weights('a.h5')\nmodel.load_weights('a.h5')\n", True),
        ("name = 'a.h5'\nif os.path.exists(name):\n    model.load_weights(name)\nmodel.save_weights(name)\n", True),
        ("model.save_weights('a.h5')\nif os.path.exists('a.h5'):\n    print('done')\n", False),
        ("model.save_weights('a.h5')\nmodel.load_weights('b.h5')\n", False),
    ],
)
def test_files_of_earlier_runs_are_mentioned_where_they_may_be_read(body: str, told: bool) -> None:
    findings = [finding for finding in migrate(HEAD + body).findings if finding.code == "TFM205"]
    assert {"earlier run" in finding.message for finding in findings} == {told}


@pytest.mark.parametrize(
    "body",
    [
        "model.save_weights(sys.argv[1])\n",
        "def save(path):\n    model.save_weights(path)\n",
        "def save(path):\n    model.save_weights(path)\n\n\nsave(sys.argv[1])\n",
        "name = 'a.weights.h5' if sys.argv else 'weights'\nmodel.save_weights(name)\n",
        "model.save_weights(f'a.h5{sys.argv:>3}')\n",
    ],
)
def test_a_name_that_is_unknown_is_reported(body: str) -> None:
    assert migrated(body)[1] == ["warn"]


@pytest.mark.parametrize(
    "body",
    [
        "def load(path):\n    model.load_weights(path)\n\n\nload('a.h5')\n",
        "def save(path):\n    model.save_weights(path)\n\n\nsave('a.weights.h5')\n",
        "def save(path):\n    open(path, 'w')\n\n\nsave('a.h5')\n",
    ],
)
def test_other_names_stay(body: str) -> None:
    text, actions = migrated(body)
    assert actions == []
    assert ".weights.h5" not in text.replace("'a.weights.h5'", "") or "a.weights.h5" in body


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("'%s/%s' % (sys.argv[1], sys.argv[2])", "make sure"),
        ("'{}/{}'.format(*sys.argv)", "this path ends in '{}/{}'"),
        ("'{}/{}'.format('a.h5', *sys.argv)", "this path ends in '{}/{}'"),
        ("'{}/{}'.format(*sys.argv, 'a', 'a.h5')", "this path ends in '{}/{}'"),
        ("'{}/{}'.format(sys.argv[1], sys.argv[2])", "make sure"),
        ("'{}/{:03d}'.format(sys.argv[1], 3)", "this path ends in '{}/{:03d}'"),
        ("'{}/{!r}'.format(sys.argv[1], 'a.h5')", "this path ends in '{}/{!r}'"),
        ("'{}/{}'.format('a.h5')", "this path ends in '{}/{}'"),
        ("'{/{}'.format('a.h5')", "this path ends in '{/{}'"),
        ("'%s/%d' % (sys.argv[1], 3)", "this path ends in '%s/%d'"),
    ],
)
def test_an_end_that_is_filled_in_is_told_as_far_as_it_is_known(path: str, told: str) -> None:
    (finding,) = (one for one in migrate(f"{HEAD}model.save_weights({path})\n").findings if one.code == "TFM205")
    assert finding.action == "warn"
    assert told in finding.message


def test_a_name_that_another_module_passes() -> None:
    net = HEAD.partition("\n\n")[0] + "\n\n\ndef fit(path):\n"
    net += "".join(f"    {line}\n" for line in HEAD.splitlines()[7:]) + "    model.save_weights(path)\n"
    files = migrate_sources({"net.py": net, "main.py": "from net import fit\n\nfit('a.h5')\n"}, Settings())
    assert {file.path: "a.weights.h5" in file.after for file in files} == {"net.py": False, "main.py": True}
    assert [f.action for file in files for f in file.findings if f.code == "TFM205"] == ["rewrite"]


KEEPER = """\
class Keeper(Callback):
    def __init__(self, path, weights_only=False):
        super().__init__()
        self.path = path
        self.weights_only = weights_only

    def on_epoch_end(self, epoch, logs=None):
        path = self.path.format(epoch)
        if self.weights_only:
            model.save_weights(path)
        else:
            model.save(path)


"""
SAVE = """\
def save(path, *, whole=True):
    if not whole:
        model.save_weights(path)
    else:
        model.save(path)


"""


@pytest.mark.parametrize(
    ("head", "call", "written"),
    [
        (KEEPER, "Keeper('{}.hdf5')", "Keeper('{}.hdf5')"),
        (KEEPER, "Keeper('{}.hdf5', False)", "Keeper('{}.hdf5', False)"),
        (KEEPER, "Keeper('{}.hdf5', weights_only=0)", "Keeper('{}.hdf5', weights_only=0)"),
        (KEEPER, "Keeper('{}.hdf5', True)", "Keeper('{}.weights.h5', True)"),
        (KEEPER, "Keeper('{}.hdf5', weights_only=chosen)", "Keeper('{}.weights.h5', weights_only=chosen)"),
        (KEEPER.replace("self.weights_only = ", "self.weights_only = chosen\n        self.weights_only = "),
         "Keeper('{}.hdf5')", "Keeper('{}.weights.h5')"),
        (KEEPER.replace("=False", ""), "Keeper('{}.hdf5', **chosen)", "Keeper('{}.hdf5', **chosen)"),
        (SAVE, "save('a.hdf5')", "save('a.hdf5')"),
        (SAVE, "save('a.hdf5', whole=False)", "save('a.weights.h5', whole=False)"),
    ],
)  # fmt: skip
def test_a_name_that_a_switch_keeps_from_the_weights_stays(head: str, call: str, written: str) -> None:
    file = migrate(f"{HEAD}from keras.callbacks import Callback\n\n\n{head}x = {call}\n")
    assert f"x = {written}\n" in file.after


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("model.save_weights('net.h5')\nmodel.load_weights('/data/runs/net.h5')\n", True),
        ("model.save_weights('%s/net.h5' % sys.argv[1])\nprint(os.path.exists(os.path.join('x', 'net.h5')))\n", True),
        ("model.save_weights('out/net-{}.h5'.format(sys.argv))\nbest = os.path.join('x', 'net-%d.h5' % 3)\n", True),
        ("model.save_weights('net.h5')\nmodel.load_weights('/data/runs/other-net.h5')\n", False),
        ("model.save_weights('runs/1.h5')\nmodel.load_weights('data/1.h5')\n", False),
        ("model.save_weights('net.weights.h5')\nmodel.load_weights('/data/net.h5')\n", False),
    ],
)
def test_a_file_of_the_same_name_elsewhere_is_told(body: str, told: bool) -> None:
    found = [finding for finding in migrate(HEAD + body).findings if "if that file is meant" in finding.message]
    assert bool(found) is told


JOINED = "model.save_weights(os.path.join(sys.argv[1], 'best') + '.h5')\n"


@pytest.mark.parametrize(
    ("saved", "loaded", "written"),
    [
        (JOINED, "os.path.join(sys.argv[1], 'best.h5')", "os.path.join(sys.argv[1], 'best.weights.h5')"),
        (JOINED, "sys.argv[1] + '/best.h5'", "sys.argv[1] + '/best.weights.h5'"),
        (JOINED, "f'{sys.argv[1]}/best.h5'", "f'{sys.argv[1]}/best.weights.h5'"),
        (JOINED, "'%s/best.h5' % sys.argv[1]", "'%s/best.weights.h5' % sys.argv[1]"),
        (JOINED, "'{}/best.h5'.format(sys.argv[1])", "'{}/best.weights.h5'.format(sys.argv[1])"),
        ("model.save_weights(sys.argv[1] + '/best.h5')\n", "os.path.join(sys.argv[1], 'best') + '.h5'",
         "os.path.join(sys.argv[1], 'best') + '.weights.h5'"),
        ("model.save_weights('/'.join(['a', 'b']) + '/best' + '.h5')\n", "sys.argv[1] + '/best.h5'",
         "sys.argv[1] + '/best.weights.h5'"),
        ("name = 'best'\nmodel.save_weights(name + '.h5')\n", "'best.h5'", "'best.weights.h5'"),
    ],
)  # fmt: skip
def test_a_name_in_other_pieces_is_the_same_file(saved: str, loaded: str, written: str) -> None:
    after, actions = migrated(f"{saved}model.load_weights({loaded})\nos.path.exists({loaded})\n")
    assert f"load_weights({written})" in after
    assert f"exists({written})" in after
    assert set(actions) == {"rewrite"}


@pytest.mark.parametrize(
    "loaded",
    [
        "os.path.join(sys.argv[1], 'vgg16') + '.h5'",
        "f'{sys.argv[1]}/other.h5'",
        "os.path.join(sys.argv[1], 'first', 'worst.h5')",
        "'%s/%s.h5' % (sys.argv[1], 'vgg16')",
    ],
)
def test_another_file_that_ends_alike_stays(loaded: str) -> None:
    after, actions = migrated(f"{JOINED}model.load_weights({loaded})\n")
    assert f"load_weights({loaded})" in after
    assert actions == ["rewrite"]


@pytest.mark.parametrize("loaded", ["'runs/best.h5'", "os.path.join('runs', 'best.h5')"])
def test_a_name_in_a_folder_of_its_own_is_told(loaded: str) -> None:
    after, actions = migrated(f"{JOINED}model.load_weights({loaded})\n")
    assert f"load_weights({loaded})" in after
    assert actions == ["rewrite", "warn"]


@pytest.mark.parametrize(
    "name", ["name + '.h5'", "os.path.join(sys.argv[1], name) + '.h5'", "f'{sys.argv[2]}' + '.h5'"]
)
def test_a_name_that_may_be_the_file_changes_with_it(name: str) -> None:
    body = f"def load(name):\n    model.load_weights({name})\n\n\n{JOINED}"
    assert f"load_weights({name})".replace(".h5", ".weights.h5") in migrated(body)[0]
