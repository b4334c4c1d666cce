"""Models that are built below the lines which say how many GPUs there are: what goes down, and what stays."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.kit import check_unchanged, codes, migrate
from tfmigrate.result import FileResult
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

HEAD = """\
import argparse
import logging
import os
import sys

import numpy as np
import tensorflow as tf
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import SGD
from keras.utils import multi_gpu_model

"""


def migrated(files: dict[str, str]) -> dict[str, FileResult]:
    found = migrate_sources({path: dedent(code) for path, code in files.items()}, Settings())
    return {file.path: file for file in found}


def one(code: str) -> FileResult:
    return migrated({"train.py": HEAD + dedent(code)})["train.py"]


def refused(file: FileResult) -> bool:
    return codes(file, "refuse") == ["TFM103"] and not file.changed


BUILDER = """

def net(units=1):
    return Sequential([Dense(units, input_shape=(4,))])

"""


def function(build: str, between: str, guard: str = "if gpus > 1:", wrap: str = "gpus", more: str = "") -> FileResult:
    """A function that builds, does something, and wraps: its parameters are `opts`, `flag` and `data`."""
    body = f"{build}\n{between}\n{guard}\n    model = multi_gpu_model(model, {wrap})\nmodel.compile('adam', 'mse')\n"
    lines = "".join(f"    {line}\n" if line else "\n" for line in body.split("\n"))
    return one(f"{BUILDER}{more}\n\ndef train(opts, flag, data):\n{lines}")


LATE = """\
gpus = 0
if opts.many:
    os.environ['CUDA_VISIBLE_DEVICES'] = opts.many
    gpus = len(opts.many.split(','))
