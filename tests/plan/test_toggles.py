"""`trainable` is set before each step as compile() found it, wherever two models need two values."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.kit import actions, migrate
from tfmigrate.result import FileResult
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

HEAD = """
from keras.layers import Dense, Input
from keras.models import Model, Sequential
from keras.utils import multi_gpu_model


def net(width):
    return Sequential([Dense(width, input_shape=(4,))])


"""
MODELS = """
critic = net(1)
critic.compile("sgd", "mse")
critic.trainable = False
generator = net(4)
noise = Input((4,))
combined = multi_gpu_model(Model(noise, critic(generator(noise))), gpus=2)
combined.compile("sgd", "mse")
"""
OBJECT = """
class Gan(object):
    def __init__(self):
        self.critic = net(1)
        self.critic.compile("sgd", "mse")
        self.generator = net(4)
        self.critic.trainable = False
        noise = Input((4,))
        self.combined = multi_gpu_model(Model(noise, self.critic(self.generator(noise))), gpus=2)
        self.combined.compile("sgd", "mse")

    def train(self, batches):
        for noise, real in batches:
            {critic}.train_on_batch(real, real)
            self.combined.train_on_batch(noise, real)


"""


def one(code: str) -> FileResult:
    (file,) = migrate_sources({"gan.py": (HEAD + dedent(code)).lstrip("\n")}, Settings())
    assert file.status == "migrated"
    return file


def told(file: FileResult) -> list[str]:
    return actions(file, "TFM401")


def test_before_the_step_of_each_model() -> None:
    file = one(MODELS + "for x, y in batches:\n    critic.train_on_batch(x, y)\n    combined.train_on_batch(x, y)\n")
    assert file.after.endswith(
        "    critic.trainable = True\n    critic.train_on_batch(x, y)\n"
        "    critic.trainable = False\n    combined.train_on_batch(x, y)\n"
    )
    assert told(file) == ["rewrite", "rewrite"]


def test_a_program_that_sets_it_before_each_step_is_not_reported_again() -> None:
    """`check` of a migrated program finds nothing, or a hook would never pass."""
    for code in (
        MODELS + "for x, y in batches:\n    critic.train_on_batch(x, y)\n    combined.train_on_batch(x, y)\n",
        OBJECT,
    ):
        after = one(code.replace("{critic}", "self.critic") + "Gan().train(batches)\n" * (code is OBJECT)).after
        (file,) = migrate_sources({"gan.py": after}, Settings())
        assert told(file) == []
        line = next(line for line in after.splitlines(keepends=True) if "trainable = True" in line)
        (file,) = migrate_sources({"gan.py": after.replace(line, "")}, Settings())
        assert "warn" in told(file)


def test_once_for_steps_that_follow_each_other() -> None:
    loop = """
    for x, y in batches:
        real = critic.train_on_batch(x, y)
        fake = critic.train_on_batch(y, y)
        print(real, fake)
        combined.train_on_batch(x, y)
    """
    after = one(MODELS + dedent(loop)).after
    assert after.count("critic.trainable = True\n") == 1
    assert "    critic.trainable = True\n    real = critic" in after
    assert "    print(real, fake)\n    critic.trainable = False\n    combined" in after


def test_in_an_inner_loop() -> None:
    loop = """
    for x, y in batches:
        for _ in range(5):
            critic.train_on_batch(x, y)
        combined.train_on_batch(x, y)
    """
    after = one(MODELS + dedent(loop)).after
    assert (
        "        critic.trainable = True\n        critic.train_on_batch(x, y)\n    critic.trainable = False\n" in after
    )


def test_the_attribute_of_an_object_in_another_method() -> None:
    after = one(OBJECT.format(critic="self.critic")).after
    assert "            self.critic.trainable = True\n            self.critic.train_on_batch(real, real)\n" in after
    assert "            self.critic.trainable = False\n            self.combined.train_on_batch(noise, real)\n" in after


def test_where_only_the_whole_is_trained_in_a_method_its_part_is_known_by_its_attribute() -> None:
    code = (
        OBJECT.format(critic="self.critic") + "    def refine(this, x):\n        this.combined.train_on_batch(x, x)\n"
    )
    after = one(code).after
    assert "        this.critic.trainable = False\n        this.combined.train_on_batch(x, x)\n" in after


def test_the_parameter_of_a_function() -> None:
    code = MODELS.lstrip("\n") + "train(critic, combined, batches)\n"
    function = """
    def train(judge, whole, batches):
        for x, y in batches:
            judge.train_on_batch(x, y)
            whole.train_on_batch(x, y)


    """
    after = one(dedent(function) + code).after
    assert "        judge.trainable = True\n        judge.train_on_batch(x, y)\n" in after
    assert "        judge.trainable = False\n        whole.train_on_batch(x, y)\n" in after


def test_two_parts_that_are_frozen_in_turns() -> None:
    code = """
    critic, generator = net(1), net(4)
    noise = Input((4,))
    generator.trainable = False
    judge = multi_gpu_model(Model(noise, critic(generator(noise))), gpus=2)
    judge.compile("sgd", "mse")
    critic.trainable = False
    generator.trainable = True
    whole = multi_gpu_model(Model(noise, critic(generator(noise))), gpus=2)
    whole.compile("sgd", "mse")
    for x, y in batches:
        judge.train_on_batch(x, y)
        whole.train_on_batch(x, y)
    """
    after = one(code).after
    assert after.endswith(
        "    critic.trainable = True\n    generator.trainable = False\n    judge.train_on_batch(x, y)\n"
        "    critic.trainable = False\n    generator.trainable = True\n    whole.train_on_batch(x, y)\n"
    )


@pytest.mark.parametrize(
    "loop",
    [
        # The program does it itself.
        "critic.trainable = True\n    critic.train_on_batch(x, y)\n    critic.trainable = False\n"
        "    combined.train_on_batch(x, y)\n",
    ],
)
def test_lines_that_set_it_already_stay_alone(loop: str) -> None:
    after = one(MODELS + f"for x, y in batches:\n    {loop}").after
    assert after.endswith(loop)


def test_a_name_of_another_function_is_not_used() -> None:
    function = "def parts():" + MODELS.replace("\n", "\n    ") + "return critic, combined\n\n\n"
    loop = "for x, y in batches:\n    judge.train_on_batch(x, y)\n    whole.train_on_batch(x, y)\n"
    assert one(f"{function}judge, whole = parts()\n{loop}").after.endswith(
        "    judge.trainable = True\n    judge.train_on_batch(x, y)\n"
        "    judge.trainable = False\n    whole.train_on_batch(x, y)\n"
    )


def test_a_part_without_a_name_is_reported() -> None:
    function = "def parts():" + MODELS.replace("\n", "\n    ") + "return critic, combined\n\n\nmodels = parts()\n"
    loop = "for x, y in batches:\n    models[0].train_on_batch(x, y)\n    models[1].train_on_batch(x, y)\n"
    file = one(function + loop)
    assert file.after.endswith(loop)
    assert told(file) == ["warn"]


TURNS = """critic.trainable = True
for x, y in batches:
    critic.train_on_batch(x, y)
    critic.trainable = False
    combined.train_on_batch(x, y)
    critic.trainable = True
