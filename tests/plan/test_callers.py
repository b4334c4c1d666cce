"""What callers pass: which of them get a strategy, and how many GPUs it has."""

from __future__ import annotations

from textwrap import dedent

import libcst as cst
import pytest

from tests.kit import codes, migrate
from tfmigrate.result import FileResult
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings
from tfmigrate.understand.folding import constant

NET = """
    from keras.layers import Dense
    from keras.models import Sequential
    from keras.utils import multi_gpu_model


    def net():
        model = Sequential()
        model.add(Dense(1, input_shape=(4,)))
        return model


"""
FOUR = "strategy = tf.distribute.MirroredStrategy(devices=['/gpu:0', '/gpu:1', '/gpu:2', '/gpu:3'])\n"
ON_TWO = "strategy = tf.distribute.MirroredStrategy(devices=['/gpu:0', '/gpu:1'])\n"


def one(code: str) -> FileResult:
    return migrate(dedent(NET + code).lstrip("\n"))


TRAIN = """
    def train(model, data, gpus{default}):
        if {several}:
            model = multi_gpu_model(model, gpus)
        model.compile("sgd", "mse")
        model.fit(data)


"""


@pytest.mark.parametrize(
    "several", ["gpus > 1", "gpus is not None and gpus > 1", "gpus", "not (gpus is None or gpus < 2)"]
)
def test_a_number_that_a_caller_writes_decides_the_condition(several: str) -> None:
    file = one(TRAIN.format(default="=None", several=several) + "    train(net(), batches, gpus=4)\n")
    assert f"\n\n{FOUR}with strategy.scope():\n    train(net(), batches, gpus=4)\n" in file.after.replace('"', "'")


def test_the_caller_that_asks_for_one_gpu_gets_no_strategy() -> None:
    """The function that builds the model makes none, for its models would all have four GPUs then."""
    calls = "    train(net(), batches, 4)\n    train(net(), batches, 1)\n"
    file = one(TRAIN.format(default="", several="gpus > 1") + calls)
    assert file.after.count("MirroredStrategy") == 1
    assert file.after.endswith("with strategy.scope():\n    train(net(), batches, 4)\ntrain(net(), batches, 1)\n")
    assert "def net():\n    model = Sequential()\n" in file.after


PARALLEL = """
    def parallel(model, gpus=1):
        if gpus > 1:
            model = multi_gpu_model(model, gpus)
        return model


    def few(data):
        {few}
        model.compile("sgd", "mse")
        model.fit(data)


    def many(data):
        model = parallel(net(), 4)
        model.compile("sgd", "mse")
        model.fit(data)


"""


@pytest.mark.parametrize("few", ["count = 1", "count: int = 1", "first = 1\n        count = first"])
def test_a_number_of_one_gpu_that_the_program_sets_gets_a_strategy_beside_others(few: str) -> None:
    """It would train on one GPU for good else, whatever the number is set to later."""
    file = one(PARALLEL.format(few=f"{few}\n        model = parallel(net(), count)"))
    first, _, second = file.after.partition("def many(")
    assert "range(count)" in first
    assert "if count > 1\n        else tf.distribute.get_strategy()" in first
    assert "'/gpu:3'" in second.replace('"', "'")
    assert [finding for finding in file.findings if finding.action != "rewrite"] == []


def test_a_class_attribute_is_such_a_setting() -> None:
    settings = "    class Settings:\n        GPUS = 1\n\n\n"
    file = one(settings + PARALLEL.format(few="model = parallel(net(), Settings.GPUS)"))
    assert "range(Settings.GPUS)" in file.after


@pytest.mark.parametrize("few", ["parallel(net(), 1)", "parallel(net(), gpus=1)", "parallel(net())"])
def test_a_number_that_the_call_itself_says_is_no_setting(few: str) -> None:
    file = one(PARALLEL.format(few=f"model = {few}"))
    assert file.after.count("MirroredStrategy") == 1
    assert "def few(data):\n    model = net()\n" in file.after


def test_a_setting_of_one_gpu_that_would_keep_others_from_a_strategy_is_reported() -> None:
    code = """
    count = 1
    first = train(net(), batches, count)
    second = train(net(), batches, 4)
    """
    file = one(TRAIN.format(default="", several="gpus > 1") + code)
    assert file.after.count("MirroredStrategy") == 1
    assert "first = train(net(), batches, count)" in file.after
    (reported,) = (finding for finding in file.findings if finding.action == "warn")
    assert (reported.code, reported.line) == ("TFM103", 22)
    assert "is set now" in reported.message