gpus += 1"""
"""What no expression says in one line, so that it cannot be written above the model instead."""


def test_a_model_goes_down_to_where_its_strategy_can_be_made() -> None:
    file = function("# The model.\nmodel = net()  # small", LATE)
    assert file.status == "migrated"
    assert file.after.partition("def train")[2] == dedent("""\
    (opts, flag, data):
        gpus = 0
        if opts.many:
            os.environ['CUDA_VISIBLE_DEVICES'] = opts.many
            gpus = len(opts.many.split(','))
        gpus += 1
        strategy = (
            tf.distribute.MirroredStrategy(devices=[f'/gpu:{i}' for i in range(gpus)])
            if gpus > 1
            else tf.distribute.get_strategy()
        )
        # The model.
        with strategy.scope():
            model = net()  # small
            model.compile('adam', 'mse')

    """)


def test_what_is_said_about_it() -> None:
    file = function("model = net()", LATE)
    (down,) = (finding for finding in file.findings if finding.code == "TFM103")
    lines = file.before.split("\n")
    assert lines[down.line - 1].strip() == "model = net()"
    assert down.action == "rewrite"
    last = next(number for number, line in enumerate(lines, 1) if "gpus += 1" in line)
    assert down.message == f"the model is now built below line {last}, where the number of GPUs is known"


def test_a_second_run_changes_nothing() -> None:
    after = function("model = net()", LATE).after
    check_unchanged(after)


def test_it_goes_no_further_than_it_must() -> None:
    file = function("model = net()", "gpus = opts.first\ngpus += 1\nlabels = data.load(1)", guard="if flag:")
    assert "gpus += 1\n    strategy = " in file.after
    assert "        model = net()\n        labels = data.load(1)\n        model.compile(" in file.after


def test_paragraphs_stay_apart() -> None:
    file = function(
        "size = opts.size\n\nwith tf.device('/cpu:0'):\n    model = net(size)\n",
        "gpus = opts.first\ngpus += 1",
        guard="\nif gpus > 1:",
    )
    assert "    size = opts.size\n\n    gpus = opts.first\n    gpus += 1\n\n    strategy = (" in file.after


@pytest.mark.parametrize(
    "build",
    [
        "model = Sequential()\nmodel.add(Dense(1, input_shape=(4,)))",
        "model = Sequential()\nmodel.add(Dense(1, input_shape=(4,)))\nmodel.load_weights(opts.start)\nmodel.summary()",
        "optimizer = SGD()\nmodel = net(opts.units)",
        "model = net()\nprint('built', flag)",
        "if flag:\n    model = net(1)\nelse:\n    model = net(2)",
        "with tf.device('/cpu:0'):\n    model = net()",
        "number = 3\nmodel = net(number)",
        "model = net(units=opts.units)",
        "model = net(tuple(gpu for gpu in (1, 2)))",
    ],
)
def test_what_may_go_down(build: str) -> None:
    file = function(build, LATE)
    assert file.status == "migrated"
    _, gpus, rest = file.after.partition("    gpus += 1\n    strategy = ")
    assert gpus
    assert "with strategy.scope():\n" in rest
    for line in build.split("\n"):
        if "net(" in line or "Sequential(" in line or line.startswith("model."):
            assert line.strip() in rest


@pytest.mark.parametrize(
    "between",
    [
        "gpus = int(os.environ['GPUS'])\ngpus -= 1",
        "gpus = int(os.environ.get('GPUS', '1'))\ngpus -= 1",
        "gpus = int(os.getenv('GPUS'))\ngpus -= 1",
        "gpus = int(sys.argv[1])\ngpus -= 1",
        "gpus = opts.first\nif opts.first is None:\n    gpus = 1\nelif opts.first < 0:\n    gpus = 8\ngpus -= 1",
        "gpus = len([part for part in opts.many.split(',') if part])\ngpus -= 1\nlogging.info('%d', gpus)",
        "logger = logging.getLogger('x')\ngpus = 1\ngpus += 1\nlogger.info('gpus: %d', gpus)",
        "'how many'\ngpus = 1\ngpus += 1\npass",
        "gpus, rest = opts.first, opts.second\ngpus -= 1",
        "parser = argparse.ArgumentParser()\nparser.add_argument('--gpus', type=int)\nopts = parser.parse_args()\n"
        "gpus = opts.gpus",
        "first = opts.first\ngpus = max(first, 1)\ngpus -= 1",
        "gpus = opts.machine.cards\ngpus -= 1",
        "gpus = 1\npick = lambda: 2\ngpus += 1",
    ],
)
def test_what_may_be_passed(between: str) -> None:
    before = function("model = net(1)", between)
    if "getLogger" in between:
        assert refused(before)  # Who calls it may set it up; made above, it may be spoken to.
        before = function("logger = logging.getLogger('x')\nmodel = net(1)", between.partition("\n")[2])
    assert before.status == "migrated"
    body = before.after.partition("def train")[2]
    assert body.index("gpus") < body.index("MirroredStrategy") < body.index("net(1)")


COUNTED = "gpus = 1\nlog.info('gpus: %d', gpus)\ngpus += 1"


@pytest.mark.parametrize(
    "named",
    [
        "log = logging.getLogger('x')",
        "log: logging.Logger = logging.getLogger('x')",
        "flag, log = 1, logging.getLogger('x')",
        "first = logging.getLogger('x')\nlog = first",
    ],
)
def test_a_logger_may_be_spoken_to_under_any_name(named: str) -> None:
    assert function(f"{named}\nmodel = net(1)", COUNTED).status == "migrated"


@pytest.mark.parametrize(
    "named",
    [
        "log = data",
        "log = data.log",
        "first = ask()\nlog = first",
        "log = logging.getLogger('x')\nif flag:\n    log = ask()",
    ],
)
def test_what_may_be_no_logger_may_do_anything(named: str) -> None:
    assert refused(function(f"{named}\nmodel = net(1)", COUNTED))


@pytest.mark.parametrize(
    "between",
    [
        # Something else than what may be passed.
        "gpus = count()",
        "gpus = data.count()",
        "np.random.seed(1)\ngpus = 1\ngpus += 1",
        "tf.keras.backend.clear_session()\ngpus = 1\ngpus += 1",
        "tf.keras.backend.set_session(data)\ngpus = 1\ngpus += 1",
        "for gpus in opts.tried:\n    pass",
        "while flag:\n    gpus = ask()",
        "try:\n    gpus = opts.first\nexcept AttributeError:\n    gpus = 1",
        "with open('gpus') as file:\n    gpus = int(file.read())",
        "with data:\n    gpus = 1\ngpus += 1",
        "gpus = 1\nif flag:\n    return None\ngpus += 1",
        "gpus = 1\nif ask():\n    gpus = 2\ngpus += 1",
        "gpus = 1\nif flag:\n    gpus = 2\nelif flag.ask():\n    gpus = 3\ngpus += 1",
        "gpus = 1\nprint(data.next())\ngpus += 1",
        "args = flag.parse_args()\ngpus = args.gpus\ngpus += 1",
        "gpus = WANTED\ngpus += 1",
        "gpus = 1\nif flag:\n    gpus = 3\nelif ask():\n    gpus = 2\ngpus += 1",
        "gpus = 1\nassert flag\ngpus += 1",
        "gpus = 1\ndel flag\ngpus += 1",
        "import cluster\ngpus = cluster.gpus\ngpus += 1",
        "def count_them():\n    return 2\ngpus = count_them()",
        "gpus = 1\nif flag:\n    raise ValueError\ngpus += 1",
        "gpus = (lambda: 2)()",
        "gpus = (found := opts.first)\ngpus += 1",
        "gpus = 1\ngpus += opts.first",
        "gpus = [1]\ngpus += [2]\ngpus = len(gpus)",
        # Something else is set than names.
        "opts.gpus = 2\ngpus = opts.gpus\ngpus += 1",
        "data['gpus'] = 2\ngpus = 2\ngpus += 1",
        "os.environ['KERAS_BACKEND'] = 'tensorflow'\ngpus = 2\ngpus += 1",
        "os.environ[opts.name] = opts.many\ngpus = 2\ngpus += 1",
        "gpus, opts.rest = 1, 2\ngpus += 1",
        # Items and whole objects, which something else may hold.
        "gpus = data['gpus']\ngpus += 1",
        "gpus = opts.many['gpus']\ngpus += 1",
        "gpus = data.get('gpus')\ngpus += 1",
        "gpus = opts.many[0]\ngpus += 1",
        # Names of an import, or of a function.
        "gpus = np.gpus\ngpus += 1",
        "gpus = tf.gpus\ngpus += 1",
        "gpus = net.gpus\ngpus += 1",
        # The command line, with a function of the program in it.
        "parser = argparse.ArgumentParser()\nparser.add_argument('--gpus', type=net)\ngpus = parser.parse_args().gpus",
        "parser = argparse.ArgumentParser()\nparser.add_argument('--gpus', type=lambda x: int(x))\n"
        "gpus = parser.parse_args().gpus\ngpus += 1",
        "parser = data.parser()\ngpus = parser.parse_args().gpus",
        # What goes down is asked, bound again, or asks.
        "size = 4\ngpus = 1\ngpus += 1",
        "gpus = model.gpus\ngpus += 1",
        "gpus = 1\nprint(model)\ngpus += 1\nmodel = data.better(model, data)\nfor part in data:\n    gpus = part",
        # Devices are chosen so late that the strategy would still come first.
        "gpus = 1\ngpus += 1\ndata.start()\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'",
    ],
)
def test_what_may_not_be_passed(between: str) -> None:
    file = function("size = data.size\nmodel = net(size)", between)
    assert refused(file), file.after


@pytest.mark.parametrize(
    "build",
    [
        "model = net(gpus)",
        "opts.model = model = net()",
        "data[0] = model = net()",
        "for units in (1, 2):\n    model = net(units)",
        "while flag:\n    model = net()",
        "with data:\n    model = net()",
        "with tf.Graph().as_default():\n    model = net()",
        "with tf.device('/gpu:0'):\n    model = net()",
        "try:\n    model = net()\nexcept ValueError:\n    raise",
        "if flag:\n    return None\nmodel = net()\nif data:\n    return model",
        "model = net()\nmodel.compile('sgd', 'mse')\nmodel.fit(data)",
        "model = net((number := 3))",
        "global gpus\nmodel = net()",
        "global model\nmodel = net()",
        "model, gpus = net(), 3",
    ],
)
def test_what_may_not_go_down(build: str) -> None:
    file = function(build, LATE)
    assert refused(file), file.after


@pytest.mark.parametrize(
    "more",
    [
        # It reads what is bound there, or binds what is read.
        "def reader():\n    return gpus\n",
        "class Kept:\n    number = gpus\n",
        # It sets an attribute that is read there, or answers for it.
        "def setter(some):\n    some.many = '0'\n",
        "def setter(some):\n    some.many += '0'\n",
        "def setter(some):\n    del some.many\n",
        "def setter(some):\n    for some.many in ('0', '1'):\n        pass\n",
        "def setter(some):\n    some.many, other = '0', 1\n",
        "def setter(some):\n    some.many[0] = 1\n",
        "def setter(some):\n    some.many.append(1)\n",
        "def setter(some, name):\n    setattr(some, name, '0')\n",
        "def setter(some, name):\n    some.__dict__.update(name)\n",
        "class Options:\n    @property\n    def many(self):\n        return '0'\n",
        "class Options:\n    def __getattr__(self, name):\n        return '0'\n",
        "class Options:\n    def read(self):\n        self.many = '0'\n",
        "class Options:\n    def __init__(self, other):\n        other.many = '0'\n",
        "class Options:\n    def reset(self):\n        self.__init__()\n",
        "ask = lambda some: setattr(some, 'many', '0')\n",
    ],
)
def test_what_another_function_may_do_in_between(more: str) -> None:
    home = "gpus = 2\n\n" if "reader" in more or "Kept" in more else ""
    script = one(
        f"{home}{more}\n{BUILDER}\n\nopts = settings\nmodel = net()\n{LATE}\nmodel = multi_gpu_model(model, gpus)\n"
        "model.compile('adam', 'mse')\n"
    )
    if home:
        assert refused(script), script.after
    file = function("model = net()", LATE, more=more)
    assert home or refused(file), file.after


@pytest.mark.parametrize(
    "more",
    [
        "def getter(some):\n    return some.many\n",
        "def setter(some):\n    some.more = '0'\n",
        "class Options:\n    def __init__(self):\n        self.many = '0'\n",
        "class Options(dict):\n    def __init__(self):\n        super().__init__()\n        self.many = '0'\n",
        "def split(many):\n    return many.split(',')\n",
    ],
)
def test_what_another_function_may_well_do(more: str) -> None:
    assert function("model = net()", LATE, more=more).status == "migrated"


@pytest.mark.parametrize(
    ("build", "goes"),
    [
        ("model = net(opts.units)", True),
        ("model = built(opts)", True),
        ("model = opts.build()", False),
        ("model = outside(opts)", False),
        ("model = outside((opts, 1))", False),
        ("model = outside(opts.many)", False),
        ("model = built(opts.many)", False),
        ("model = outside(opts.units)", True),
        ("model = outside(opts.units, many=[opts])", False),
        ("other = opts\nmodel = net(opts.units)", True),
    ],
)
def test_an_object_that_is_read_there_is_not_handed_out_of_sight(build: str, goes: bool) -> None:
    more = "from nets import outside\n\n\ndef built(opts):\n    return net(opts.units)\n"
    file = function(build, LATE, more=more)
    assert file.status == ("migrated" if goes else "refused"), file.after


@pytest.mark.parametrize("ask", ["os.environ.get('SIZE')", "os.getenv('SIZE')", "os.environ['SIZE']"])
def test_the_environment_is_read_on_one_side_alone(ask: str) -> None:
    more = f"def sized():\n    return net(int({ask}))\n"
    assert refused(function("model = sized()", LATE, more=more))


@pytest.mark.parametrize(
    ("build", "goes"),
    [
        ("wanted = 2\nmodel = net(wanted)", True),
        ("wanted = data.wanted\nmodel = net(opts.units)", True),
        ("wanted = data.wanted\nprint(wanted)\nmodel = net(opts.units)", True),
        ("wanted = data.wanted\nmodel = net(wanted)", False),
        ("wanted = data.wanted\nkept = [wanted]\nmodel = net(kept)", False),
        ("wanted = data.wanted\nmodel = net(units=len(wanted))", False),
    ],
)
def test_a_whole_object_that_is_read_there_was_seen_by_nothing_that_could_change_it(build: str, goes: bool) -> None:
    file = function(build, "gpus = int(wanted)\ngpus += 1")
    assert file.status == ("migrated" if goes else "refused"), file.after


def test_a_parser_that_is_made_above_reads_the_command_line_below() -> None:
    build = "parser = argparse.ArgumentParser()\nparser.add_argument('--gpus', type=int)\nmodel = net()"
    assert function(build, "args = parser.parse_args()\ngpus = args.gpus").status == "migrated"
    assert refused(function(build.replace("net()", "net(parser)"), "args = parser.parse_args()\ngpus = args.gpus"))


@pytest.mark.parametrize(("change", "goes"), [("WANTED = 3", False), ("return WANTED", True)])
def test_a_number_of_the_module_that_a_function_may_bind_anew(change: str, goes: bool) -> None:
    more = f"WANTED = 2\n\n\ndef change():\n    global WANTED\n    {change}\n"
    file = function("model = net()", "gpus = WANTED\ngpus += 1", more=more)
    assert file.status == ("migrated" if goes else "refused"), file.after


def test_an_object_of_the_module_may_be_anywhere() -> None:
    late = "gpus = len(IDS)\ngpus += 1"
    assert function("model = net()", late, more="IDS = list(range(2))\n").status == "migrated"
    file = function("model = net()", late, more="IDS = list(range(2))\n")
    after = migrate(f"{file.before}\n\nKEPT = [IDS]\n")
    assert refused(after), after.after


def test_a_print_of_the_program_may_do_anything() -> None:
    more = "def print(*words):\n    pass\n"
    assert refused(function("model = net()", "gpus = 1\nprint('gpus')\ngpus += 1", more=more))


def test_what_speaks_of_the_model_goes_down_with_it() -> None:
    file = function("model = net()", "gpus = 1\nprint(model)\ngpus += 1")
    assert file.status == "migrated"
    assert "gpus += 1\n    strategy = " in file.after
    assert "        model = net()\n        print(model)\n        model.compile(" in file.after


SCRIPT = """
    {above}
    model = Sequential([Dense(1, input_shape=(4,))])
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpus", type=str)
    args = parser.parse_args()
    if args.gpus:
        os.environ["CUDA_VISIBLE_DEVICES"] = args.gpus
        gpus = len(args.gpus.split(","))
    model = multi_gpu_model(model, gpus)
    model.compile("adam", "mse")
    {below}
