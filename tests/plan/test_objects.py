"""Numbers of GPUs that objects keep: written as what the object was given, where it has no name yet."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.kit import codes, migrate
from tfmigrate.result import FileResult

BASE = """
    from keras.layers import Dense
    from keras.models import Sequential
    from keras.utils import multi_gpu_model
    from project import options, others, settings


    class Base:
        def __init__(self, config):
            self.config = config

        def spread(self, model):
            gpus = self.config.trainer.gpus
            return multi_gpu_model(model, gpus=gpus) if gpus > 1 else model


    class Critic(Base):
        def build(self, net):
            parallel = self.spread(net)
            parallel.compile("sgd", "mse")
            return parallel


    class Actor(Critic):
        pass


    def net():
        model = Sequential()
        model.add(Dense(1, input_shape=(4,)))
        return model


"""


def one(code: str, base: str = BASE) -> FileResult:
    return migrate(dedent(base + code).lstrip("\n"))


def strategies(file: FileResult) -> list[str]:
    """What each strategy is given, of whatever condition."""
    lines = (line for line in file.after.splitlines() if "MirroredStrategy" in line)
    return [line.partition("range(")[2].partition(")")[0] for line in lines]


def test_an_object_that_is_made_in_the_call_is_not_made_again_for_its_number() -> None:
    file = one("    critic = Critic(settings).build(net())\n")
    assert strategies(file) == ["settings.trainer.gpus"]
    assert file.after.count("Critic(settings)") == 1


def test_objects_that_are_given_the_same_share_a_strategy() -> None:
    calls = "    critic = Critic(settings).build(net())\n    actor = Actor(settings).build(net())\n"
    assert strategies(one(calls)) == ["settings.trainer.gpus"]


def test_an_object_with_a_name_agrees_with_one_that_has_none() -> None:
    code = "    def train(settings):\n        maker = Critic(settings)\n{}        return critic, actor\n"
    lines = "        critic = maker.build(net())\n        actor = Actor(settings).build(net())\n"
    assert strategies(one(code.format(lines))) == ["settings.trainer.gpus"]


def test_objects_that_are_given_different_things_are_refused() -> None:
    calls = "    def train(a, b):\n        one = Critic(a).build(net())\n        return one, Actor(b).build(net())\n"
    assert codes(one(calls), "refuse") == ["TFM107"]


def test_a_function_that_chooses_the_object() -> None:
    code = """
    def chosen(settings):
        if settings.deep:
            return Actor(settings)
        return Critic(settings)


    def train(settings):
        return chosen(settings).build(net())
    """
    assert strategies(one(code)) == ["settings.trainer.gpus"]


@pytest.mark.parametrize("own", ["self", "self, /"])
@pytest.mark.parametrize("call", ["super().__init__(settings)", "Critic.__init__(self, settings)"])
def test_what_a_derived_class_hands_to_its_base(call: str, own: str) -> None:
    code = f"""
    class Deep(Critic):
        def __init__({own}, name, settings):
            {call}
            self.name = name


    deep = Deep("deep", options).build(net())
    """
    assert strategies(one(code)) == ["options.trainer.gpus"]


def test_the_object_of_the_base_class_is_the_object() -> None:
    """`super()` means something in a method alone."""
    code = """
    class Loaded(Critic):
        def build(self, net):
            parallel = super().build(net)
            parallel.load_weights("start.weights.h5")
            return parallel


    loaded = Loaded(settings).build(net())
    """
    file = one(code)
    assert strategies(file) == ["settings.trainer.gpus"]
    assert file.after.count("super()") == 1


@pytest.mark.parametrize(
    "change",
    [
        "critic.config = others",
        "setup(critic).config = others",
        "critic.config: object = others",
    ],
)
def test_an_attribute_that_is_set_from_outside_is_not_what_it_was_given(change: str) -> None:
    second = "    fit(Critic(options).build(net()))\n"
    file = one(f"    critic = Critic(settings)\n    {change}\n    model = critic.build(net())\n{second}")
    assert "options.trainer" not in file.after


_INIT = "def __init__(self, config):\n            self.config = config\n"


@pytest.mark.parametrize(
    "init",
    [
        f"def reset(self):\n            self.config = None\n\n        {_INIT}",
        "def __init__(self, config):\n            if config:\n                self.config = config\n",
        "def __init__(self, config):\n            self.config = read(config)\n",
        "def __init__(self, *config):\n            self.config = config[0]\n",
    ],
)
def test_of_an_attribute_that_may_be_another_the_model_is_copied_where_it_is_read(init: str) -> None:
    assert _INIT in BASE
    file = one("    critic = Critic(settings).build(net())\n", BASE.replace(_INIT, init))
    assert not codes(file, "refuse")
    assert "replicated(model)" in file.after


def test_what_a_caller_makes_for_the_number_is_made_once() -> None:
    code = """
    def spread(model, gpus):
        return multi_gpu_model(model, gpus=gpus)


    def ask():
        return int(input())


    model = spread(net(), ask())
    model.compile("sgd", "mse")
    """
    file = one(code)
    assert not codes(file, "refuse")
    assert file.after.count("ask()") == 2
    assert "replicated(model)" in file.after


def test_no_strategy_is_made_in_the_scope_of_another_one() -> None:
    """The scope stands round both branches, and so round a function that would make its own strategy in one of them."""
    code = """
    def built(settings):
        model = net()
        model = multi_gpu_model(model, settings.gpus)
        model.compile("sgd", "mse")
        return model


    def train(settings):
        if settings.small:
            model = built(settings)
            model.fit(small)
        elif settings.wide:
            model = net()
            parallel = multi_gpu_model(model, settings.gpus)
            parallel.compile("sgd", "mse")
        elif settings.deep:
            model = net()
            model.add(Dense(1))
            parallel = multi_gpu_model(model, settings.gpus)
            parallel.compile("sgd", "mse")
        return model
    """
    file = one(code)
    inner = file.after[file.after.index("def built") : file.after.index("def train")]
    assert "strategy" not in inner or "with strategy.scope():\n        if settings.small" not in file.after


def _held(code: str) -> FileResult:
    """A program that hangs its models on objects which are not followed."""
    head, tail = BASE.index("    class Base"), BASE.index("    def net")
    imports = "    from keras.models import clone_model, load_model\n\n\n"
    return one(code, BASE[:head].rstrip(" \n") + "\n" + imports + BASE[tail:])


def test_a_model_that_is_set_on_an_object_out_of_sight() -> None:
    file = _held(
        """
    def spread(holder, gpus):
        holder.base = clone_model(load_model("start.h5"))
        if gpus > 1:
            holder.net = multi_gpu_model(holder.base, gpus=gpus)
        holder.net.compile("sgd", "mse")
    """
    )
    assert codes(file, "refuse") == []
    assert "    with strategy.scope():\n        holder.base = clone_model(" in file.after
    assert "        holder.net.compile(" in file.after


def test_each_object_out_of_sight_has_its_own_model() -> None:
    """What a function gives back of one object is not what it gives back of another one."""
    file = _held(
        """
    def base_of(holder):
        return holder.base


    def spread(first, second, gpus):
        first.base = net()
        second.base = load_model("start.h5")
        one = base_of(first)
        two = multi_gpu_model(base_of(second), gpus=gpus)
        two.compile("sgd", "mse")
        return one, two
    """
    )
    assert codes(file, "refuse") == []
    body = file.after[file.after.index("def spread") :]
    assert body.index("first.base = net()") < body.index("strategy.scope()") < body.index("second.base = load_model")


def test_an_object_whose_model_is_not_set_in_sight_is_refused() -> None:
    file = _held("    def spread(holder, gpus):\n        holder.net = multi_gpu_model(holder.base, gpus=gpus)\n")
    assert codes(file, "refuse") == ["TFM102"]


def test_no_compile_is_said_to_stand_in_the_scope_of_a_model_that_predicts() -> None:
    file = one("    model = multi_gpu_model(net(), gpus=2)\n    print(model.predict(rows))\n")
    (said,) = [finding.message for finding in file.findings if finding.code == "TFM001"]
    assert said.endswith("the model built at line 28 goes into its scope")
