"""A RunConfig that is made in steps, or another one in the other arm of a condition."""

from __future__ import annotations

import pytest

from tests.kit import actions
from tests.plan.test_estimator import migrated, refusal

CONFIG = "config = tf.estimator.RunConfig(train_distribute=strategy, eval_distribute=strategy)\n"
STRATEGY = "strategy = tf.distribute.MirroredStrategy()\n"
GIVEN = "train_distribute=strategy"


@pytest.mark.parametrize(
    "lines",
    [
        f"config = tf.estimator.RunConfig({GIVEN})\nconfig = config.replace(save_summary_steps=100)\n",
        f"config = tf.estimator.RunConfig().replace({GIVEN})\n",
        f"config = tf.estimator.RunConfig()\nconfig = config.replace({GIVEN})\n",
        f"plain = tf.estimator.RunConfig()\nconfig = plain.replace({GIVEN}).replace(log_step_count_steps=1)\n",
        f"config = tf.estimator.RunConfig(train_distribute=None)\nconfig = config.replace({GIVEN})\n",
    ],
)
def test_a_config_made_in_steps_is_one(lines: str) -> None:
    file = migrated((CONFIG, lines))
    assert "    model = model_fn(input_fn().element_spec[0])\n" in file.after
    assert "onfig" not in file.after


def test_what_replace_changes_is_told() -> None:
    file = migrated((CONFIG, f"config = tf.estimator.RunConfig({GIVEN})\nconfig = config.replace(model_dir='out')\n"))
    assert [f.message[:13] for f in file.findings if f.code == "TFM014"] == ["`model_dir=`:"]


@pytest.mark.parametrize("end", ["", ".replace(eval_distribute=None)"])
def test_a_strategy_that_is_taken_away_again_is_none(end: str) -> None:
    file = migrated((CONFIG, f"config = tf.estimator.RunConfig({GIVEN}).replace(train_distribute=None){end}\n"))
    assert file.after == file.before
    assert actions(file, "TFM118") == ["warn"]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (f"config = tf.estimator.RunConfig({GIVEN})\nconfig.replace(save_summary_steps=1)\n", "used elsewhere"),
        (f"config = tf.estimator.RunConfig({GIVEN})\nprint(config)\n", "used elsewhere"),
        (
            f"config = tf.estimator.RunConfig({GIVEN})\nif big:\n    config = config.replace(model_dir='a')\n",
            "cannot be followed",
        ),
        (f"config = tf.estimator.RunConfig({GIVEN}).replace(device_fn=print)\n", "device_fn"),
        (f"config = tf.estimator.RunConfig({GIVEN}).replace(**more)\n", "cannot be read"),
        (
            f"def more(config):\n    return config.replace({GIVEN})\n\n\nconfig = more(tf.estimator.RunConfig())\n",
            "in two functions",
        ),
    ],
)
def test_another_use_of_a_config_is_refused(lines: str, told: str) -> None:
    assert told in refusal((CONFIG, lines))


def test_a_config_that_is_made_and_thrown_away_is_told() -> None:
    file = migrated((CONFIG, f"config = tf.estimator.RunConfig()\nconfig.replace({GIVEN})\n"))
    assert file.after == file.before
    assert "no Estimator was found that uses this RunConfig" in [finding.message for finding in file.findings]


ARMS = (
    "if several:\n    {strategy}    config = tf.estimator.RunConfig(train_distribute=strategy)\n"
    "else:\n    config = tf.estimator.RunConfig(save_checkpoints_secs=60)\n"
)


def test_a_config_for_one_device_in_the_other_arm_is_the_default_strategy() -> None:
    file = migrated((STRATEGY + CONFIG, ARMS.format(strategy=STRATEGY)))
    assert (
        f"if several:\n    {STRATEGY}else:\n    strategy = tf.distribute.get_strategy()\nwith strategy.scope():\n"
    ) in file.after
    assert "drop_remainder=strategy.num_replicas_in_sync > 1" in file.after
    assert any(f.message.startswith("`save_checkpoints_secs=`") for f in file.findings)


def test_the_arms_may_change_places() -> None:
    other = f"if one:\n    config = tf.estimator.RunConfig()\nelse:\n    {STRATEGY}    {CONFIG}"
    file = migrated((STRATEGY + CONFIG, other))
    assert f"if one:\n    strategy = tf.distribute.get_strategy()\nelse:\n    {STRATEGY}with" in file.after


INLINE = ARMS.replace("{strategy}    ", "").replace("=strategy", "=tf.distribute.MirroredStrategy()")


def test_a_strategy_that_one_arm_makes_in_its_config_gets_a_name_in_both() -> None:
    file = migrated((STRATEGY + CONFIG, INLINE))
    assert (
        f"if several:\n    {STRATEGY}else:\n    strategy = tf.distribute.get_strategy()\nwith strategy.scope():\n"
    ) in file.after
    assert "drop_remainder=strategy.num_replicas_in_sync > 1" in file.after


