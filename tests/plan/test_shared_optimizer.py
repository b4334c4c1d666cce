"""One optimizer object for two models is told; one for each, or for one model twice, is not."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated
from tfmigrate.migrate import migrate_bytes
from tfmigrate.settings import Settings

START = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import SGD
from keras.utils import multi_gpu_model


def build(width):
    return multi_gpu_model(Sequential([Dense(width, input_shape=(4,))]), gpus=2)


"""
LINES = START.count("\n")


TRAINED = """\
{imports}


opt = {optimizer}
model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
{body}
"""
TWICE = "parallel.compile(opt, 'mse')\nparallel.fit(x, y)\nparallel.compile(opt, 'mae')\nparallel.fit(x, y)"
LOOP = "for fold in folds:\n    parallel.compile(opt, 'mse')\n    parallel.fit(x, y)"
STANDALONE = START.partition("\n\n")[0].replace("import SGD", "import SGD, Adam, Adagrad")


def remade(optimizer: str, body: str, imports: str = STANDALONE) -> list[str]:
    file = check_migrated(TRAINED.format(imports=imports, optimizer=optimizer, body=body))
    return [line.strip() for line in file.after.splitlines() if ".compile(" in line]


@pytest.mark.parametrize("optimizer", ["SGD(0.1, momentum=0.9)", "SGD(0.1, 0.9)", "Adagrad(0.1)"])
def test_a_model_that_is_compiled_again_after_training_begins_its_momentum_anew(optimizer: str) -> None:
    own = "model.compile(type(opt).from_config(opt.get_config()), 'mae')"
    assert remade(optimizer, TWICE) == ["model.compile(opt, 'mse')", own]
    assert remade(optimizer, LOOP) == [own.replace("mae", "mse")]


def test_adam_keeps_its_count_of_steps() -> None:
    assert remade("Adam(0.1)", TWICE) == ["model.compile(opt, 'mse')", "model.compile(twin_optimizer(opt), 'mae')"]
    assert remade("Adam(0.1)", LOOP) == ["model.compile(twin_optimizer(opt), 'mse')"]


@pytest.mark.parametrize(
    ("optimizer", "body"),
    [
        ("SGD(0.1)", TWICE),
        ("SGD(0.1, momentum=0)", TWICE),
        ("SGD(0.1, 0.0)", LOOP),
        ("Adam(0.1)", "parallel.compile(opt, 'mse')\nparallel.compile(opt, 'mae')\nparallel.fit(x, y)"),
        ("Adam(0.1)", "parallel.compile(opt, 'mse')\nfor epoch in range(3):\n    parallel.fit(x, y)"),
        ("Adam(0.1)", "for loss in losses:\n    parallel.compile(opt, loss)\nparallel.fit(x, y)"),
        ("Adam(0.1)", "parallel.compile(opt, 'mse')\nparallel.predict(x)\nparallel.compile(opt, 'mae')"),
        ("None", TWICE.replace("(opt,", "(Adam(0.1),")),
        ("None", LOOP.replace("    parallel.compile", "    opt = Adam(0.1)\n    parallel.compile")),
        ("'adam'", TWICE),
    ],
)
def test_what_has_no_momentum_or_does_not_train_between_stays(optimizer: str, body: str) -> None:
    assert not [line for line in remade(optimizer, body) if "twin" in line or "from_config" in line]