def test_callers_that_ask_for_different_numbers_are_refused() -> None:
    calls = "    train(net(), batches, 4)\n    train(net(), batches, 2)\n"
    file = one(TRAIN.format(default="", several="gpus > 1") + calls)
    assert codes(file, "refuse") == ["TFM107"]


TWO = """
    def spread(model):
        return multi_gpu_model(model, {gpus})


    def first(data):
        model = net()
        model = spread(model)
        model.compile("sgd", "mse")
        model.fit(data)


    def second(data):
        model = net()
        model.compile("adam", "mse")
        model.fit(data)
"""


@pytest.mark.parametrize("gpus", ["4", "None"])
def test_a_model_of_the_same_builder_that_is_not_wrapped_stays_on_one_gpu(gpus: str) -> None:
    file = one(TWO.format(gpus=gpus))
    assert file.status == "migrated"
    before, _, after = file.after.partition("def second(data):\n")
    assert "    with strategy.scope():\n        model = net()\n        model.compile(" in before
    assert "spread" not in before
    assert after == '    model = net()\n    model.compile("adam", "mse")\n    model.fit(data)\n'


OBJECT = """
    class Trainer:
        def __init__(self):
            self.model = Sequential()
            self.model.add(Dense(1, input_shape=(4,)))

        def train(self, data, gpus=None):
            parallel = self.model
            if gpus:
                parallel = multi_gpu_model(self.model, gpus)
            parallel.compile("sgd", "mse")
            parallel.fit(data)


    Trainer().train(batches, gpus=4)
    other = Trainer()
    other.train(batches)
"""


def test_an_object_whose_caller_passes_no_number_gets_no_strategy() -> None:
    file = one(OBJECT)
    assert file.status == "migrated"
    assert (
        "with strategy.scope():\n    Trainer().train(batches, gpus=4)\nother = Trainer()\nother.train(batches)\n"
        in file.after
    )
    assert "        with parallel.distribute_strategy.scope():\n            parallel.compile(" in file.after


LATER = """
    def train(data, args, gpus=None):
        model = net()
        {later}
        model = multi_gpu_model(model, gpus)
        model.compile("sgd", "mse")
        model.fit(data)
"""


@pytest.mark.parametrize(
    ("later", "number"),
    [
        ("if gpus is None:\n            gpus = 2", "2 if gpus is None else gpus"),
        ("if args.many:\n            gpus = 4\n        else:\n            gpus = 2", "4 if args.many else 2"),
        ("gpus = 2\n        if args.many:\n            gpus = args.all", "args.all if args.many else 2"),
        (
            "if gpus is None:\n            gpus = 2\n        elif gpus < 0:\n            gpus = args.all",
            "2 if gpus is None else args.all if gpus < 0 else gpus",
        ),
    ],
)
def test_a_number_that_hangs_on_a_condition_is_written_as_a_choice(later: str, number: str) -> None:
    file = one(LATER.format(later=later))
    assert file.status == "migrated"
    assert f"for i in range({number})]" in file.after


def test_a_condition_that_is_a_choice_stands_in_parentheses() -> None:
    file = one("""
    def train(data, args):
        many = False
        model = net()
        if args.gpus is not None:
            number = len(args.gpus.split(","))
            many = number > 1
        if many:
            model = multi_gpu_model(model, number)
        model.compile("sgd", "mse")
    """)
    assert file.status == "migrated"
    assert 'if (len(args.gpus.split(",")) > 1 if args.gpus is not None else False)\n        else tf.' in file.after


@pytest.mark.parametrize(
    ("number", "written"),
    [("gpus = 2 if gpus is None else gpus", "(2 if gpus is None else gpus)"), ("gpus = gpus or 2", "(gpus or 2)")],
)
def test_a_number_that_is_a_choice_is_compared_in_parentheses(number: str, written: str) -> None:
    file = one(f"""
    def train(data, gpus=None):
        model = net()
        {number}
        try:
            model = multi_gpu_model(model, gpus)
        except ValueError:
            pass
        model.compile("sgd", "mse")
    """)
    assert file.status == "migrated"
    assert f" >= {written}\n" in file.after


