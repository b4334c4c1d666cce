"""A strategy that an object keeps, where no known function calls all the methods that build, wrap and compile."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.kit import migrate
from tfmigrate.result import FileResult
from tfmigrate.settings import Settings

HEAD = """
from keras.layers import Dense
from keras.models import Sequential, load_model
from keras.utils import multi_gpu_model


def net():
    return Sequential([Dense(1, input_shape=(4,))])


"""
INIT = """
def __init__(self, gpus):
    self.gpus = gpus
    self.model = None
"""
MAKE = """
def make(self):
    self.model = net()
"""
RESTORE = """
def restore(self, path):
    self.model = load_model(path)
"""
TRAIN = """
def train(self, batches):
    parallel = self.model
    if self.gpus > 1:
        parallel = multi_gpu_model(self.model, gpus=self.gpus)
    parallel.compile("sgd", "mse")
    parallel.fit_generator(batches)
"""
STRATEGY = """
        self.strategy = (
            tf.distribute.MirroredStrategy(devices=[f"/gpu:{i}" for i in range(self.gpus)])
            if self.gpus > 1
            else tf.distribute.get_strategy()
        )
"""


def cls(*methods: str, name: str = "Trainer", base: str = "object") -> str:
    return f"class {name}({base}):\n" + indent("\n".join(method.strip("\n") + "\n" for method in methods), "    ")


def one(*parts: str) -> FileResult:
    return migrate((HEAD + "\n\n".join(parts)).lstrip("\n"))


def refusals(file: FileResult) -> list[tuple[str, str]]:
    return [(finding.code, finding.message) for finding in file.findings if finding.action == "refuse"]


def test_each_method_that_builds_or_compiles_opens_the_scope_of_the_object() -> None:
    after = one(cls(INIT, MAKE, RESTORE, TRAIN)).after
    assert f"        self.gpus = gpus{STRATEGY}        self.model = None\n" in after
    assert "        with self.strategy.scope():\n            self.model = net()\n" in after
    assert "        with self.strategy.scope():\n            self.model = load_model(path)\n" in after
    assert '        with self.strategy.scope():\n            parallel.compile("sgd", "mse")\n' in after
    assert "        parallel.fit(batches)\n" in after
    assert after.count("MirroredStrategy") == 1


@pytest.mark.parametrize("methods", [(TRAIN, MAKE, RESTORE), (RESTORE, TRAIN, MAKE), (MAKE, RESTORE, TRAIN)])
def test_the_order_of_the_methods_in_the_class_does_not_matter(methods: tuple[str, ...]) -> None:
    after = one(cls(INIT, *methods)).after
    assert after.count("with self.strategy.scope():") == 3
    assert "multi_gpu_model" not in after


def test_a_model_that_is_remade_is_built_in_the_scope_both_times() -> None:
    init = "def __init__(self, gpus):\n    self.gpus = gpus\n    self.model = net()\n"
    again = "def again(self):\n    self.model = net()\n"
    after = one(cls(init, again, TRAIN)).after
    assert after.count("        with self.strategy.scope():\n            self.model = net()\n") == 2
    assert after.index("MirroredStrategy") < after.index("self.model = net()")


def test_a_model_that_is_built_where_there_is_none_yet() -> None:
    load = "def load(self, path):\n    if self.model is None:\n        self.make()\n    self.model.load_weights(path)\n"
    train = "def train(self, batches):\n    if self.model is None:\n        self.make()\n" + TRAIN.split(":\n", 1)[1]
    after = one(cls(INIT, load, MAKE, train)).after
    assert "        with self.strategy.scope():\n            self.model = net()\n" in after
    assert after.count("self.strategy.scope()") == 2  # the other one is that of compile()
    assert "            self.make()\n        self.model.load_weights(path)\n" in after


def test_a_model_that_one_method_builds_for_two_is_built_in_the_scope_for_both() -> None:
    """Only one of them wraps it; the other one, called first, would leave it to the first under no strategy."""
    load = "def load(self, path):\n    self.make()\n    self.model.load_weights(path)\n"
    train = "def train(self, batches):\n    self.make()\n" + TRAIN.split(":\n", 1)[1]
    after = one(cls(INIT, train, MAKE, load)).after
    assert "        with self.strategy.scope():\n            self.model = net()\n" in after


def test_the_derived_class_builds_after_its_base_made_the_strategy() -> None:
    derived = "def __init__(self, gpus, width):\n    super().__init__(gpus)\n    self.width = width\n"
    code = (cls(INIT, TRAIN), cls(derived, MAKE, RESTORE, name="One", base="Trainer"))
    after = one(*code).after
    assert f"        self.gpus = gpus{STRATEGY}" in after
    assert after.count("with self.strategy.scope():") == 3


def test_of_a_derived_class_that_does_not_call_its_base_the_model_is_copied() -> None:
    derived = "def __init__(self, gpus):\n    self.gpus = gpus\n"
    file = one(cls(INIT, TRAIN), cls(derived, MAKE, RESTORE, name="One", base="Trainer"))
    assert "self.strategy" not in file.after
    assert "parallel = replicated(self.model)" in file.after


def test_the_attribute_gets_a_name_that_is_free() -> None:
    init = INIT + "    self.strategy = 'greedy'\n"
    after = one(cls(init, MAKE, RESTORE, TRAIN)).after
    assert "self.strategy = 'greedy'\n" in after
    assert after.count("with self.strategy_2.scope():") == 3


def test_the_object_has_its_own_name_in_each_method() -> None:
    make = "def make(this):\n    this.model = net()\n"
    after = one(cls(INIT, make, RESTORE, TRAIN)).after
    assert "        with this.strategy.scope():\n            this.model = net()\n" in after


def test_a_docstring_stays_first() -> None:
    init = 'def __init__(self, gpus):\n    """Trains."""\n    self.gpus = gpus\n    self.model = None\n'
    assert f'        """Trains."""\n        self.gpus = gpus{STRATEGY}' in one(cls(init, MAKE, RESTORE, TRAIN)).after


def test_a_number_that_only_the_wrapping_method_knows_is_refused_with_both_places() -> None:
    init = "def __init__(self):\n    self.model = None\n"
    train = TRAIN.replace("self.gpus", "gpus").replace("batches):", "batches, gpus):") + "    parallel.layers\n"
    file = one(cls(init, MAKE, RESTORE, train))
    ((code, message),) = refusals(file)
    assert code == "TFM103"
    assert "`gpus`" in message
    assert "before train()" in message
    assert "in make()" in message
    assert "pass what they need to Trainer() and keep it as attributes. No copy can be trained instead: " in message
    assert file.after == file.before


def test_where_the_number_is_set_again_later_the_model_is_copied() -> None:
    setter = "def use(self, gpus):\n    self.gpus = gpus\n"
    after = one(cls(INIT, setter, MAKE, RESTORE, TRAIN)).after
    assert "self.strategy" not in after
    assert "parallel = replicated(self.model)" in after


def test_a_model_that_nothing_in_sight_makes_is_said_to_be_none() -> None:
    ((code, message),) = refusals(one(cls(INIT, TRAIN)))
    assert code == "TFM104"
    assert message == "no known code creates the model before it is wrapped here"


def test_several_machines_share_no_strategy_of_an_object() -> None:
    source = HEAD + cls(INIT, MAKE, RESTORE, TRAIN)
    file = migrate(source.lstrip("\n"), Settings(strategy="multi-worker"))
    ((code, message),) = refusals(file)
    assert code == "TFM104"
    assert "line 16 of train.py, in make()" in message
    assert "in restore()" in message


def test_what_is_called_in_order_in_sight_keeps_a_strategy_of_its_function() -> None:
    main = dedent("""
        def main(batches):
            trainer = Trainer(2)
            trainer.make()
            trainer.train(batches)
    """)
    after = one(cls(INIT, MAKE, TRAIN), main).after
    assert "self.strategy" not in after
    assert "with strategy.scope():" in after


def test_the_attribute_of_a_parameter_that_nobody_passes_is_refused_for_its_callers() -> None:
    spread = """
        def spread(task, gpus):
            task.net = multi_gpu_model(task.net, gpus)
    """
    ((code, message),) = refusals(one(dedent(spread)))
    assert code == "TFM102"
    assert message == (
        "the model is `task.net`, and no known call passes anything for `task`: migrate the files that call "
        "spread() together with this one. No copy can be trained instead: no compile() of the parallel model was found"
    )
    compiled = f'{dedent(spread)}    task.net.compile("sgd", "mse")\n'
    assert "task.net = replicated(task.net)" in one(compiled).after


def test_a_method_that_is_told_to_spread_what_another_one_builds_for_one_gpu() -> None:
    init = "def __init__(self):\n    self.model = None\n"
    build = "def build(self):\n    self.make()\n    self.model.compile('sgd', 'mse')\n"
    parallel = """
