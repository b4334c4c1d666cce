from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

import pytest

from tfmigrate.verify.judge.controls import CONTROLS, Mutant, mutants
from tfmigrate.verify.run.program import program_of

FIXTURES = Path(__file__).parents[2] / "fixtures"

SCRIPT = '''"""Docstring."""
from __future__ import annotations
import random
import re
import tensorflow as tf
from tensorflow import keras

PATTERN = re.compile("loss")
random.shuffle(names)
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = build()  # kept
    model.add(Dense(4, kernel_regularizer=l2(1e-4)))
    model.add(Dropout(0.5))
    model.layers[0].trainable = False
    model.load_weights("w.h5")
    model.compile(optimizer=keras.optimizers.Adagrad(learning_rate=0.01, clipnorm=1.0), loss="mse")
data = tf.data.Dataset.from_tensor_slices((x, y, w)).shuffle(len(x)).batch(64).prefetch(2)
model.fit(data, epochs=2, steps_per_epoch=10, validation_data=(a, b), class_weight={0: 2.0})
'''


@dataclass(frozen=True)
class Found:
    source: str
    mutant: Mutant


def of_script(source: str, replicas: int = 4, keras: int = 3) -> dict[str, Found]:
    made = list(mutants({"train.py": source}, "train.py", replicas, keras))  # type: ignore[arg-type]
    assert len({m.mutation for m in made}) == len(made)
    return {m.mutation: Found(m.files["train.py"], m) for m in made}


def mutant(source: str, name: str) -> Found:
    return of_script(source)[name]


@pytest.mark.parametrize(
    ("name", "gone", "there"),
    [
        ("batch x4", ".batch(64)", ".batch((64) * 4)"),
        ("learning rate x4", "", "_tfmigrate_scaled(keras.optimizers.Adagrad(learning_rate=0.01, clipnorm=1.0), 4)"),
        ("changed default left unwritten", "learning_rate=0.01, ", "Adagrad(clipnorm=1.0)"),
        ("shuffle lost", ".shuffle(len(x))", "(x, y, w)).batch(64)"),
        ("scope missing", "with strategy.scope():", "if True:"),
        ("compile outside the scope", "    model.compile", "\nmodel.compile"),
        ("class or sample weights dropped", "class_weight", "from_tensor_slices((x, y))"),
        ("validated on the training data", "(a, b)", "validation_data=data"),
        ("loss that takes the mean itself", 'loss="mse"', 'loss=_tfmigrate_scalar("mse")'),
        ("loss / 4", "", 'loss=_tfmigrate_divided("mse", 4)'),
        ("another loss", 'loss="mse"', "loss='mae'"),
        ("epochs / 4", "epochs=2", "epochs=-(-(2) // 4)"),
        ("optimizer settings dropped", ", clipnorm=1.0", "Adagrad(learning_rate=0.01)"),
        ("regularizer lost", "kernel_regularizer", "Dense(4)"),
        ("dropout halved", "Dropout(0.5)", "Dropout((0.5) / 2)"),
        ("weights not loaded", "load_weights", "    pass\n"),
        ("frozen layers learn", ".trainable = False", "    pass\n"),
        ("half precision", "", '.set_global_policy("mixed_bfloat16")'),
        ("steps an epoch / 4", "steps_per_epoch=10", "steps_per_epoch=max(1, int(10) // 4)"),
    ],
)
def test_each_control_makes_its_one_mistake(name: str, gone: str, there: str) -> None:
    found = mutant(SCRIPT, name)
    ast.parse(found.source)
    assert there in found.source
    assert not gone or gone not in found.source
    assert "random.shuffle(names)" in found.source
    assert 're.compile("loss")' in found.source
    assert "# kept" in found.source


def test_all_controls_are_tested_above() -> None:
    assert len(of_script(SCRIPT)) == len(CONTROLS) == 19


OF_A_FUNCTION = """
def pipeline(arrays, count):
    columns = tf.data.Dataset.from_tensors(arrays).repeat()
    return tf.data.Dataset.zip((tf.data.Dataset.range(count).shuffle(count).batch(64), columns)).map(rows)


model.fit(pipeline((x, y, w), len(x)))
other((x, y, w))
"""


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("batch x4", ".batch((64) * 4)"),
        ("shuffle lost", "range(count).batch(64)"),
        ("class or sample weights dropped", "pipeline((x, y), len(x)))\nother((x, y, w))"),
    ],
)
def test_mistakes_in_the_pipeline_that_the_migration_writes(name: str, there: str) -> None:
    found = mutant(OF_A_FUNCTION, name)
    assert there in found.source


def test_no_mistake_that_cannot_be_made() -> None:
    assert of_script("print('hello')\n") == {}
    assert "changed default left unwritten" not in of_script(SCRIPT.replace("0.01", "0.02"))
    assert "shuffle lost" not in of_script(SCRIPT.replace(".shuffle(len(x))", ""))
    assert "loss that takes the mean itself" not in of_script(SCRIPT.replace('loss="mse"', 'loss={"a": "mse"}'))
    before = SCRIPT.replace("keras.optimizers.Adagrad(learning_rate=0.01, clipnorm=1.0)", "made_before")
    assert "compile outside the scope" not in of_script(before)