def test_that_name_is_a_free_one() -> None:
    file = migrated((STRATEGY + CONFIG, f"strategy = 1\n{INLINE}"))
    assert "else:\n    strategy_2 = tf.distribute.get_strategy()\nwith strategy_2.scope():\n" in file.after


def test_one_that_is_made_in_a_function_of_its_own_is_refused() -> None:
    made = INLINE.replace("config = ", "return ").replace("\n", "\n    ")
    lines = f"def configured():\n    {made.rstrip()}\n\n\nconfig = configured()\n"
    assert refusal((STRATEGY + CONFIG, lines)).startswith("TFM110")


@pytest.mark.parametrize(
    "lines",
    [
        ARMS.format(strategy=STRATEGY) + "print(strategy)\n",
        STRATEGY + CONFIG + "if one:\n    config = tf.estimator.RunConfig()\n",
        ARMS.format(strategy=STRATEGY).replace("secs=60", "secs=60, train_distribute=other"),
        STRATEGY + ARMS.format(strategy=STRATEGY),
        STRATEGY + CONFIG + "try:\n    config = tf.estimator.RunConfig()\nexcept OSError:\n    pass\n",
    ],
)
def test_other_alternatives_are_refused(lines: str) -> None:
    assert refusal((STRATEGY + CONFIG, lines)).startswith("TFM110")


def test_the_older_word_for_the_strategy() -> None:
    config = "train_distribute=strategy, eval_distribute=strategy"
    assert migrated((config, "distribute=strategy")).after == migrated((config, "train_distribute=strategy")).after


CHOICE = """def choose(count):
    if count > 1:
        return {0}.MirroredStrategy()
    return {0}.OneDeviceStrategy({1})


"""


def chosen(given: str, home: str = "tf.distribute", device: str = "'/gpu:0'", lines: str = "") -> list[tuple[str, str]]:
    """Changes that have a function return the strategy."""
    return [
        (STRATEGY, lines),
        ("def model_fn", CHOICE.format(home, device) + "def model_fn"),
        (CONFIG, f"config = tf.estimator.RunConfig(train_distribute={given}, eval_distribute={given})\n"),
        ("([[1.0], [2.0]], [[0.5], [1.0]])", "rows"),
    ]


@pytest.mark.parametrize("home", ["tf.distribute", "tf.contrib.distribute"])
def test_a_strategy_of_one_device_may_stand_for_it(home: str) -> None:
    after = migrated(*chosen("strategy", home, lines="strategy = choose(2)\n")).after
    assert CHOICE.format("tf.distribute", "'/gpu:0'") in after
    assert "drop_remainder=tf.distribute.get_strategy().num_replicas_in_sync > 1" in after
    assert "strategy = choose(2)\nwith strategy.scope():\n    model = model_fn(" in after


def test_a_call_that_returns_the_strategy_gets_a_name() -> None:
    after = migrated(*chosen("choose(2)")).after
    assert "strategy = choose(2)\nwith strategy.scope():\n    model = model_fn(" in after


@pytest.mark.parametrize(
    ("old", "new"),
    [("OneDeviceStrategy('/gpu:0')", "OneDeviceStrategy('/gpu:0', True)"),
     ("OneDeviceStrategy('/gpu:0')", "experimental.ParameterServerStrategy()")],
)  # fmt: skip
def test_others_may_not(old: str, new: str) -> None:
    file = migrated(*chosen("choose(2)", "tf.contrib.distribute"), (old, new))
    assert file.after == file.before


RUN = "strategy = tf.distribute.MirroredStrategy()\n" + CONFIG
CALLED = "def first():\n    run(1)\n\n\ndef second():\n    run(2)\n\n\nfirst()\nsecond()\n"


@pytest.mark.parametrize("made", ["tf.distribute.MirroredStrategy()", "choose(size)"])
def test_a_function_that_is_called_twice_makes_one_of_each(made: str) -> None:
    end = "estimator = tf.estimator.Estimator(model_fn, config=config)\nestimator.train(input_fn, steps=10)\n"
    lines = RUN.replace("tf.distribute.MirroredStrategy()", made) + end
    body = "".join(f"    {line}\n" for line in lines.splitlines())
    function = CHOICE.format("tf.distribute", "'/gpu:0'") + f"def run(size):\n{body}\n\n"
    after = migrated((RUN + end, function + CALLED), ("([[1.0], [2.0]], [[0.5], [1.0]])", "rows")).after
    assert f"    strategy = {made}\n    with strategy.scope():\n        model = model_fn(" in after
    assert "        model.fit(input_fn().take(10))\n" in after
    assert "model.distribute_strategy" not in after