"""


def test_a_plain_script() -> None:
    file = one(SCRIPT.format(above="", below=""))
    assert file.status == "migrated"
    assert file.after.endswith(
        dedent("""\
        if args.gpus:
            os.environ["CUDA_VISIBLE_DEVICES"] = args.gpus
            gpus = len(args.gpus.split(","))
        strategy = tf.distribute.MirroredStrategy(devices=[f"/gpu:{i}" for i in range(gpus)])
        with strategy.scope():
            model = Sequential([Dense(1, input_shape=(4,))])
            model.compile("adam", "mse")

    """)
    )


@pytest.mark.parametrize(
    ("above", "below"),
    [
        ("def units():\n        return args.units", ""),
        ("gpus = 1\n    show = lambda: gpus", ""),
        ("", "def late():\n        return parser"),
        ("def late():\n        global args\n        args = None", ""),
    ],
)
def test_a_function_of_the_script_knows_a_name_that_is_bound_there(above: str, below: str) -> None:
    file = one(SCRIPT.format(above=above, below=below))
    assert refused(file), file.after


def test_a_number_that_goes_down_itself_is_not_known_there() -> None:
    file = function("with tf.device('/cpu:0'):\n    gpus = data.count()\n    model = net()", "rest = 1\nrest += 1")
    assert refused(file), file.after


def test_a_variable_of_the_module_that_is_bound_there() -> None:
    more = "def reader():\n    return size\n"
    assert refused(function("global size\nmodel = net()", "size = 4\ngpus = 1\ngpus += 1", more=more))


def test_another_module_reads_a_name_that_is_bound_there() -> None:
    files = {"train.py": HEAD + dedent(SCRIPT.format(above="", below="")), "other.py": "from train import args\n"}
    assert refused(migrated(files)["train.py"])


def test_a_loop_makes_no_strategy_each_time() -> None:
    late = LATE.replace("\n", "\n        ")
    file = one(f"""
    def train(all_opts, net):
        for opts in all_opts:
            model = Sequential([Dense(opts.units, input_shape=(4,))])
            {late.replace(chr(10), chr(10) + "    ")}
            model = multi_gpu_model(model, gpus)
            model.compile("adam", "mse")
    """)
    assert refused(file), file.after


def test_the_choice_of_gpus_comes_before_the_strategy_even_where_their_number_is_known() -> None:
    file = function(
        "model = net()",
        "os.environ['CUDA_VISIBLE_DEVICES'] = opts.cards",
        guard="if opts.first > 1:",
        wrap="opts.first",
    )
    assert file.status == "migrated"
    assert "opts.cards\n    strategy = (\n" in file.after


def test_the_choice_of_gpus_that_cannot_be_passed_goes_up() -> None:
    between = "data.start()\nos.environ['CUDA_VISIBLE_DEVICES'] = opts.cards"
    file = function("model = net()", between, guard="if opts.first > 1:", wrap="opts.first")
    assert file.status == "migrated"
    assert file.after.index("opts.cards\n") < file.after.index("MirroredStrategy") < file.after.index("data.start()")


def test_the_choice_of_gpus_that_cannot_be_passed_nor_go_up_is_refused() -> None:
    between = "cards = data.cards()\nos.environ['CUDA_VISIBLE_DEVICES'] = cards"
    file = function("model = net()", between, guard="if opts.first > 1:", wrap="opts.first")
    assert refused(file), file.after


def test_a_method_of_the_object_builds() -> None:
    code = """
    class Trainer:
        def __init__(self, many):
            self.many = many

        def build(self):
            return Sequential([Dense(1, input_shape=(4,))])

        def train(self, data):
            gpus = 1
            model = self.build()
            if self.many:
                os.environ["CUDA_VISIBLE_DEVICES"] = self.many
                gpus = len(self.many.split(","))
            model = multi_gpu_model(model, gpus)
            model.compile("adam", "mse")
    """
    file = one(code)
    assert file.status == "migrated"
    assert "        with strategy.scope():\n            model = self.build()\n" in file.after
    other = one(code.replace("return Seq", "self.many = '0'\n            return Seq"))
    assert "model = self.build()\n            if self.many" not in other.after or refused(other)
    assert not any(finding.code == "TFM103" and finding.action == "rewrite" for finding in other.findings)


@pytest.mark.parametrize("place", ["model = net()", "TFM103"])
def test_a_comment_or_an_option_keeps_it_where_it_is(place: str) -> None:
    if place == "TFM103":
        code = function("model = net()", LATE).before
        file = migrate(code, Settings(ignore=("TFM103",)))
    else:
        file = function(f"{place}  # tfmigrate: skip[TFM103]", LATE)
    assert not file.changed
    assert codes(file, "refuse") == ["TFM103"]


def test_nothing_goes_from_one_cell_of_a_notebook_to_another() -> None:
    seam = "class __tfmigrate_cell_2__: pass\n"
    assert refused(one(f"model = Sequential([Dense(1)])\n{seam}gpus = int(sys.argv[1])\ngpus += 1\n"
                       "model = multi_gpu_model(model, gpus)\nmodel.compile('adam', 'mse')\n"))  # fmt: skip