@pytest.mark.parametrize("body", [TWICE, LOOP])
def test_tf_keras_went_on_with_its_momentum_as_well(body: str) -> None:
    imports = STANDALONE.replace("from keras", "from tensorflow.keras")
    assert not [line for line in remade("Adam(0.1)", body, imports) if "twin" in line]


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("opt = SGD(0.1)\na, b = build(1), build(2)\na.compile(opt, 'mse')\nb.compile(opt, 'mse')\n", [4]),
        ("def one(model, opt):\n    model.compile(opt, 'mse')\n\n"
         "opt = SGD(0.1)\none(build(1), opt)\none(build(2), opt)\none(build(3), opt)\n",
         [2]),
        ("a, b = build(1), build(2)\na.compile(SGD(0.1), 'mse')\nb.compile(SGD(0.1), 'mse')\n", []),
        ("one, other = SGD(0.1), SGD(0.1)\n"
         "a, b = build(1), build(2)\na.compile(one, 'mse')\nb.compile(other, 'mse')\n",
         []),
        ("opt = SGD(0.1)\na = build(1)\na.compile(opt, 'mse')\na.compile(opt, 'mae')\n", []),
        ("opt = SGD(0.1)\na = build(1)\na.layers[0].trainable = False\na.compile(opt, 'mse')\n"
         "for layer in a.layers:\n    layer.trainable = True\na.compile(opt, 'mse')\n", [7]),
        ("opt = SGD(0.1)\na = build(1)\na.compile(opt, 'mse')\n"
         "for layer in a.layers:\n    layer.trainable = False\na.compile(opt, 'mse')\n", []),
        ("opt = SGD(0.1)\na = build(1)\na.layers[0].trainable = False\na.compile(opt, 'mse')\n"
         "for layer in a.layers:\n    layer.trainable = True\na.compile(SGD(0.1), 'mse')\n", []),
        ("opt = SGD(0.1)\na, b = build(1), build(2)\na.compile(opt, 'mse')\n"
         "b.trainable = True\na.compile(opt, 'mse')\n", []),
        ("opt = SGD(0.1)\nif wide:\n    a = build(8)\n    a.compile(opt, 'mse')\nelse:\n    a = build(1)\n"
         "    a.compile(opt, 'mae')\n", []),
        ("for width in (1, 2):\n    a = build(width)\n    a.compile(SGD(0.1), 'mse')\n", []),
        ("opt = SGD(0.1)\nfor width in (1, 2):\n    a = build(width)\n    a.compile(opt, 'mse')\n", [4]),
        ("for width in (1, 2):\n    opt = SGD(0.1)\n    a = build(width)\n    a.compile(opt, 'mse')\n", []),
        ("opt = SGD(0.1)\nfor width in (1, 2):\n    a = Sequential([Dense(width, input_shape=(4,))])\n"
         "    a = multi_gpu_model(a, gpus=2)\n    a.compile(opt, 'mse')\n", [5]),
        ("opt = SGD(0.1)\na = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)\n"
         "for rate in (1, 2):\n    a.compile(opt, 'mse')\n", []),
        ("opt = SGD(0.1)\nfor model in [build(1), build(2)]:\n    model.compile(opt, 'mse')\n", [3]),
        ("opt = SGD(0.1)\nmodels = {'a': build(1), 'b': build(2)}\n"
         "for name, model in models.items():\n    model.compile(opt, 'mse')\n", [4]),
        ("opt = SGD(0.1)\nmodels = [build(width) for width in (1, 2)]\n"
         "for place in range(2):\n    models[place].compile(optimizer=opt, loss='mse')\n", [4]),
        ("for model in [build(1), build(2)]:\n    opt = SGD(0.1)\n    model.compile(opt, 'mse')\n", []),
        ("for model in [build(1), build(2)]:\n    model.compile(SGD(0.1), 'mse')\n", []),
        ("opt, model = SGD(0.1), build(1)\nfor place in range(2):\n    model.compile(opt, 'mse')\n", []),
    ],
)  # fmt: skip
def test_told_at_the_second_compile(body: str, lines: list[int]) -> None:
    file = migrate_bytes((START + body).encode(), "train.py", Settings())
    assert file.error is None
    told = [finding.line - LINES for finding in file.findings if finding.code == "TFM405"]
    assert told == lines


COPY = "type(opt).from_config(opt.get_config())"


@pytest.mark.parametrize(
    ("optimizer", "counts"),
    [("SGD(0.1)", False), ("SGD(0.1, decay=1e-4)", True), ("Adam(0.1)", True), ("RMSprop(0.1)", False)],
)
def test_each_further_model_gets_one_of_its_own(optimizer: str, counts: bool) -> None:
    start = START.replace("import SGD", "import SGD, Adam, RMSprop")
    body = (
        f"opt = {optimizer}\na, b = build(1), build(2)\na.compile(opt, 'mse')\nb.compile(loss='mse', optimizer=opt)\n"
    )
    file = migrate_bytes((start + body).encode(), "train.py", Settings())
    assert "    a.compile(opt, 'mse')\n" in file.after
    copy = "twin_optimizer(opt)" if counts else COPY
    assert f"    b.compile(loss='mse', optimizer={copy})\n" in file.after
    assert ("def twin_optimizer(optimizer):\n" in file.after) is counts
    (found,) = (finding for finding in file.findings if finding.code == "TFM405")
    assert found.action == "rewrite"
    assert ("share one step count" in found.message) is counts


def test_one_of_several_kinds_may_read_the_count() -> None:
    start = START.replace("import SGD", "import SGD, Adam")
    body = (
        "opt = {'sgd': SGD(0.1), 'adam': Adam(0.1)}[kind]\na, b = build(1), build(2)\n"
        "a.compile(opt, 'mse')\nb.compile(opt, 'mse')\n"
    )
    after = migrate_bytes((start + body).encode(), "train.py", Settings()).after
    assert "    b.compile(twin_optimizer(opt), 'mse')\n" in after
    assert migrate_bytes(after.encode(), "train.py", Settings()).after == after


def test_one_of_an_attribute_and_one_in_a_loop_get_their_own() -> None:
    body = "for width in (1, 2):\n    build(width).compile(settings.opt, 'mse')\n"
    start = START.replace("def build", "class settings:\n    opt = SGD(0.1)\n\n\ndef build")
    after = migrate_bytes((start + body).encode(), "train.py", Settings()).after
    assert "compile(type(settings.opt).from_config(settings.opt.get_config()), 'mse')" in after