"""


def test_what_the_loop_before_it_and_its_own_end_set_is_not_set_again() -> None:
    assert one(MODELS + TURNS).after.endswith(TURNS)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("critic.trainable = True\nfor", "for", "not before the first step"),
        ("    critic.trainable = True\n", "", "not at the end of a turn"),
        ("False\n", "False\n    if not x: continue\n", "a way past the end"),
        ("batches:\n", "batches:\n    freeze()\n", "a function that sets it"),
    ],
)
def test_it_is_set_where_some_way_leads_to_the_step_without(old: str, new: str, why: str) -> None:
    function = "def freeze():\n    critic.trainable = False\n\n\n"
    loop = TURNS.replace(old, new)
    assert loop != TURNS
    assert "    critic.trainable = True\n    critic.train_on_batch" in one(function + MODELS + loop).after, why


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("critic.trainable = False", "critic.layers[0].trainable = False"), "a layer only"),
        (("net(1)\n", "Sequential([Dense(1, input_shape=(4,), trainable=False)])\n"), "setting True frees it, too"),
        (("critic.trainable = False", "critic.trainable = frozen"), "a value that is not known"),
        (("critic.train_on_batch(x, y)\n    combined", "combined"), "the critic trains out of sight"),
        (("critic.train_on_batch", "if x: critic.train_on_batch"), "a line of two statements"),
    ],
)
def test_what_is_not_clear_is_left_and_reported(change: tuple[str, str], why: str) -> None:
    code = MODELS + "for x, y in batches:\n    critic.train_on_batch(x, y)\n    combined.train_on_batch(x, y)\n"
    assert change[0] in code
    file = one(code.replace(*change))
    assert "    critic.trainable = " not in file.after.split("for x, y", 1)[1], why
    assert "rewrite" not in told(file), why


def test_a_base_that_stays_frozen_is_not_touched() -> None:
    code = """
    base = net(4)
    base.trainable = False
    inputs = Input((4,))
    whole = multi_gpu_model(Model(inputs, Dense(1)(base(inputs))), gpus=2)
    whole.compile("sgd", "mse")
    whole.train_on_batch(x, y)
    """
    file = one(code)
    assert file.after.count("trainable") == 1
    assert told(file) == []


FLAGGED = """\
import numpy as np
from keras.layers import Dense, Input
from keras.models import Model, Sequential
from keras.utils import multi_gpu_model