def build_parallel(self, gpus):
    self.make()
    self.model = multi_gpu_model(self.model, gpus)
    self.model.compile("sgd", "mse")
"""
    after = one(cls(init, MAKE, build, parallel)).after
    assert "        with strategy.scope():\n            self.make()\n" in after
    assert "    def build(self):\n        self.make()\n" in after


ALL_AT_ONCE = """
def __init__(self, gpus=1):
    self.gpus = gpus
    self.model = self.build()
    if self.gpus > 1:
        self.model = multi_gpu_model(self.model, gpus=self.gpus)
    self.model.compile("sgd", "mse")
"""
BUILD = "def build(self):\n    return net()\n"
RESUME = """
def resume(self, path):
    self.model = self.build()
    self.model.compile("sgd", "mse")
    self.model.load_weights(path)
"""


@pytest.mark.parametrize("made", ["Trainer(gpus=4) if big else Trainer()", "chosen(big)"])
def test_an_object_that_wraps_from_the_beginning_leaves_what_it_builds_later_on_one_gpu(made: str) -> None:
    chosen = "def chosen(big):\n    return Trainer(gpus=4) if big else Trainer()\n"
    main = f"""
def main(big, batches):
    trainer = {made}
    trainer.resume("start.weights.h5")
    trainer.model.fit_generator(batches)
