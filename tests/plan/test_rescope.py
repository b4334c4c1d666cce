"""What moves into a scope that is there already: over files, objects and branches, and what must not move."""

from __future__ import annotations

import textwrap

import pytest

from tfmigrate.result import FileResult
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

HEAD = """\
import tensorflow as tf
from tensorflow.keras.layers import Dense, Input
from tensorflow.keras.models import Sequential
"""


def migrated(body: str, **others: str) -> FileResult:
    sources = {f"{name}.py": textwrap.dedent(text).lstrip("\n") for name, text in others.items()}
    *rest, file = migrate_sources({**sources, "train.py": HEAD + textwrap.dedent(body).lstrip("\n")}, Settings())
    assert not any(one.changed for one in rest)
    assert file.error is None
    return file


def codes(file: FileResult) -> list[tuple[str, str]]:
    return [(finding.code, finding.action) for finding in file.findings]


def test_the_call_of_a_builder_in_another_file_moves() -> None:
    file = migrated(
        """
        from nets import build

        strategy = tf.distribute.MirroredStrategy()
        model = build()
        with strategy.scope():
            model.compile(loss="mse", optimizer="adam")
        """,
        nets="""
        from tensorflow.keras.layers import Dense, Input
        from tensorflow.keras.models import Sequential


        def build():
            return Sequential([Input((4,)), Dense(1)])
        """,
    )
    assert codes(file) == [("TFM411", "rewrite")]
    assert 'scope():\n    model = build()\n    model.compile(loss="mse"' in file.after


def test_a_strategy_kept_in_an_object() -> None:
    file = migrated("""
        class Trainer:
            def __init__(self):
                self.strategy = tf.distribute.MirroredStrategy()
                self.optimizer = tf.keras.optimizers.Adam()
                with self.strategy.scope():
                    self.model = Sequential([Input((4,)), Dense(1)])
                    self.model.compile(loss="mse", optimizer=self.optimizer)


        Trainer()
    """)
    assert codes(file) == [("TFM412", "rewrite")]
    assert "self.strategy.scope():\n            self.optimizer = tf.keras.optimizers.Adam()\n" in file.after


def test_a_model_built_in_one_arm_is_compiled_under_its_own_strategy() -> None:
    file = migrated("""
        if gpus > 1:
            strategy = tf.distribute.MirroredStrategy()
            with strategy.scope():
                model = Sequential([Input((4,)), Dense(1)])
        else:
            model = Sequential([Input((4,)), Dense(1)])
        model.compile(loss="mse", optimizer="adam")
    """)
    assert codes(file) == [("TFM412", "rewrite")]
    assert "with model.distribute_strategy.scope():\n    model.compile" in file.after


LATE = """
    model = Sequential([Input((4,)), Dense(1)])
    {lines}
    strategy = tf.distribute.MirroredStrategy({devices})
    with strategy.scope():
        model.compile(loss="mse", optimizer="adam")
"""


@pytest.mark.parametrize(
    ("lines", "devices"),
    [
        ('devices = ["/gpu:0", "/gpu:1"]', "devices"),
        ("count = 2", '[f"/gpu:{i}" for i in range(count)]'),
        ('first = "/gpu:1"\n    devices = [first]', "devices=devices"),
    ],
)
def test_what_a_strategy_is_made_of_is_made_before_the_model_too(lines: str, devices: str) -> None:
    file = migrated(LATE.format(lines=lines, devices=devices))
    made = f"strategy = tf.distribute.MirroredStrategy({devices})\nwith strategy.scope():\n    model = Sequential("
    assert lines.replace("    ", "") + "\n" + made in file.after


@pytest.mark.parametrize(
    ("lines", "devices"),
    [
        ('devices = []\n    devices.append("/gpu:0")', "devices"),
        ("count = 1\n    count += 1", '[f"/gpu:{i}" for i in range(count)]'),
        ("count = int(input())", '[f"/gpu:{i}" for i in range(count)]'),
        ('devices = ["/gpu:0"]\n    devices[0] = "/gpu:1"', "devices"),
    ],
)
def test_a_strategy_stays_below_what_changes_its_devices(lines: str, devices: str) -> None:
    file = migrated(LATE.format(lines=lines, devices=devices))
    assert codes(file) == [("TFM411", "warn")]
    assert not file.changed


