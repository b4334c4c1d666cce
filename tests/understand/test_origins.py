"""What bears the name multi_gpu_model and cannot be Keras's is left alone, without a word."""

from __future__ import annotations

import pytest

from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

WITHOUT_KERAS = {
    "a function": "def multi_gpu_model(x, gpus):\n    return x * gpus\n\n\nprint(multi_gpu_model(3, 4))\n",
    "a function given what may be a model": "def multi_gpu_model(net):\n    return net\n\n\nmulti_gpu_model(load())\n",
    "an import": "import torch\nfrom parallel import multi_gpu_model\n\nmulti_gpu_model(torch.nn.Linear(1, 1), 2)\n",
    "an import by another name": "from parallel import multi_gpu_model as spread\n\nspread(net, 2)\n",
    "a star import": "from parallel import *\n\nmulti_gpu_model(net, 2)\n",
    "a name that nothing binds": "multi_gpu_model(net, 2)\n",
    "an attribute looked up": 'import parallel\n\ngetattr(parallel, "multi_gpu_model")(net, 2)\n',
    "prose about Keras": '"""Like Keras."""\n\n\ndef multi_gpu_model(m):  # keras\n    ...\n\n\nmulti_gpu_model(net)\n',
}
BESIDE_KERAS = {
    "a module": "import multi_gpu_model\n\nmulti_gpu_model.run(model)\n",
    "a function given a number": "def multi_gpu_model(x, gpus):\n    return x\n\n\nprint(multi_gpu_model(3, 4))\n",
    "a function in a function": "def f():\n    def multi_gpu_model(g):\n        ...\n    return multi_gpu_model(f)\n",
    "a parameter": "def run(model, multi_gpu_model):\n    return multi_gpu_model(model, 2)\n",
    "a parameter that is a flag": "def run(*, multi_gpu_model=False):\n    return multi_gpu_model and 2\n",
    "a lambda's parameter": "apply = lambda multi_gpu_model: multi_gpu_model(model)\n",
    "a variable": "multi_gpu_model = False\nif multi_gpu_model:\n    print(multi_gpu_model)\n",
    "targets": "for multi_gpu_model in (1, 2):\n    print([multi_gpu_model for multi_gpu_model in (abs, int)])\n",
    "a context": 'with open("x") as multi_gpu_model:\n    multi_gpu_model.read()\n',
    "an exception": "try:\n    run()\nexcept OSError as multi_gpu_model:\n    print(multi_gpu_model)\n",
    "a walrus": "if (multi_gpu_model := run()) and multi_gpu_model.ready:\n    multi_gpu_model.go()\n",
    "captures": (
        "def f(x):\n    match x:\n        case {'a': multi_gpu_model}:\n            return multi_gpu_model(model)\n"
        "        case [_, *multi_gpu_model]:\n            return multi_gpu_model\n"
        "        case {'b': 1, **multi_gpu_model}:\n            return multi_gpu_model\n"
        "        case int() as multi_gpu_model:\n            return multi_gpu_model\n"
        "        case multi_gpu_model:\n            return multi_gpu_model\n"
    ),
    "a class": "class multi_gpu_model:\n    def __init__(self, m):\n        self.m = m\n\n\nmulti_gpu_model(model)\n",
    "a method": (
        "class A:\n    def multi_gpu_model(self, m):\n        return m\n\n    spread = multi_gpu_model\n\n"
        "    def go(self):\n        return self.multi_gpu_model(model)\n\n\nA().multi_gpu_model(model)\n"
    ),
    "a field": "class A:\n    multi_gpu_model: bool = False\n\n\nprint(A(multi_gpu_model=True).multi_gpu_model)\n",
    "a class variable": "class A:\n    multi_gpu_model = 2\n    both = multi_gpu_model + 1\n",
    "a setting": (
        "import argparse\n\nargs = argparse.ArgumentParser().parse_args()\n"
        'if args.multi_gpu_model or getattr(args, "multi_gpu_model", False):\n    print("several")\n'
    ),
    "an attribute of what is handed in": (
        'def f(options):\n    return options.multi_gpu_model, getattr(options, "multi_gpu_model", None)\n'
    ),
    "a function called like a copy": "def make_parallel(m, n):\n    return m\n\n\nmake_parallel(model, 2)\n",
    "what is called like a copy and given no model": "from jobs import make_parallel\n\nmake_parallel([1, 2], 4)\n",
    "a function of another library": "from torch import nn\n\nnn.multi_gpu_model(3, 2)\n",
    "keys, strings and comments": 'flags = {"multi_gpu_model": 1}\nflags["multi_gpu_model"]  # multi_gpu_model\n',
    "a global": (
        "multi_gpu_model = None\n\n\ndef begin(f):\n    global multi_gpu_model\n    multi_gpu_model = f\n\n\n"
        "def use():\n    return multi_gpu_model(model)\n"
    ),
}
KERAS = "from tensorflow.keras.layers import Dense\nfrom tensorflow.keras.models import Sequential\n\n"
MODEL = 'model = Sequential([Dense(1, input_shape=(4,))])\nmodel.compile("sgd", "mse")\n'