critic = Sequential([Dense(1, input_shape=(4,))])
maker = Sequential([Dense(4, input_shape=(3,))])
parallel = multi_gpu_model(critic, gpus=2)
parallel.compile("sgd", "mse")
{flag}
z = Input((3,))
whole = Model(z, {inner}(maker(z)))
whole.compile("sgd", "mse")
for step in range(3):
    parallel.train_on_batch(np.ones((8, 4)), np.ones((8, 1)))
    whole.train_on_batch(np.ones((8, 3)), np.ones((8, 1)))
"""


@pytest.mark.parametrize("flag", ["parallel.trainable = False", "critic.trainable = False"])
@pytest.mark.parametrize("inner", ["parallel", "critic"])
def test_the_flag_of_a_parallel_model_is_that_of_the_one_model_there_will_be(flag: str, inner: str) -> None:
    file = migrate(FLAGGED.format(flag=flag, inner=inner))
    assert "    critic.trainable = True\n    critic.train_on_batch(" in file.after
    assert "    critic.trainable = False\n    whole.train_on_batch(" in file.after
    assert {finding.action for finding in file.findings if finding.code == "TFM401"} == {"rewrite"}


SMALL = """
tiny = len(x) < 9


def small():
    base = net(4)
    base.trainable = False
    return base


def large():
    return Sequential([small(), Dense(1)])


"""


def indent_in(code: str, loop: str) -> str:
    return indent(code, "    " * bool(loop))


TRAINED = 'model.compile("sgd", "mse")\nmodel.fit(x, y)\n'


@pytest.mark.parametrize(
    "choice",
    [
        "if tiny:\n    model = multi_gpu_model(small(), gpus=2)\nelse:\n    model = multi_gpu_model(large(), gpus=2)\n",
        "if tiny:\n    model = small()\nelse:\n    model = large()\nmodel = multi_gpu_model(model, gpus=2)\n",
        "model = multi_gpu_model(small() if tiny else large(), gpus=2)\n",
        "model = multi_gpu_model(small(), gpus=2) if tiny else multi_gpu_model(large(), gpus=2)\n",
        "model = multi_gpu_model({'small': small, 'large': large}[kind](), gpus=2)\n",
    ],
)
def test_nothing_is_said_of_models_of_which_one_run_trains_one(choice: str) -> None:
    assert told(one(SMALL + choice + TRAINED)) == []


@pytest.mark.parametrize(
    "training",
    [
        "if tiny:\n    base.compile('sgd', 'mse')\n    base.fit(x, y)\n"
        "else:\n    model = multi_gpu_model(whole, gpus=2)\n    model.compile('sgd', 'mse')\n    model.fit(x, y)\n",
        "if tiny:\n    model = multi_gpu_model(base, gpus=2)\n    model.compile('sgd', 'mse')\n    model.fit(x, y)\n"
        "elif not tiny:\n    model = multi_gpu_model(whole, gpus=2)\n"
        "    model.compile('sgd', 'mse')\n    model.fit(x, y)\n",
    ],
)
@pytest.mark.parametrize("loop", ["", "for size in sizes:\n"])
def test_in_a_loop_both_are_trained_if_the_part_is_made_before_it(training: str, loop: str) -> None:
    """Nor where each round makes a part of its own."""
    parts = "base = net(4)\nbase.trainable = False\nwhole = Sequential([base, Dense(1)])\n"
    assert told(one(SMALL + parts + loop + indent_in(training, loop))) == ["warn"] * bool(loop)
    assert told(one(SMALL + loop + indent_in(parts + training, loop))) == []


@pytest.mark.parametrize(("end", "told_of"), [("return", []), ("raise SystemExit", []), ("print(x)", ["warn"])])
def test_what_stands_behind_an_arm_that_returns_is_its_alternative(end: str, told_of: list[str]) -> None:
    code = f"""
    tiny = len(x) < 9


    def main():
        base = net(4)
        base.trainable = False
        if tiny:
            model = multi_gpu_model(base, gpus=2)
            model.compile("sgd", "mse")
            model.fit(x, y)
            {end}
        model = multi_gpu_model(Sequential([base]), gpus=2)
        model.compile("sgd", "mse")
        model.fit(x, y)


    main()
    """
    assert told(one(code)) == told_of


def test_of_a_part_that_is_trained_alone_too_it_is_said() -> None:
    code = "base = small()\nbase.compile('sgd', 'mse')\nbase.fit(x, y)\n"
    choice = "model = multi_gpu_model(Sequential([base]) if tiny else small(), gpus=2)\n"
    assert told(one(SMALL + code + choice + TRAINED)) == ["warn"]


def test_both_are_trained_where_a_loop_goes_over_them() -> None:
    code = """
    base = net(4)
    base.trainable = False
    for model in (base, Sequential([base])):
        parallel = multi_gpu_model(model, gpus=2)
        parallel.compile("sgd", "mse")
        parallel.fit(x, y)
    """
    assert told(one(code)) == ["warn"]


def test_a_method_that_anybody_may_call_trains_one_and_the_other() -> None:
    code = """
    class Trainer:
        def __init__(self):
            self.base = net(4)
            self.base.trainable = False
            self.whole = multi_gpu_model(Sequential([self.base]), gpus=2)

        def train(self, tiny):
            if tiny:
                self.base.compile("sgd", "mse")
                self.base.fit(x, y)
            else:
                self.whole.compile("sgd", "mse")
                self.whole.fit(x, y)
    """
    assert told(one(code)) == ["warn"]
    assert told(one(dedent(code) + "\n\nTrainer().train(x)\n")) == []


EITHER = """
def training(gpus, batches):
    if gpus > 1:
        plain = net(1)
        critic = multi_gpu_model(plain, gpus=gpus)
    else:
        critic = net(1)
    critic.compile("sgd", "mse")
    critic.trainable = False
    noise = Input((4,))
    combined = Model(noise, critic(net(4)(noise)))
    combined.compile("sgd", "mse")
    for noise, real in batches:
        {before}critic.train_on_batch(real, real)
        {after}combined.train_on_batch(noise, real)