def test_a_strategy_bound_in_each_arm_is_known_after_them() -> None:
    file = migrated("""
        if gpus > 1:
            strategy = tf.distribute.MirroredStrategy()
        else:
            strategy = tf.distribute.get_strategy()
        optimizer = tf.keras.optimizers.Adam()
        with strategy.scope():
            model = Sequential([Input((4,)), Dense(1)])
            model.compile(loss="mse", optimizer=optimizer)
    """)
    assert codes(file) == [("TFM412", "rewrite")]
    assert "with strategy.scope():\n    optimizer = tf.keras.optimizers.Adam()\n    model" in file.after


def test_a_strategy_bound_in_one_arm_only_is_not_reached_for() -> None:
    file = migrated("""
        if gpus > 1:
            strategy = tf.distribute.MirroredStrategy()
        model = Sequential([Input((4,)), Dense(1)])
        with strategy.scope():
            model.compile(loss="mse", optimizer="adam")
    """)
    assert codes(file) == [("TFM411", "warn")]
    assert not file.changed


def test_the_arm_of_one_device_may_build_outside() -> None:
    file = migrated("""
        strategy = tf.distribute.MirroredStrategy() if gpus > 1 else tf.distribute.get_strategy()
        if gpus > 1:
            with strategy.scope():
                model = Sequential([Input((4,)), Dense(1)])
        else:
            model = Sequential([Input((4,)), Dense(1)])
        with strategy.scope():
            model.compile(loss="mse", optimizer="adam")
    """)
    assert codes(file) == []


def test_a_call_that_trains_is_not_taken_into_the_scope() -> None:
    file = migrated("""
        def train():
            model = Sequential([Input((4,)), Dense(1)])
            model.compile(loss="mse", optimizer="adam")
            model.fit(x, y)
            return model


        strategy = tf.distribute.MirroredStrategy()
        model = train()
        with strategy.scope():
            model.compile(loss="mse", optimizer="adam")
        model.fit(x, y)
    """)
    assert codes(file) == [("TFM411", "warn")]
    assert not file.changed


def test_the_setting_up_of_devices_stays_before_the_strategy() -> None:
    file = migrated("""
        model = Sequential([Input((4,)), Dense(1)])
        os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            model.compile(loss="mse", optimizer="adam")
    """)
    assert codes(file) == [("TFM411", "warn")]
    assert not file.changed


def test_the_optimizer_of_a_model_that_a_library_builds() -> None:
    body = """
        from nets import resnet

        {}
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            {}
            model = resnet(10)
            model.compile(optimizer=optimizer, loss="mse")
        """
    momentum = "optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)"
    file = migrated(body.format(momentum, "pass"))
    assert codes(file) == [("TFM412", "rewrite")]
    assert f"scope():\n    {momentum}\n    pass\n" in file.after
    assert not codes(migrated(body.format("pass", momentum)))
    assert not codes(migrated(body.format("optimizer = tf.keras.optimizers.SGD(0.1)", "pass")))
    assert not codes(migrated(body.format("optimizer = 'adam'", "pass")))


SEVERAL = """
gpus = len(tf.config.list_physical_devices("GPU"))
if gpus > 1:
    strategy = tf.distribute.MirroredStrategy()
else:
    strategy = None
if gpus > 1:
    with strategy.scope():
        model = Sequential([Input((4,)), Dense(1)])
else:
    model = Sequential([Input((4,)), Dense(1)])
optimizer = tf.keras.optimizers.Adam(0.1)
if gpus > 1:
    with strategy.scope():
        model.compile(loss="mse", optimizer=optimizer)
else:
    model.compile(loss="mse", optimizer=optimizer)
model.fit(x, y)
"""


def test_a_name_that_may_be_none_is_no_scope_and_the_other_arm_does_without() -> None:
    file = migrated(SEVERAL)
    old, new = "optimizer = tf.keras.optimizers.Adam(0.1)\n", "with model.distribute_strategy.scope():\n    "
    assert file.after == HEAD + SEVERAL.lstrip("\n").replace(old, new + old)
    assert codes(file) == [("TFM412", "rewrite")]


def test_nor_is_it_where_the_choice_is_one_expression() -> None:
    chosen = "strategy = tf.distribute.MirroredStrategy() if gpus > 1 else None\n"
    head, _, rest = SEVERAL.lstrip("\n").partition("if gpus")
    body = head + chosen + rest.partition("strategy = None\n")[2]
    file = migrated(body)
    assert "with model.distribute_strategy.scope():\n    optimizer = " in file.after
    assert codes(file) == [("TFM412", "rewrite")]