@pytest.mark.parametrize("what", WITHOUT_KERAS)
def test_in_a_program_that_mentions_no_keras(what: str) -> None:
    (file,) = migrate_sources({"a.py": WITHOUT_KERAS[what]}, Settings())
    assert (file.status, file.findings) == ("unchanged", ())


@pytest.mark.parametrize("what", BESIDE_KERAS)
def test_in_a_file_that_uses_keras(what: str) -> None:
    (file,) = migrate_sources({"a.py": KERAS + MODEL + BESIDE_KERAS[what]}, Settings())
    assert (file.status, file.findings) == ("unchanged", ())


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("TFM108", "from parallel import multi_gpu_model\n\nmulti_gpu_model(model, 2)\n"),
        ("TFM108", "import keras\n\nkeras.util.multi_gpu_model(model, 2)\n"),
        ("TFM108", "def multi_gpu_model(m, gpus):\n    return m\n\n\nmulti_gpu_model(model, 2)\n"),
        ("TFM108", "from lab.models import make_parallel\n\nmake_parallel(model, 2)\n"),
        ("TFM108", "import lab\n\nlab.to_multi_gpu(model)\n"),
        ("TFM101", 'from tensorflow import keras\n\nspread = getattr(keras.utils, "multi_gpu_model")\n'),
        (
            "TFM101",
            "from tensorflow.keras import utils\n\n\ndef make(home, name, *given):\n"
            "    return getattr(home, name)(*given)\n"
            '\n\nmake(utils, "multi_gpu_model", model, 2)\n',
        ),
        ("TFM101", 'from tensorflow.keras import utils\n\nvars(utils)["multi_gpu_model"](model, 2)\n'),
        ("TFM101", 'from tensorflow.keras import utils\n\nutils.__dict__["multi_gpu_model"](model, 2)\n'),
        (
            "TFM101",
            "import operator\n\nfrom tensorflow.keras import utils\n\n"
            'operator.attrgetter("multi_gpu_model")(utils)(model, 2)\n',
        ),
        ("TFM109", 'def f(lib, m):\n    return getattr(lib.utils, "multi_gpu_model")(m, 2)\n'),
        ("TFM109", "def f(lib, m):\n    return lib.utils.multi_gpu_model(m, 2)\n"),
    ],
)
def test_what_may_be_keras_is_still_refused(code: str, text: str) -> None:
    (file,) = migrate_sources({"a.py": KERAS + MODEL + text}, Settings())
    assert [(f.code, f.action) for f in file.findings] == [(code, "refuse")]


def test_a_function_of_that_name_that_calls_keras_is_followed() -> None:
    text = (
        "from tensorflow.keras import utils\n\n\n"
        "def multi_gpu_model(m, gpus):\n    return utils.multi_gpu_model(m, gpus)\n"
        '\n\nparallel = multi_gpu_model(model, 2)\nparallel.compile("sgd", "mse")\n'
    )
    (file,) = migrate_sources({"a.py": KERAS + MODEL.splitlines(True)[0] + text}, Settings())
    assert file.status == "migrated"
    assert "utils.multi_gpu_model" not in file.after
    assert "strategy.scope()" in file.after


def test_keras_in_another_file_of_the_program_counts() -> None:
    sources = {
        "a.py": "from b import *\nfrom c import *\n\nmulti_gpu_model(build(), 2)\n",
        "b.py": KERAS + "def build(): ...\n",
    }
    first, _ = migrate_sources(sources, Settings())
    assert first.status == "refused"