@pytest.mark.parametrize(
    "later",
    [
        "if asked():\n            gpus = 2",
        "if gpus is None:\n            gpus = count()",
        "for gpus in args.tried:\n            pass",
        "try:\n            gpus = args.many\n        except AttributeError:\n            gpus = 2",
        "for number in args.tried:\n            if number > 1:\n                gpus = number",
        "if gpus is None:\n            gpus = 2\n        gpus += args.more",
    ],
)
def test_a_number_whose_choice_cannot_be_asked_early_is_refused(later: str) -> None:
    file = one(LATER.format(later=later))
    assert codes(file, "refuse") == ["TFM103"]


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("4 is not None and 4 > 1", True),
        ("1 > 1", False),
        ("not None", True),
        ("0 or gpus > 1", None),
        ("1 or gpus > 1", True),
        ("(4 if 4 is not None else 2) > 2", True),
        ("None > 1", None),
        ("2 in 3", None),
        ("gpus", None),
    ],
)
def test_conditions_of_constants(condition: str, holds: bool | None) -> None:
    found = constant(cst.parse_expression(condition))
    assert (None if found is None else bool(found.value)) is holds


SETS = """
    class Net:
        def __init__(self, num_gpus):
            {begin}

        def build(self):
            self.model = net()

        def spread(self):
            self.model = multi_gpu_model(self.model, self.num_gpus)
            self.model.compile("sgd", "mse")


    def main(num_gpus):
        job = Net(num_gpus)
        job.spread()
        job.model.fit(batches)
"""


@pytest.mark.parametrize(
    ("begin", "number"),
    [
        ("self.num_gpus = num_gpus\n            self.build()", "self.num_gpus"),
        ("self.build()\n            self.num_gpus = num_gpus", "num_gpus"),
        ("self.model = net()\n            self.num_gpus = int(num_gpus)", "int(num_gpus)"),
    ],
)
def test_a_number_that_the_object_keeps_only_after_the_model_is_built_is_taken_from_where_it_comes(
    begin: str, number: str
) -> None:
    file = one(SETS.format(begin=begin))
    assert file.status == "migrated"
    assert f"for i in range({number})]" in file.after


@pytest.mark.parametrize(
    "begin",
    [
        "self.build()\n            if num_gpus:\n                self.num_gpus = num_gpus",
        "self.build()\n            self.num_gpus = self.count()",
        "self.build()\n            self.num_gpus = num_gpus\n            self.num_gpus = 2",
        "self.build()\n            self.num_gpus, self.rest = num_gpus, 0",
    ],
)
def test_for_a_number_that_the_object_may_not_keep_the_model_is_copied(begin: str) -> None:
    file = one(SETS.format(begin=begin))
    assert "replicated(self." in file.after


KEEPS = """
    class Net:
        def __init__(self, num_gpus=None):
            self.model = net()
            self.num_gpus = num_gpus
            self.parallel = multi_gpu_model(self.model, self.num_gpus) if self.num_gpus else self.model
            self.parallel.compile("sgd", "mse")
"""


def test_a_number_kept_in_the_method_that_wraps_is_written_where_it_comes_from() -> None:
    file = one(KEEPS)
    assert file.status == "migrated"
    assert "for i in range(num_gpus)])\n            if num_gpus\n            else" in file.after


BY_PROPERTY = """
    class Net:
        def __init__(self, found):
            self.names, self._gpus = found

        @property
        def gpus(self):
            'How many.'
            {given}

        def build(self, training):
            self.model = net()
            self.spread(several=training == "train")

        def spread(self, several=False):
            if self.gpus > 1 and several:
                self.model = multi_gpu_model(self.model, gpus=self.gpus)
            self.model.compile("sgd", "mse")
            {later}


    def main(found, training):
        job = Net(found)
        job.build(training)
        job.model.fit(batches)
"""


def test_a_property_of_what_the_object_keeps_from_the_beginning_is_known_early() -> None:
    file = one(BY_PROPERTY.format(given="return self._gpus", later="pass"))
    assert file.status == "migrated"
    _, _, built = file.after.replace("'", '"').partition("def build(self, training):\n")
    assert built.startswith(
        """        strategy = (
            tf.distribute.MirroredStrategy(devices=[f"/gpu:{i}" for i in range(self.gpus)])
            if self.gpus > 1 and training == "train"
            else tf.distribute.get_strategy()
        )
        with strategy.scope():
            self.model = net()
"""
    )