CHOOSING = """def choose(count, how=None):
    if count < 2:
        return tf.contrib.distribute.OneDeviceStrategy("device:GPU:0")
    if how:
        ops = tf.contrib.distribute.AllReduceCrossTowerOps(how)
        return tf.contrib.distribute.MirroredStrategy(num_gpus=count, cross_tower_ops=ops)
    return tf.contrib.distribute.MirroredStrategy(num_gpus=count)


"""


@pytest.mark.parametrize("line", ["strategy = choose(4)\n", "strategy = choose(4, 'nccl')\n"])
def test_a_function_that_makes_one_of_several_strategies(line: str) -> None:
    file = migrated((STRATEGY, CHOOSING + line))
    assert '        return tf.distribute.OneDeviceStrategy("device:GPU:0")\n    if how:\n' in file.after
    assert file.after.count('tf.distribute.MirroredStrategy(devices=[f"/gpu:{i}" for i in range(count)])') == 2
    assert "contrib" not in file.after
    assert "drop_remainder=tf.distribute.get_strategy().num_replicas_in_sync > 1" in file.after
    assert f"{line}with strategy.scope():\n" in file.after
    assert ["`cross_tower_ops=` is removed" in f.message for f in file.findings if f.code == "TFM014"] == [True]


def test_strategies_of_two_arms() -> None:
    arms = "if big:\n    strategy = tf.distribute.MirroredStrategy(['/gpu:1'])\nelse:\n    " + STRATEGY
    file = migrated((STRATEGY, arms))
    assert f"{arms}with strategy.scope():\n" in file.after
    assert "drop_remainder=True" in file.after


def test_strategies_that_are_made_for_the_config_alone_are_refused() -> None:
    made = "tf.distribute.MirroredStrategy(['/gpu:1']) if big else tf.distribute.MirroredStrategy()"
    config = CONFIG.replace("=strategy, eval_distribute=strategy", f"={made}")
    assert "not always a MirroredStrategy" in refusal((STRATEGY, ""), (CONFIG, config))


SOMETIMES = """def choose(count):
    if count == 1:
        return tf.distribute.OneDeviceStrategy('/gpu:0')
    elif count > 1:
        return tf.distribute.MirroredStrategy()
    else:
        return None


"""


FIRST = "    if count == 1:\n        return tf.distribute.OneDeviceStrategy('/gpu:0')\n    elif"


@pytest.mark.parametrize("function", [SOMETIMES, SOMETIMES.replace(FIRST, "    if")])
def test_a_function_that_returns_no_strategy_returns_the_default_one(function: str) -> None:
    file = migrated((STRATEGY, f"{function}strategy = choose(4)\n"))
    assert function.replace("return None", "return tf.distribute.get_strategy()") in file.after
    assert "strategy = choose(4)\nwith strategy.scope():\n" in file.after
    assert "num_replicas_in_sync > 1" in file.after
    config = CONFIG.replace("=strategy, eval_distribute=strategy", "=choose(4)")
    inline = migrated((STRATEGY, function), (CONFIG, config))
    assert "strategy = choose(4)\nwith strategy.scope():\n" in inline.after


@pytest.mark.parametrize(
    "lines",
    [
        f"{SOMETIMES}strategy = choose(4)\nprint(strategy is None)\n",
        f"{SOMETIMES}strategy = choose(4)\nprint(choose(2))\n",
        SOMETIMES.replace("return None", "return") + "strategy = choose(4)\n",
    ],
)
def test_a_strategy_that_may_be_none_elsewhere_is_refused(lines: str) -> None:
    assert "not always a MirroredStrategy" in refusal((STRATEGY, lines))


RUNNING_OUT = "def choose(count):\n    if count > 1:\n        return tf.distribute.MirroredStrategy()\n\n\n"


@pytest.mark.parametrize(
    "function",
    [
        RUNNING_OUT,
        RUNNING_OUT.replace("if count > 1", "for _ in range(count)"),
        RUNNING_OUT.replace("if count > 1", "try").replace(
            "\n\n\n", "\n    except ValueError:\n        print(count)\n\n\n"
        ),
    ],
)
def test_a_function_that_may_end_without_a_strategy_is_refused(function: str) -> None:
    assert "choose() may end without a strategy" in refusal((STRATEGY, f"{function}strategy = choose(4)\n"))


@pytest.mark.parametrize(
    "function",
    [
        "def choose(count):\n    print(count)\n    return tf.distribute.MirroredStrategy()\n\n\n",
        "def choose(count):\n    with tf.name_scope('s'):\n        return tf.distribute.MirroredStrategy()\n\n\n",
        "def choose(n):\n    try:\n        return tf.distribute.MirroredStrategy()\n"
        "    except OSError:\n        raise\n\n\n",
    ],
)
def test_a_function_that_always_ends_with_a_strategy_is_followed(function: str) -> None:
    assert (
        "strategy = choose(4)\nwith strategy.scope():\n"
        in migrated((STRATEGY, f"{function}strategy = choose(4)\n")).after
    )