def test_behind_the_line_that_makes_the_strategy_it_is_one() -> None:
    file = migrated(
        """
        strategy = None
        if gpus > 1:
            strategy = tf.distribute.MirroredStrategy()
            model = Sequential([Input((4,)), Dense(1)])
            with strategy.scope():
                model.compile(loss="mse", optimizer="adam")
            model.fit(x, y)
        """
    )
    assert "    with strategy.scope():\n        model = Sequential" in file.after
    assert codes(file) == [("TFM411", "rewrite")]


def test_the_other_arm_does_not_do_without_where_the_strategy_is_always_made() -> None:
    file = migrated(
        """
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            model = Sequential([Input((4,)), Dense(1)])
        if fast:
            with strategy.scope():
                model.compile(loss="mse", optimizer="adam")
        else:
            model.compile(loss="mse", optimizer="rmsprop")
        model.fit(x, y)
        """
    )
    assert codes(file) == [("TFM412", "rewrite")]


def test_a_model_that_another_module_builds_through_a_table() -> None:
    body = (
        "from tensorflow.keras.layers import Dense\nfrom tensorflow.keras.models import Model\n\n\n"
        "def body(inputs, width=1):\n    return Model(inputs, Dense(width)(inputs))\n"
    )
    table = (
        "from functools import partial\n\nfrom tensorflow.keras.layers import Input\nfrom body import body\n\n"
        "TABLE = {'a': [partial(body, width=1)], 'b': [partial(body, width=2)]}\n\n\n"
        "def get(kind):\n    return TABLE[kind][0](Input((4,)))\n"
    )
    train = (
        "import tensorflow as tf\nfrom table import get\n\nwith tf.distribute.MirroredStrategy().scope():\n"
        "    model = get(kind)\nmodel.compile('adam', 'mse')\nmodel.fit(x, y)\n"
    )
    files = migrate_sources({"body.py": body, "table.py": table, "train.py": train}, Settings())
    assert [file.error for file in files if file.error] == []
    assert [(file.path, found.code) for file in files for found in file.findings] == [("train.py", "TFM412")]


def test_an_optimizer_is_moved_where_the_strategy_may_be_of_one_device() -> None:
    file = migrated("""
        if gpus > 1:
            strategy = tf.distribute.MirroredStrategy()
        else:
            strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
        optimizer = tf.keras.optimizers.Adam()
        with strategy.scope():
            model = Sequential([Input((4,)), Dense(1)])
            model.compile(loss="mse", optimizer=optimizer)
        model.fit(x, y, batch_size=8)
        """)
    assert codes(file) == [("TFM412", "rewrite")]
    assert "scope():\n    optimizer = tf.keras.optimizers.Adam()\n    model" in file.after


def test_an_optimizer_is_told_where_the_strategy_may_be_that_of_tpus() -> None:
    file = migrated("""
        try:
            strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
        except ValueError:
            strategy = tf.distribute.MirroredStrategy()
        optimizer = tf.keras.optimizers.Adam()
        with strategy.scope():
            model = Sequential([Input((4,)), Dense(1)])
            model.compile(loss="mse", optimizer=optimizer)
        """)
    assert codes(file) == [("TFM412", "warn")]


def test_what_stands_in_the_body_of_a_class_is_told() -> None:
    file = migrated("""
        class Training:
            model = Sequential([Input((4,)), Dense(1)])
            strategy = tf.distribute.MirroredStrategy()
            with strategy.scope():
                model.compile(loss="mse", optimizer="sgd")
            model.fit(x, y, batch_size=8)
        """)
    assert codes(file) == [("TFM427", "warn")]


def test_scopes_in_the_arms_of_a_choice_stay_there() -> None:
    file = migrated(
        """
        from files import saved

        strategy = tf.distribute.MirroredStrategy()
        optimizer = tf.keras.optimizers.Adam(0.1)
        print("ready")
        if saved:
            with strategy.scope():
                model = Sequential([Input((8,)), Dense(1)])
        else:
            with strategy.scope():
                model = Sequential([Input((4,)), Dense(1)])
        with strategy.scope():
            model.compile(loss="mse", optimizer=optimizer)
        model.fit(batches)
        """
    )
    moved = 'with strategy.scope():\n    optimizer = tf.keras.optimizers.Adam(0.1)\nprint("ready")\nif saved:\n'
    assert moved in file.after
    assert file.after.count("with strategy.scope():") == 4