@pytest.mark.parametrize(
    ("given", "later"),
    [
        ("return len(self._gpus)", "pass"),
        ("return self._gpus", "self._gpus = 1"),
        ("return self._gpus", "self._gpus += 1"),
        ("return self._gpus", "self.names, self._gpus = [], 1"),
    ],
)
def test_a_property_that_may_change_is_asked_by_the_caller(given: str, later: str) -> None:
    file = one(BY_PROPERTY.format(given=given, later=later))
    assert "    job = Net(found)\n    strategy = (\n" in file.after
    assert "for i in range(job.gpus)])\n        if job.gpus > 1 and training ==" in file.after


SET_BETWEEN = """
    class Net:
        def __init__(self):
            self.num_gpus = 1

        def prepare(self, num_gpus):
            self.num_gpus = num_gpus

        def prepare_all(self, num_gpus):
            self.prepare(num_gpus)

        def build(self):
            self.model = net()

        def train(self, num_gpus):
            self.build()
            {between}
            self.spread()

        def spread(self):
            self.model = multi_gpu_model(self.model, gpus=self.num_gpus)
            self.model.compile("sgd", "mse")


    def main(num_gpus):
        job = Net()
        {before}
        job.train(num_gpus)
"""


@pytest.mark.parametrize(
    "between", ["self.num_gpus = num_gpus", "self.prepare(num_gpus)", "self.prepare_all(num_gpus)"]
)
def test_a_number_that_is_set_on_the_way_to_the_wrap_is_not_asked_before(between: str) -> None:
    file = one(SET_BETWEEN.format(between=between, before="pass"))
    assert "replicated(self." in file.after
    assert "job.num_gpus" not in file.after


@pytest.mark.parametrize("before", ["job.num_gpus = num_gpus", "job.prepare(num_gpus)", "job.prepare_all(num_gpus)"])
def test_a_number_that_is_set_before_is_asked_of_the_object(before: str) -> None:
    file = one(SET_BETWEEN.format(between="pass", before=before))
    assert f"    {before}\n    strategy = tf.distribute.MirroredStrategy(" in file.after
    assert "for i in range(job.num_gpus)])\n" in file.after


OBJECTS = """
    class Net:
        def __init__(self):
            self.model = net()

        def spread(self):
            self.model = multi_gpu_model(self.model, 2)

        def train(self, data):
            self.model.compile("sgd", "mse")
            self.model.fit(data)


    def main(data):
        big = Net()
        big.spread()
        big.train(data)
        small = Net()
        {small}
        small.train(data)
"""


def test_an_object_whose_model_is_not_wrapped_keeps_it_on_one_gpu() -> None:
    file = one(OBJECTS.format(small="pass"))
    assert "    with strategy.scope():\n        big = Net()\n" in file.after
    assert "    small = Net()\n    pass\n    small.train(data)\n" in file.after


def test_objects_whose_models_are_all_wrapped_make_their_strategy_themselves() -> None:
    file = one(OBJECTS.format(small="small.spread()"))
    assert "        with strategy.scope():\n            self.model = net()\n" in file.after


def test_a_method_gives_back_what_its_own_object_holds() -> None:
    file = one("""
    class Net:
        def __init__(self):
            self.inner = Sequential([Dense(1, input_shape=(4,))])

        def model(self):
            return self.inner


    def train(data, gpus=None):
        model = Net().model()
        if gpus:
            model = multi_gpu_model(model, gpus)
        model.compile("sgd", "mse")
        model.fit(data)


    def predict(data, gpus=None):
        model = Net().model()
        if gpus:
            model = multi_gpu_model(model, gpus)
        model.load_weights("trained.h5")
        return model.predict(data)


    train(batches, gpus=4)
""")
    assert file.status == "migrated"
    for name in ("train", "predict"):
        body = file.after.partition(f"def {name}")[2].partition("\n\n\n")[0]
        assert "if gpus\n" in body or " if gpus else " in body
        assert "    with strategy.scope():\n        model = Net().model()\n" in body


