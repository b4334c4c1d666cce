"""`cpu_relocation=True`, which trained a clone of the template, from new weights on."""

from __future__ import annotations

import pytest

from tests.kit import migrate
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

HEAD = """\
from keras.applications import VGG16
from keras.layers import Dense
from keras.models import Model, Sequential, clone_model, load_model, model_from_json
from keras.utils import multi_gpu_model

"""
NET = "net = Sequential([Dense(2, input_shape=(4,))])\n"
WRAP = 'parallel = multi_gpu_model(net, gpus=2, cpu_relocation=True)\nparallel.compile("sgd", "mse")\n'


def told(code: str) -> str:
    (message,) = (finding.message for finding in migrate(HEAD + code).findings if finding.code == "TFM021")
    return message


@pytest.mark.parametrize(
    ("code", "first"),
    [
        (f"{NET}net.load_weights('net.h5')\n{WRAP}parallel.fit(x, y)", "load_weights() at line 7"),
        (f"{NET}net.set_weights(kept)\n{WRAP}parallel.fit(x, y)", "set_weights() at line 7"),
        (f"{NET}{WRAP}net.load_weights('net.h5')\nparallel.fit(x, y)", "load_weights() at line 9"),
        (f"{NET}net.compile('sgd', 'mse')\nnet.fit(x, y)\n{WRAP}parallel.fit(x, y)", "fit() at line 8"),
        (f"net = load_model('net.h5')\n{WRAP}parallel.fit(x, y)", "load_model() at line 6"),
        (f"net = VGG16()\n{WRAP}parallel.fit(x, y)", "VGG16() at line 6"),
        (
            f"base = VGG16(include_top=False)\nnet = Sequential([base, Dense(2)])\n{WRAP}parallel.fit(x, y)",
            "VGG16() at",
        ),
    ],
)
def test_where_the_template_had_weights_it_is_said(code: str, first: str) -> None:
    assert f"the clone started with new weights, and training now starts from those of {first}" in told(code)


@pytest.mark.parametrize(
    "code",
    [
        f"{NET}{WRAP}parallel.fit(x, y)\nnet.load_weights('best.h5')\nnet.evaluate(x, y)",
        f"{NET}{WRAP}parallel.fit(x, y)\nparallel.fit(x, y)",
        f"net = VGG16(weights=None)\n{WRAP}parallel.fit(x, y)",
        f"net = model_from_json(text)\n{WRAP}parallel.fit(x, y)",
        f"base = load_model('net.h5')\nnet = clone_model(base)\n{WRAP}parallel.fit(x, y)",
        f"{NET}other = load_model('other.h5')\nother.fit(x, y)\n{WRAP}parallel.fit(x, y)",
    ],
)
def test_else_the_weights_of_both_were_new(code: str) -> None:
    assert "new weights" not in told(code)


def test_of_a_template_that_is_not_seen_it_is_said_with_an_if() -> None:
    code = f"from zoo import build\n\nnet = build()\n{WRAP}"
    assert "if the template had been given others, training now starts from them" in told(code)


def test_nothing_is_said_where_the_template_itself_was_trained() -> None:
    file = migrate(f"{HEAD}{NET}net.load_weights('net.h5')\n{WRAP.replace(', cpu_relocation=True', '')}")
    assert "TFM021" not in {finding.code for finding in file.findings}


def test_a_template_that_another_module_loads_through_a_table() -> None:
    body = "from keras.models import load_model\n\n\ndef body(path, size=1):\n    return load_model(path)\n"
    table = (
        "from functools import partial\n\nfrom body import body\n\nTABLE = {'a': [partial(body, size=1)], "
        "'b': [partial(body, size=2)]}\n\n\ndef get(kind):\n    return TABLE[kind][0]('net.h5')\n"
    )
    train = f"{HEAD}from table import get\n\nnet = get(kind)\n{WRAP}parallel.fit(x, y)\n"
    files = migrate_sources({"body.py": body, "table.py": table, "train.py": train}, Settings())
    assert [file.error for file in files if file.error] == []
    (message,) = (found.message for file in files for found in file.findings if found.code == "TFM021")
    assert "now starts from those of load_model() at line " in message