training(int(input()), batches)
"""


def test_a_part_that_is_built_in_either_arm_is_one() -> None:
    file = one(EITHER.format(before="", after=""))
    assert told(file) == ["rewrite", "rewrite"]
    assert "critic.trainable = True\n        critic.train_on_batch" in file.after
    assert "critic.trainable = False\n        combined.train_on_batch" in file.after


def test_lines_that_set_either_stay_as_they_are() -> None:
    lines = {"before": "critic.trainable = True\n        ", "after": "critic.trainable = False\n        "}
    file = one(EITHER.format(**lines))
    assert told(file) == []
    assert file.after.count(".trainable = True") == 1


def test_parts_that_need_different_values_are_not_one() -> None:
    file = one(
        """
def training(first, batches):
    one, two = net(4), net(4)
    one.compile("sgd", "mse")
    two.compile("sgd", "mse")
    one.trainable = False
    noise = Input((4,))
    combined = multi_gpu_model(Model(noise, two(one(noise))), gpus=2)
    combined.compile("sgd", "mse")
    chosen = one if first else two
    for noise, real in batches:
        chosen.train_on_batch(real, real)
        combined.train_on_batch(noise, real)


training(first, batches)
"""
    )
    assert told(file) == ["rewrite", "rewrite"]
    assert "chosen.trainable" not in file.after
    assert "one.trainable = True\n        chosen.train_on_batch" in file.after


STEP = "critic.train_on_batch(x, y)"
BOTH = "combined.train_on_batch(x, y)"


@pytest.mark.parametrize("line", [f"{STEP}; {BOTH}", f"{BOTH}; {STEP}", f"losses = {STEP}, {BOTH}"])
def test_a_line_that_trains_both_is_told(line: str) -> None:
    file = one(f"{MODELS}\nfor step in range(9):\n    {line}\n")
    assert actions(file, "TFM401") == ["warn"]
    assert file.after.endswith(f"for step in range(9):\n    {line}\n")


@pytest.mark.parametrize("line", [f"{STEP}; {STEP}", f"{STEP}; print(step)"])
def test_a_line_that_trains_one_is_not(line: str) -> None:
    file = one(f"{MODELS}\nfor step in range(9):\n    {line}\n    {BOTH}\n")
    set_ = f"    critic.trainable = True\n    {line}\n    critic.trainable = False\n    {BOTH}\n"
    assert file.after.endswith(set_)
    assert set(actions(file, "TFM401")) == {"rewrite"}