INNER = """
    from keras.layers import Input
    from keras.models import Model


    def features(inputs):
        inner = Model(inputs, Dense(8)(inputs))
        return [inner.get_layer("dense_1").output]


    def first(data):
        inputs = Input((4,))
        model = Model(inputs, Dense(1)(features(inputs)[0]))
        model.compile("sgd", "mse")
        model.fit(data)


    def second(data):
        inputs = Input((4,))
        model = Model(inputs, Dense(1)(features(inputs)[0]))
        model = multi_gpu_model(model, 2)
        model.compile("sgd", "mse")
        model.fit(data)
"""


def test_what_a_second_call_gives_back_of_a_model_was_made_by_that_call() -> None:
    file = one(INNER)
    assert file.status == "migrated"
    first, _, second = file.after.partition("def second")
    assert "strategy" not in first
    assert "    with strategy.scope():\n        inputs = Input((4,))\n" in second


SETTINGS = """
    from keras.layers import Input
    from keras.models import Model


    def train(base, config, data):
        size = config.getint("net", "size")
        title = config.name_of(data)
        print(size, title)
        inputs = Input((size, size, 3))
        features = base(input_tensor=inputs, input_shape=(size, size, 3), weights=None)
        model = Model(inputs, Dense(1)(features.output), name=title)
        model = multi_gpu_model(model, 2)
        model.compile("sgd", "mse")
        model.fit(data)
"""


def test_a_setting_that_is_passed_beside_tensors_is_no_part_of_the_model() -> None:
    before, _, after = one(SETTINGS).after.partition("    with strategy.scope():\n")
    assert '    size = config.getint("net", "size")\n    title = config.name_of(data)\n    print(' in before
    assert after.startswith("        inputs = Input(")
    assert "getint" not in after


PARTS = """
    def networks(kind):
        parts = None
        if kind == "small":
            parts = {{"trained": net(), "served": net()}}
        elif kind == "large":
            parts = dict(trained=net(), served=net())
        return [parts["trained"], parts["served"]]


    def train(data, kind, gpus):
        trained, served = networks(kind)
        if gpus > 1:
            {name} = multi_gpu_model({name}, gpus)
        {name}.compile("sgd", "mse")
        {name}.fit(data)
        return trained, served
"""


@pytest.mark.parametrize("name", ["trained", "served"])
def test_models_of_a_dict_that_is_none_at_first_are_told_apart(name: str) -> None:
    file = one(PARTS.format(name=name))
    assert file.status == "migrated"
    assert "    with strategy.scope():\n        trained, served = networks(kind)\n" in file.after
    assert f"        {name}.compile(" in file.after


def test_a_caller_on_one_gpu_alone_keeps_what_wraps_on_several_from_its_wrap() -> None:
    """Both ask for the GPUs of the machine, each in words of its own, so their answers go together."""
    file = one(
        """
    from tensorflow.python.client import device_lib


    def gpus():
        return [one.name for one in device_lib.list_local_devices() if one.device_type == "GPU"]


    def built(size):
        count = len(gpus())
        if count >= 2:
            model = multi_gpu_model(net(), gpus=count)
        else:
            model = net()
        model.compile("sgd", "mse")
        return model


    def transferred(size):
        count = len(gpus())
        if count >= 2:
            model = multi_gpu_model(built(size), gpus=count)
        else:
            model = built(size)
        model.compile("sgd", "mse")
        return model


    def main(begun):
        if begun:
            model = built(8)
        else:
            model = transferred(8)
        model.fit(batches)


    main(False)
    """
    )
    assert {finding.code for finding in file.findings if finding.action == "refuse"} == set()
    assert (
        "    strategy = tf.distribute.MirroredStrategy()\n    with strategy.scope():\n        if begun:\n" in file.after
    )


STAR = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model
{before}
model = Sequential([Dense(1, input_shape=(4,))])
{after}
if gpus > 1:
    model = multi_gpu_model(model, gpus=gpus)