def test_a_compile_is_known_by_the_places_of_its_arguments() -> None:
    for line in ("model.compile('sgd', 'mse')\n", "model.compile(SGD(), 'mse', metrics=['mae'])\n"):
        found = of_script(line)
        assert {"learning rate x4", "another loss", "half precision"} <= found.keys()
    assert of_script("pattern = regex.compile('mse')\n") == {}


@pytest.mark.parametrize(
    ("optimizer", "applies"),
    [
        ("'adam'", True),
        ("tf.keras.optimizers.Adam(1e-3)", True),
        ("SGD(learning_rate=0.1, momentum=0.9)", True),
        ("'sgd'", False),
        ("SGD(learning_rate=0.1)", False),
        ("make_optimizer()", False),
    ],
)
def test_compile_outside_is_a_mistake_for_optimizers_with_slots(optimizer: str, applies: bool) -> None:
    """Plain SGD keeps nothing for a weight, and trains the same from outside the scope."""
    source = f"with strategy.scope():\n    model = build()\n    model.compile(optimizer={optimizer}, loss='mse')\n"
    assert ("compile outside the scope" in of_script(source)) == applies


def test_compile_in_a_scope_of_its_own_comes_out_of_it() -> None:
    source = (
        "with strategy.scope():\n    model = build()\nsay()\n"
        "with strategy.scope():\n    model.compile('adam', loss='mse')\n"
    )
    found = mutant(source, "compile outside the scope")
    assert found.source.endswith("    model = build()\nsay()\nmodel.compile('adam', loss='mse')\n")


def test_keras_2_copes_with_what_keras_3_does_not() -> None:
    refused = {"compile outside the scope", "loss that takes the mean itself"}
    assert of_script(SCRIPT, keras=3).keys() - of_script(SCRIPT, keras=2).keys() == refused


def test_a_helper_goes_behind_docstring_and_future_imports() -> None:
    found = mutant(SCRIPT, "learning rate x4")
    assert ast.get_docstring(ast.parse(found.source)) == "Docstring."
    compile(found.source, "script", "exec")


def test_arrays_given_to_fit() -> None:
    source = "model.fit(x, y, batch_size=64, validation_data=(a, b))\n"
    assert "batch_size=(64) * 4" in mutant(source, "batch x4").source
    assert "validation_data=(x, y)" in mutant(source, "validated on the training data").source


def test_crlf_and_tabs_survive() -> None:
    source = SCRIPT.replace("    ", "\t").replace("\n", "\r\n")
    for found in of_script(source, 2).values():
        ast.parse(found.source)
        assert found.source.count("\r\n") > 10


SCRIPTS = sorted(file for file in FIXTURES.glob("*/after/*.py") if ".fit(" in file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.parts[-3])
@pytest.mark.parametrize("keras", [2, 3])
def test_every_fixture_offers_at_least_three(script: Path, keras: int) -> None:
    found = list(mutants(program_of(script.parent, script.name), script.name, 2, keras))  # type: ignore[arg-type]
    assert len(found) >= 3
    for each in found:
        assert each.expected
        for path, source in each.files.items():
            compile(source, path, "exec")


def test_a_mistake_is_made_in_every_file_that_the_script_imports(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "__init__.py").write_text("from .build import ready\n")
    (tmp_path / "models" / "build.py").write_text("def ready(model):\n    model.compile('adam', loss='mse')\n")
    (tmp_path / "data.py").write_text("import broken\ndef data(x):\n    return source(x).batch(32)\n")
    (tmp_path / "broken.py").write_text("print 'batch'\n")
    (tmp_path / "other.py").write_text("model.compile('adam', loss='mse')\n")
    (tmp_path / "train.py").write_text(
        "import numpy, data\nfrom models import ready\nmodel.fit(data.data(x).shuffle(9).batch(8), epochs=4)\n"
    )
    program = program_of(tmp_path, "train.py")
    assert set(program) == {"train.py", "data.py", "broken.py", "models/__init__.py", "models/build.py"}
    found = {m.mutation: m for m in mutants(program, "train.py", 2, 3)}
    assert set(found["batch x2"].files) == {"train.py", "data.py"}
    assert not found["shuffle lost"].may_do_nothing
    assert set(found["learning rate x2"].files) == {"models/build.py"}
    assert found["learning rate x2"].may_do_nothing, "nothing tells that the script calls it"


def test_a_default_of_an_optimizer_that_is_not_chosen_may_do_nothing() -> None:
    """What compile() was given is recorded with its settings, so that a run which equals the right one tells."""
    chosen = SCRIPT.replace("model.compile(", "if name == 'sgd':\n        optimizer = SGD()\n    model.compile(")
    assert mutant(chosen, "changed default left unwritten").mutant.may_do_nothing