"""
    file = one(cls(ALL_AT_ONCE, BUILD, RESUME), chosen, main)
    assert refusals(file) == []
    assert STRATEGY.replace("self.strategy", "strategy") in file.after
    assert "        with strategy.scope():\n            self.model = self.build()\n" in file.after
    assert file.after.count("strategy.scope()") == 1


def test_an_object_whose_models_share_a_variable_of_the_caller_keeps_its_strategy() -> None:
    """The caller sees both models, but how many GPUs there are is known to the object alone."""
    main = """
def main(big, path, batches):
    trainer = Trainer(gpus=4) if big else Trainer(gpus=2)
    if path:
        trainer.resume(path)
    trainer.model.fit_generator(batches)
"""
    file = one(cls(ALL_AT_ONCE, BUILD, RESUME), main)
    assert refusals(file) == []
    assert f"        self.gpus = gpus{STRATEGY}" in file.after
    assert file.after.count("MirroredStrategy") == 1
    assert file.after.count("with self.strategy.scope():") == 3
    resume = file.after[file.after.index("def resume") : file.after.index("def main")]
    assert resume.index("self.strategy.scope()") < resume.index("self.model.compile(")


def test_an_object_keeps_no_strategy_for_a_model_that_is_made_before_it() -> None:
    own = "\ndef __init__(self, gpus):\n    self.gpus = gpus\n"
    ((code, message),) = refusals(one("shared = net()\n", cls(own, TRAIN.replace("self.model", "shared"))))
    assert code == "TFM103"
    assert message.startswith("gpus=self.gpus is not yet known")