model.compile("sgd", "mse")
model.fit(batches)
"""


def test_a_number_that_a_star_brings_is_known_after_it() -> None:
    settings = "from settings import *"
    early, _ = migrate_sources(
        {"train.py": STAR.format(before=settings, after=""), "settings.py": "gpus = 2\n"}, Settings()
    )
    assert 'devices=[f"/gpu:{i}" for i in range(gpus)])' in early.after
    late, _ = migrate_sources(
        {"train.py": STAR.format(before="", after=settings), "settings.py": "gpus = 2\n"}, Settings()
    )
    assert codes(late, "refuse") == ["TFM103"]


@pytest.mark.parametrize(
    ("guard", "devices"),
    [("if gpus is not None:\n    ", "devices=[f'/gpu:{i}' for i in range(gpus)]"), ("", "")],
)
def test_a_number_that_is_none_while_nothing_is_wrapped_stays_the_number(guard: str, devices: str) -> None:
    code = f"gpus = None\nmodel = net()\n{guard}model = multi_gpu_model(model, gpus=gpus)\nmodel.compile('sgd')\n"
    file = migrate(dedent(NET).lstrip("\n") + code)
    assert f"tf.distribute.MirroredStrategy({devices})" in file.after


def test_each_parallel_model_has_a_template_of_its_own() -> None:
    file = one(
        """
    class Agent:
        def __init__(self, two):
            self.two = two
            self.model = net()
            if self.two:
                self.parallel = multi_gpu_model(self.model, gpus=2)
                self.parallel.compile("sgd", "mse")
            else:
                self.model.compile("sgd", "mse")
            self.target = net()
            if self.two:
                self.parallel_target = multi_gpu_model(self.target, gpus=2)
                self.parallel_target.compile("sgd", "mse")
            else:
                self.target.compile("sgd", "mse")

        def step(self, x, y):
            (self.parallel if self.two else self.model).train_on_batch(x, y)
    """
    )
    assert file.status == "migrated"
    assert "self.parallel_target = self.target\n" in file.after


def test_a_try_whose_arms_have_become_one_is_one_path() -> None:
    file = one(
        """
    class Gan:
        def critic(self):
            return net()

        def compile(self):
            try:
                self.critic = multi_gpu_model(self.critic(), gpus=2)
            except ValueError:
                self.critic = self.critic()
            self.critic.compile("sgd", "mse")
    """
    )
    scope = "        with strategy.scope():\n"
    first, second = "            self.critic = self.critic()\n", '            self.critic.compile("sgd", "mse")\n'
    assert file.after.endswith(scope + first + second)
    assert 'list_physical_devices("GPU")) >= 2' in file.after


def test_what_only_says_where_the_weights_are_kept_may_be_spread() -> None:
    code = """
    def spread(model, gpus=4, **options):
        return multi_gpu_model(model, gpus=gpus, **options)


    model = spread(net(), 2, cpu_merge=False)
    model.compile("sgd", "mse")
    """
    assert f"{ON_TWO}with strategy.scope():\n    model = net()\n    model.compile(" in one(code).after.replace('"', "'")


@pytest.mark.parametrize(
    "spread",
    ["*[net(), 2]", "net(), **settings", "net(), **{'gpus': 2}", "**{'model': net(), 'cpu_merge': True, 'gpus': 2}"],
)
def test_a_number_that_is_spread_is_refused(spread: str) -> None:
    file = one(f"    model = multi_gpu_model({spread})\n")
    assert [(f.code, f.action) for f in file.findings if f.action == "refuse"] == [("TFM106", "refuse")]
    assert file.after == file.before


def test_an_attribute_that_is_set_below_the_model_is_not_known_above_it() -> None:
    """`args` is the first parameter of a plain function, as `self` is that of a method."""
    code = """
    def train(args, data):
        model = net()
        args.gpus = ask()
        model = multi_gpu_model(model, gpus=args.gpus)
        model.compile("sgd", "mse")
        model.fit(data)
    """
    assert [finding.code for finding in one(code).findings if finding.action == "refuse"] == ["TFM103"]


@pytest.mark.parametrize("leaves", ["return None", "raise ValueError(gpus)"])
def test_what_a_guard_that_left_the_function_has_decided_is_not_asked_again(leaves: str) -> None:
    code = f"""
    def build(gpus):
        if gpus <= 1:
            {leaves}
        model = net()
        parallel = multi_gpu_model(model, gpus=gpus)
        parallel.compile("sgd", "mse")
        return parallel


    build(ask()).fit(data)
    """
    after = one(code).after
    assert f"    if gpus <= 1:\n        {leaves}\n    strategy = tf.distribute.MirroredStrategy(devices=" in after
    assert "get_strategy" not in after