@pytest.mark.parametrize(
    ("body", "made"),
    [
        (
            "def run(width):\n    net = build(width)\n    net.compile(opt, 'mse')\n\n\n"
            "for width in (1, 2):\n    run(width)\n",
            1,
        ),
        (
            "for width in (1, 2):\n    net = build(width)\n    if width > 1:\n        net.compile(opt, 'mse')\n"
            "    else:\n        net.compile(opt, 'mae')\n",
            2,
        ),
        ("net = build(1)\nnet.compile(opt, 'mse')\nfor epoch in range(3):\n    print(net)\n", 0),
        (
            "def run(width):\n    own = SGD(0.1)\n    net = build(width)\n    net.compile(own, 'mse')\n\n\n"
            "for width in (1, 2):\n    run(width)\n",
            0,
        ),
        ("def run(net):\n    net.compile(opt, 'mse')\n\n\nnet = build(1)\nfor again in (1, 2):\n    run(net)\n", 0),
    ],
)
def test_models_that_a_loop_makes_anew_get_their_own(body: str, made: int) -> None:
    start = START.replace("def build", "opt = SGD(0.1)\n\n\ndef build")
    after = migrate_bytes((start + body).encode(), "train.py", Settings()).after
    assert after.count("compile(type(opt).from_config(opt.get_config()), ") == made


def test_what_is_no_name_is_reported_alone() -> None:
    body = "opts = [SGD(0.1)]\na, b = build(1), build(2)\na.compile(opts[0], 'mse')\nb.compile(opts[0], 'mse')\n"
    file = migrate_bytes((START + body).encode(), "train.py", Settings())
    (found,) = (finding for finding in file.findings if finding.code == "TFM405")
    assert found.action == "warn"
    assert "from_config" not in file.after


def test_a_suppressed_one_stays() -> None:
    body = "opt = SGD(0.1)\na, b = build(1), build(2)\na.compile(opt, 'mse')\n"
    body += "b.compile(opt, 'mse')  # tfmigrate: skip[TFM405]\n"
    assert "from_config" not in migrate_bytes((START + body).encode(), "train.py", Settings()).after


DEFAULT = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import SGD
from keras.utils import multi_gpu_model


def train(size, optimizer=SGD(0.1)):
    model = Sequential([Dense(size, input_shape=(4,))])
    parallel = multi_gpu_model(model, gpus=2)
    parallel.compile(optimizer, "mse")
    parallel.fit_generator(batches)


"""
ANEW = "type(optimizer).from_config(optimizer.get_config())"


@pytest.mark.parametrize(
    ("calls", "written"),
    [
        ("train(3)\n", ANEW),
        ("train(3)\ntrain(4)\n", ANEW),
        ("train(3)\ntrain(4, 'adam')\n", f"optimizer if isinstance(optimizer, str) else {ANEW}"),
        ("", f"optimizer if isinstance(optimizer, str) else {ANEW}"),
    ],
)
def test_the_default_of_a_parameter_is_made_again_in_the_scope(calls: str, written: str) -> None:
    after = check_migrated(DEFAULT + calls).after
    assert "def train(size, optimizer=SGD(0.1)):\n    " in after
    assert f'        model.compile({written}, "mse")\n' in after
    assert "    with strategy.scope():\n        model = Sequential(" in after
    assert after.endswith(calls)


def test_a_caller_that_makes_another_one_does_so_in_the_scope() -> None:
    after = check_migrated(f"{DEFAULT}train(3)\ntrain(4, SGD(0.5))\n").after
    assert "with strategy.scope():\n    train(3)\n    train(4, SGD(0.5))\n" in after
    assert f'model.compile({ANEW}, "mse")' in after


BUILT_TWICE = """
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import RMSprop
from keras.utils import multi_gpu_model


def build(units, optimizer=RMSprop(1e-3)):
    model = Sequential([Dense(units, input_shape=(4,))])
    model.compile(loss="mse", optimizer=optimizer)
    return model


class Net:
    def __init__(self):
        self.model = build(3)

    def train(self, x, y, again=False, gpus=2):
        if again:
            self.model = build(5)
        model = self.model
        if gpus > 1:
            model = multi_gpu_model(self.model, gpus=gpus)
            model.compile(loss="mse", optimizer="sgd")
        model.fit(x, y, batch_size=32)
"""


def test_a_default_is_one_object_for_all_calls_of_the_function() -> None:
    """Also of models that are no strategy's: today's Keras refuses to train the second with it as well."""
    file = check_migrated(BUILT_TWICE)
    assert 'compile(loss="mse", optimizer=type(optimizer).from_config(optimizer.get_config()))' in file.after


def test_a_string_is_made_an_optimizer_in_each_call() -> None:
    file = check_migrated(BUILT_TWICE.replace("optimizer=RMSprop(1e-3)", 'optimizer="adam"'))
    assert "from_config" not in file.after.partition("class Net")[0].rpartition("def build")[2]


def test_two_runs_of_a_function_may_take_different_arms() -> None:
    arms = """    if units > 3:
        model.compile(loss="mse", optimizer=optimizer)
    else:
        model.compile(loss="mae", optimizer=optimizer)
"""
    file = check_migrated(BUILT_TWICE.replace('    model.compile(loss="mse", optimizer=optimizer)\n', arms))
    assert file.after.count("optimizer=type(optimizer).from_config(optimizer.get_config())") == 2
