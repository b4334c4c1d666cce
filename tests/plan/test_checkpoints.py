"""Classes that descend from ModelCheckpoint to save the template: their file names, and how often they write."""

from __future__ import annotations

import pytest

from tests.kit import migrate, migrate_files
from tfmigrate.result import FileResult
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

OWN = """\
from keras.callbacks import ModelCheckpoint


class TemplateCheckpoint(ModelCheckpoint):
    def __init__(self, model, filepath, monitor='val_loss', verbose=0, save_best_only=False,
                 save_weights_only={only}, mode='auto', period=1):
        self.template = model
        super({super}).__init__({passed})

    def set_model(self, model):
        super({super}).set_model(self.template)
"""
USE = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model
from own import TemplateCheckpoint

model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile('sgd', 'mse')
parallel.fit(batches, callbacks=[TemplateCheckpoint(model, {arguments})])
"""
ALL = "filepath, monitor, verbose, save_best_only, save_weights_only, mode, period"


def migrated(arguments: str, passed: str = ALL, only: str = "False", parent: str = "") -> tuple[FileResult, FileResult]:
    """(the class's file, the file that makes one)."""
    own = OWN.format(passed=passed, only=only, super=parent)
    files = migrate_sources({"own.py": own, "train.py": USE.format(arguments=arguments)}, Settings())
    by_path = {file.path: file for file in files}
    return by_path["own.py"], by_path["train.py"]


@pytest.mark.parametrize(
    ("arguments", "ending", "only"),
    [
        ("'best.hdf5'", "'best.h5'", "False"),
        ("'best.hdf5', save_weights_only=True", "'best.weights.h5'", "False"),
        ("'best.hdf5', save_weights_only=1", "'best.weights.h5'", "False"),
        ("'best.hdf5', save_weights_only='True'", "'best.weights.h5'", "False"),
        ("'best.h5', 'loss', 0, False, True", "'best.weights.h5'", "False"),
        ("filepath='best.h5'", "'best.weights.h5'", "True"),
    ],
)
def test_the_files_have_the_ending_of_what_is_in_them(arguments: str, ending: str, only: str) -> None:
    _, train = migrated(arguments, only=only)
    assert f"{ending}" in train.after
    assert [finding.action for finding in train.findings if finding.code == "TFM205"] == ["rewrite"]


@pytest.mark.parametrize(
    ("arguments", "ending"),
    [
        ("'best.h5', save_weights_only=True", "'best.weights.h5'"),
        ("'best.hdf5', 'loss', 0, False, True", "'best.weights.h5'"),
        ("filepath='best.hdf5'", "'best.h5'"),
    ],
)
def test_a_class_that_hands_on_what_it_is_given(arguments: str, ending: str) -> None:
    own = (
        "from keras.callbacks import ModelCheckpoint\n\n\nclass TemplateCheckpoint(ModelCheckpoint):\n"
        "    def __init__(self, model, *args, **kwargs):\n        self.template = model\n"
        "        super().__init__(*args, **kwargs)\n"
    )
    files = migrate_sources({"own.py": own, "train.py": USE.format(arguments=arguments)}, Settings())
    assert ending in files[1].after
    assert [finding.action for finding in files[1].findings if finding.code == "TFM205"] == ["rewrite"]


PLACED = """\
from keras.callbacks import ModelCheckpoint


class TemplateCheckpoint(ModelCheckpoint):
    def __init__({declared}):
        super().__init__(filepath, save_weights_only=weights)
"""


@pytest.mark.parametrize(
    ("declared", "arguments", "after"),
    [
        ("self, /, model, filepath, weights=False", "'best.h5', True", "'best.weights.h5', True"),
        ("self, model, filepath, /, weights=True", "'best.h5'", "'best.weights.h5'"),
        ("self, model, filepath, *, weights=False", "'best.h5', weights=True", "'best.weights.h5', weights=True"),
        ("self, model, filepath, *, weights=True", "'best.h5'", "'best.weights.h5'"),
        ("self, model, *, filepath, weights=True", "filepath='best.h5'", "filepath='best.weights.h5'"),
        ("self, /, model, filepath, weights=False", "'best.h5'", "'best.h5'"),
        ("self, model, filepath, *, weights=True", "'best.h5', weights=False", "'best.h5', weights=False"),
        ("self, filepath, model, /, weights=True", "'best.h5'", "'best.h5'"),
    ],
)
def test_parameters_of_every_kind_are_read(declared: str, arguments: str, after: str) -> None:
    own = PLACED.format(declared=declared)
    files = migrate_sources({"own.py": own, "train.py": USE.format(arguments=arguments)}, Settings())
    assert f"TemplateCheckpoint(model, {after})" in files[1].after
    assert files[0].after == own.replace("from keras", "from tensorflow.keras")


KEEP = "from keras.callbacks import Callback, ModelCheckpoint\n\n\n"
BASE = """\
class Base(ModelCheckpoint):
    def __init__(self, name, weights=False, **more):
        super().__init__(name, save_weights_only=weights, **more)


"""


def kept(own: str, made: str) -> tuple[str, str, list[str]]:
    """A class in a file of its own, and `made` where its objects are made, as both are written; what was done."""
    use = USE.replace("Template", "Keep").replace("KeepCheckpoint", "Keep").replace("Keep(model, {arguments})", made)
    files = migrate_sources({"own.py": KEEP + own, "train.py": use}, Settings())
    written = files[1].after.partition("callbacks=[")[2].rstrip().removesuffix(")").rstrip().removesuffix("]")
    told = [finding.action for file in files for finding in file.findings if finding.code in ("TFM205", "TFM209")]
    return files[0].after.partition("class ")[2], written, told


def initialised(declared: str, *body: str) -> str:
    head = f"class Keep(ModelCheckpoint):\n    def __init__({declared}):\n"
    return head + "".join(f"        {one}\n" for one in body)


@pytest.mark.parametrize(
    ("own", "made"),
    [
        # What is not handed on says nothing of what is written.
        (initialised("self, filepath, save_weights_only=True", "super().__init__(filepath)"), "Keep('w.h5')"),
        (initialised("self, filepath", "super().__init__('all.h5')"), "Keep('w.hdf5')"),
        (initialised("self, path, period=1", "self.every = period", "super().__init__(path)"),
         "Keep('w.h5', period=5)"),
        (initialised("self, path, only", "super().__init__(path)"), "Keep('w.h5', only=unknown())"),
        # What is bound anew is not what was passed.
        (initialised("self, path, only=True", "only = False", "super().__init__(path, save_weights_only=only)"),
         "Keep('w.h5')"),
        (initialised("self, path", "path = 'w.weights.h5'", "super().__init__(path, save_weights_only=True)"),
         "Keep('w.h5')"),
        # Keras's own __init__ is not run, or by other code.
        (initialised("self, filepath, save_weights_only=True", "Callback.__init__(self)"), "Keep('w.h5')"),
        (initialised("self, filepath, save_weights_only=True", "super(ModelCheckpoint, self).__init__()"),
         "Keep('w.h5')"),
        (initialised("self, filepath, save_weights_only=True", "self.filepath = filepath"), "Keep('w.h5')"),
        # Two levels.
        (BASE + "class Keep(Base):\n    def __init__(self, path, weights=True):\n        super().__init__(path)\n",
         "Keep('w.h5')"),
        (BASE + "class Keep(Base):\n    pass\n", "Keep('w.h5'), Keep('w.h5', False)"),
        # Either kind may go to a file that ends so.
        (initialised("self, path, only", "super().__init__(path, save_weights_only=only)"),
         "Keep('w.weights.h5', only=unknown())"),
        (initialised("self, path, **more", "more['save_weights_only'] = True", "super().__init__(path, **more)"),
         "Keep('w.weights.h5')"),
    ],
)  # fmt: skip
def test_nothing_is_touched_where_nothing_else_reaches_keras(own: str, made: str) -> None:
    assert kept(own, made) == (own.partition("class ")[2], made, [])


@pytest.mark.parametrize(
    ("own", "made", "after"),
    [
        (initialised("self, path, only=False", "only = True", "super().__init__(path, save_weights_only=only)"),
         "Keep('w.h5')", "Keep('w.weights.h5')"),
        (initialised("self, path, only", "ModelCheckpoint.__init__(self, path, save_weights_only=only)"),
         "Keep('w.h5', True)", "Keep('w.weights.h5', True)"),
        (initialised("self, path, only", "super(Keep, self).__init__(path, save_weights_only=only)"),
         "Keep('w.h5', True), Keep('all.h5', False)", "Keep('w.weights.h5', True), Keep('all.h5', False)"),
        (initialised("self, name, only=0", "name = 'out/' + name", "super().__init__(name, save_weights_only=only)"),
         "Keep('w.h5', True), Keep('all.h5')", "Keep('w.weights.h5', True), Keep('all.h5')"),
        (initialised("self, *args, **more", "self.net = more.pop('net')", "super().__init__(*args, **more)"),
         "Keep('w.h5', net=model, save_weights_only=True)", "Keep('w.weights.h5', net=model, save_weights_only=True)"),
        (BASE + "class Keep(Base):\n    pass\n", "Keep('w.h5', True)", "Keep('w.weights.h5', True)"),
        (BASE + "class Keep(Base):\n    def __init__(self, path):\n        super().__init__(path, True)\n",
         "Keep('w.h5')", "Keep('w.weights.h5')"),
        (BASE + "class Keep(Base):\n    def __init__(self, path):\n        Base.__init__(self, path, weights=True)\n",
         "Keep('w.h5')", "Keep('w.weights.h5')"),
        (BASE + "class Keep(Base):\n    def __init__(self, path, **more):\n        super().__init__(path, **more)\n",
         "Keep('w.h5', weights=True)", "Keep('w.weights.h5', weights=True)"),
        ("class Log:\n    def __init__(self, tag, *args, **more):\n        super().__init__(*args, **more)\n\n\n"
         "class Keep(Log, ModelCheckpoint):\n    def __init__(self, path):\n"
         "        super().__init__('log', path, save_weights_only=True)\n",
         "Keep('w.h5')", "Keep('w.weights.h5')"),
    ],
)  # fmt: skip
def test_what_reaches_keras_counts_by_whatever_way(own: str, made: str, after: str) -> None:
    assert kept(own, made) == (own.partition("class ")[2], after, ["rewrite"])


@pytest.mark.parametrize(
    ("own", "made"),
    [
        (initialised("self, path, only", "super().__init__(path, save_weights_only=only)"), "Keep('w.h5', unknown())"),
        (initialised("self, path", "super().__init__(path, save_weights_only=chosen())"), "Keep('w.h5')"),
        (initialised("self, path, **more", "more.update(chosen())", "super().__init__(path, **more)"), "Keep('w.h5')"),
        (initialised("self, path, **more", "more['save_weights_only'] = True", "super().__init__(path, **more)"),
         "Keep('w.h5')"),
        (initialised("self, path, **more", "super().__init__(path, **more)"), "Keep('w.h5', **chosen())"),
        (initialised("self, *args", "super().__init__(*args)"), "Keep(*chosen())"),
    ],
)  # fmt: skip
def test_a_file_of_weights_or_of_a_whole_model_is_told(own: str, made: str) -> None:
    assert kept(own, made) == (own.partition("class ")[2], made, ["warn"])


@pytest.mark.parametrize(
    ("flag", "after", "action"),
    [
        ("ONLY", "w.weights.h5", "rewrite"),
        ("not ONLY", "w.h5", "warn"),
        ("chosen()", "w.h5", "warn"),
        ("None", "w.h5", None),
        ("0", "w.h5", None),
    ],
)
def test_the_flag_of_a_plain_checkpoint(flag: str, after: str, action: str | None) -> None:
    text = "ONLY = True\n" + USE.replace("from own import Template", "from keras.callbacks import Model")
    text = text.replace("TemplateCheckpoint(model, {arguments})", f"ModelCheckpoint('w.h5', save_weights_only={flag})")
    file = migrate(text)
    assert f"ModelCheckpoint('{after}', save_weights_only={flag})" in file.after
    assert [finding.action for finding in file.findings if finding.code == "TFM205"] == ([action] if action else [])


@pytest.mark.parametrize("made", ["('w.h5', True), made('all.h5', False)", "('w.h5', only=True), made('all.h5')"])
def test_a_function_that_makes_both_kinds(made: str) -> None:
    own = "def made(path, only=False):\n    return ModelCheckpoint(path, save_weights_only=only)\n\n\n"
    text = USE.replace("from own import Template", "from keras.callbacks import Model")
    text = text.replace("ModelCheckpoint\n", f"ModelCheckpoint\n\n\n{own}", 1)
    file = migrate(text.replace("TemplateCheckpoint(model, {arguments})", f"made{made}"))
    assert f"made{made.replace('w.h5', 'w.weights.h5')}]" in file.after
    assert [finding.action for finding in file.findings if finding.code == "TFM205"] == ["rewrite"]


@pytest.mark.parametrize(
    ("passed", "after"),
    [
        ("'w.h5', save_weights_only=True", "'w.weights.h5', save_weights_only=True"),
        ("'w.hdf5'", "'w.h5'"),
        ("'w.h5'", "'w.h5'"),
        ("'w.weights.h5', save_weights_only=True", "'w.weights.h5', save_weights_only=True"),
    ],
)
@pytest.mark.parametrize("made", ["Keep()", "Callback()"])
def test_a_file_that_a_class_of_another_module_names(passed: str, after: str, made: str) -> None:
    own = initialised("self", f"super().__init__({passed})")
    written = own.replace(passed, after).partition("class ")[2]
    assert kept(own, made) == (written, made, ["rewrite"] * (passed != after))


PERIODIC = "Keep('w.keras', period=5)"


@pytest.mark.parametrize(
    ("own", "made", "base", "call"),
    [
        (initialised("self, path, period=1", "period = 5", "super().__init__(path, period=period)"),
         "Keep('w.keras')", "Keep(PeriodicCheckpoint)", "super().__init__(path, period=period)"),
        (initialised("self, path", "ModelCheckpoint.__init__(self, path, period=3)"),
         "Keep('w.keras')", "Keep(PeriodicCheckpoint)", "PeriodicCheckpoint.__init__(self, path, period=3)"),
        (BASE + "class Keep(Base):\n    pass\n", PERIODIC, "Base(PeriodicCheckpoint)", "class Keep(Base):\n    pass\n"),
        (BASE + "class Keep(Base):\n    def __init__(self, path):\n        super().__init__(path, period=2)\n",
         "Keep('w.keras')", "Base(PeriodicCheckpoint)", "        super().__init__(path, period=2)\n"),
        ("class Keep(ModelCheckpoint):\n    pass\n", PERIODIC, "Keep(PeriodicCheckpoint)", "    pass\n"),
    ],
)  # fmt: skip
def test_a_period_is_kept_by_the_class_that_descends_from_keras(own: str, made: str, base: str, call: str) -> None:
    use = USE.replace("TemplateCheckpoint", "Keep").replace("Keep(model, {arguments})", made)
    files = migrate_sources({"own.py": KEEP + own, "train.py": use}, Settings())
    assert f"class {base}:\n" in files[0].after
    assert call in files[0].after
    assert files[0].after.count("class PeriodicCheckpoint(") == 1
    assert f"callbacks=[{made}]" in files[1].after


@pytest.mark.parametrize("period", ["1", "5"])
def test_a_heir_that_ends_its_epochs_itself_is_told_of_its_period(period: str) -> None:
    own = BASE + "class Keep(Base):\n    def on_epoch_end(self, epoch, logs=None):\n        pass\n"
    written, made, told = kept(own, f"Keep('w.keras', period={period})")
    assert written == own.partition("class ")[2]
    left = ("Keep('w.keras')", ["rewrite"]) if period == "1" else ("Keep('w.keras', period=5)", ["warn"])
    assert (made, told) == left


@pytest.mark.parametrize(
    ("declared", "passed", "after"),
    [
        ("self", "'w.h5', save_weights_only=True", "'w.weights.h5', save_weights_only=True"),
        ("self, only=True", "'w.h5', save_weights_only=only", "'w.weights.h5', save_weights_only=only"),
        ("self", "'w.h5'", "'w.h5'"),
        ("self", "'w.keras'", "'w.keras'"),
        ("self", "'w.weights.h5', save_weights_only=True", "'w.weights.h5', save_weights_only=True"),
    ],
)
def test_a_file_that_the_class_names_itself(declared: str, passed: str, after: str) -> None:
    own = "from keras.callbacks import ModelCheckpoint\n\n\nclass Own(ModelCheckpoint):\n"
    own += f"    def __init__({declared}):\n        super().__init__({passed})\n\n\n"
    text = own + USE.replace("from own import TemplateCheckpoint\n", "").format(arguments="")
    file = migrate(text.replace("TemplateCheckpoint(model, )", "Own()"))
    assert f"super().__init__({after})\n" in file.after
    assert [f.action for f in file.findings if f.code == "TFM205"] == ["rewrite"] * (passed != after)


def test_a_keyword_of_its_own_is_not_handed_on() -> None:
    own = REST.format(declared="*, period=1, ", passed='filepath="x.keras", **more')
    call = "callbacks=[Keep(model, monitor='loss', period=1)]"
    file = migrate(own.replace('callbacks=[Keep(model, filepath="all.keras", monitor="near", period=1)]', call))
    assert call in file.after
    assert "TFM209" not in {finding.code for finding in file.findings}


def test_a_whole_model_keeps_its_h5() -> None:
    _, train = migrated("'best.h5'")
    assert "'best.h5'" in train.after
    assert not [finding for finding in train.findings if finding.code == "TFM205"]


def test_what_the_class_says_itself_wins() -> None:
    _, train = migrated("'best.h5'", passed="filepath, monitor, save_weights_only=True")
    assert "'best.weights.h5'" in train.after


@pytest.mark.parametrize("parent", ["", "TemplateCheckpoint, self"])
@pytest.mark.parametrize(
    ("passed", "left"),
    [
        (ALL, ALL.removesuffix(", period")),
        ("filepath, monitor, mode=mode, period=period", "filepath, monitor, mode=mode"),
        ("filepath, monitor, verbose, save_best_only, save_weights_only, mode, 1", ALL.removesuffix(", period")),
        ("filepath, monitor, verbose", "filepath, monitor, verbose"),
    ],
)
def test_a_period_that_nobody_asks_for_is_not_passed_on(passed: str, left: str, parent: str) -> None:
    own, _ = migrated("'best.h5'", passed=passed, parent=parent)
    assert f".__init__({left})\n" in own.after


@pytest.mark.parametrize("passed", [ALL, "filepath, monitor, period=period"])
@pytest.mark.parametrize("period", ["5", "every"])
def test_a_period_that_somebody_asks_for_is_kept_by_a_class(passed: str, period: str) -> None:
    own, _ = migrated(f"'best.h5', period={period}", passed=passed)
    assert "class TemplateCheckpoint(PeriodicCheckpoint):" in own.after
    assert f".__init__({passed.removesuffix('period').removesuffix('period=')}period=period)\n" in own.after
    assert [finding.action for finding in own.findings if finding.code == "TFM209"] == ["rewrite"]


@pytest.mark.parametrize("period", ["1", "every"])
def test_a_period_of_one_stays_where_it_is_a_setting(period: str) -> None:
    own = OWN.format(passed=ALL, only="False", super="")
    use = "every = 1\n" + USE.format(arguments=f"'best.h5', period={period}")
    file, _ = migrate_sources({"own.py": own, "train.py": use}, Settings())
    assert ("class TemplateCheckpoint(PeriodicCheckpoint):" in file.after) == (period == "every")


def test_a_class_that_ends_its_epochs_itself_is_left() -> None:
    own = (
        OWN.format(passed=ALL, only="False", super="")
        + "\n    def on_epoch_end(self, epoch, logs=None):\n        pass\n"
    )
    files = migrate_sources({"own.py": own, "train.py": USE.format(arguments="'best.h5', period=5")}, Settings())
    assert f".__init__({ALL})\n" in files[0].after
    assert [finding.action for finding in files[0].findings if finding.code == "TFM209"] == ["warn"]


@pytest.mark.parametrize("handed", ["super()", "super(TemplateCheckpoint, self)"])
@pytest.mark.parametrize(("line", "kept"), [("", True), ("        self.period = 3\n", False)])
def test_a_class_that_swaps_the_model_for_the_template_keeps_the_period(handed: str, line: str, kept: bool) -> None:
    own = OWN.format(passed=ALL, only="False", super="") + "\n    def on_epoch_end(self, epoch, logs=None):\n"
    own += f"        self.set_model(self.template)\n{line}        {handed}.on_epoch_end(epoch, logs)\n"
    files = migrate_sources({"own.py": own, "train.py": USE.format(arguments="'best.h5', period=5")}, Settings())
    assert ("class TemplateCheckpoint(PeriodicCheckpoint):" in files[0].after) == kept
    assert [finding.action for finding in files[0].findings if finding.code == "TFM209"] == [
        "rewrite" if kept else "warn"
    ]


@pytest.mark.parametrize(
    ("period", "name", "left"), [("1", "ModelCheckpoint", ""), ("5", "PeriodicCheckpoint", ", period=5")]
)
def test_the_seventh_argument_of_model_checkpoint_is_the_period(period: str, name: str, left: str) -> None:
    text = USE.replace("from own import Template", "from keras.callbacks import Model").replace("TemplateCh", "ModelCh")
    text = text.format(arguments=f"'acc', 0, True, False, 'max', {period}").replace(
        "(model, 'acc'", "('b.keras', 'acc'"
    )
    file = migrate(text)
    assert f"{name}('b.keras', 'acc', 0, True, False, 'max'{left})" in file.after
    assert [finding.action for finding in file.findings if finding.code == "TFM209"] == ["rewrite"]


def test_a_class_of_another_kind_keeps_its_period() -> None:
    text = OWN.format(passed=ALL, only="False", super="").replace("(ModelCheckpoint)", "(Callback)")
    own, train = migrate_sources(
        {
            "own.py": text.replace("import ModelCheckpoint", "import Callback"),
            "train.py": USE.format(arguments="'b.h5'"),
        },
        Settings(),
    )
    assert not [f for file in (own, train) for f in file.findings if f.code in ("TFM209", "TFM205")]


NETS = """
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


def net():
    return Sequential([Dense(1, input_shape=(4,))])


def resumed():
    model = net()
    model.load_weights("runs/last.h5")
    return model


def pretrained():
    model = net()
    model.load_weights("imagenet.h5")
    return model
"""
WRITES = """
import os
from keras.utils import multi_gpu_model
from nets import net, resumed

model = resumed() if os.path.exists("runs/last.h5") else net()
multi_gpu_model(model, 2).compile("sgd", "mse")
model.save_weights("runs/last.h5")
"""


def test_a_file_has_its_new_name_in_every_module_of_the_program() -> None:
    files = migrate_files({"nets.py": NETS, "train.py": WRITES})
    nets, train = files["nets.py"], files["train.py"]
    assert 'load_weights("runs/last.weights.h5")' in nets.after
    assert 'load_weights("imagenet.h5")' in nets.after
    assert 'save_weights("runs/last.weights.h5")' in train.after
    told = [(finding.line, finding.action) for finding in train.findings if finding.code == "TFM205"]
    assert told == [(6, "rewrite"), (8, "rewrite")]
    assert 'os.path.exists("runs/last.weights.h5")' in train.after


@pytest.mark.parametrize(
    ("line", "after", "actions"),
    [
        ("os.remove('a_{epoch}.h5')", "os.remove('a_{epoch}.weights.h5')", ["rewrite", "rewrite"]),
        ("m.load_weights('a_{0}.h5'.format(3))", "m.load_weights('a_{0}.weights.h5'.format(3))", ["rewrite"] * 2),
        ("m.load_weights('a_%d.h5' % 3)", "m.load_weights('a_%d.weights.h5' % 3)", ["rewrite"] * 2),
        ("h5py.File('a_{epoch}.h5')", "h5py.File('a_{epoch}.h5')", ["rewrite", "warn"]),
        ("m.load_weights('b_{0}.h5'.format(3))", "m.load_weights('b_{0}.h5'.format(3))", ["rewrite"]),
    ],
)
def test_every_use_of_a_name_in_the_program_changes_with_it(line: str, after: str, actions: list[str]) -> None:
    text = (
        "import h5py\nimport os\nfrom keras.callbacks import ModelCheckpoint\nfrom nets import net\n"
        "from keras.utils import multi_gpu_model\n"
        "m = net()\np = multi_gpu_model(m, 2)\np.compile('sgd', 'mse')\n"
        f"saver = ModelCheckpoint('a_{{epoch}}.h5', save_weights_only=True)\n{line}\n"
    )
    file = migrate(text)
    assert f"\n{after}\n" in file.after
    assert [finding.action for finding in file.findings if finding.code == "TFM205"] == actions


def test_a_file_that_the_program_only_loads_keeps_its_name() -> None:
    (nets,) = migrate_sources({"nets.py": NETS + "\n\nmulti_gpu_model(net(), 2).compile('sgd', 'mse')\n"}, Settings())
    assert "TFM205" not in {finding.code for finding in nets.findings}
    assert 'load_weights("runs/last.h5")' in nets.after


REST = """\
from keras.callbacks import ModelCheckpoint
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


class Keep(ModelCheckpoint):
    def __init__(self, net, {declared}**more):
        super().__init__({passed})
        self.net = net


model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
model.compile("sgd", "mse")
model.fit(batches, callbacks=[Keep(model, filepath="all.keras", monitor="near", period=1)])
"""


@pytest.mark.parametrize(
    ("declared", "passed", "call"),
    [
        ("", "**more", 'filepath="all.keras", monitor="near", mode="min")'),
        ("filepath, ", "filepath, **more", 'filepath="all.keras", monitor="near", mode="min")'),
        ("", 'filepath="x.keras"', 'filepath="all.keras", monitor="near", period=1)'),
        ("", "**other", 'filepath="all.keras", monitor="near", period=1)'),
    ],
)
def test_keywords_that_a_class_hands_on_unseen_reach_keras(declared: str, passed: str, call: str) -> None:
    file = migrate(REST.format(declared=declared, passed=passed))
    assert f"callbacks=[Keep(model, {call}" in file.after


SAVED = """\
import logging

from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
model.save_weights("last.h5")
{}
"""


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("print('saved to last.h5')", "print('saved to last.weights.h5')"),
        ("print('last.h5: saved.')", "print('last.weights.h5: saved.')"),
        ("print('saved to %s' % 'last.h5')", "print('saved to %s' % 'last.weights.h5')"),
        ("print('saved {}'.format('last.h5'))", "print('saved {}'.format('last.weights.h5'))"),
        ("logging.info('saved ' 'last.h5')", "logging.info('saved ' 'last.weights.h5')"),
        ("print('saved to \\'%s/last.h5\\'' % folder)", "print('saved to \\'%s/last.weights.h5\\'' % folder)"),
        ("print(f'saved to {folder}/last.h5')", "print(f'saved to {folder}/last.weights.h5')"),
    ],
)
def test_a_text_names_the_file_that_is_written(line: str, after: str) -> None:
    file = migrate(SAVED.replace("{}", line))
    assert file.after.endswith(f"{after}\n")
    assert "warn" not in [finding.action for finding in file.findings]


@pytest.mark.parametrize(
    "line",
    [
        "print('read old/last.h5')",
        "print('%sblast.h5' % folder)",
        "print('blast.h5')",
        "print('last.h5py')",
        "print(size('see last.h5'))",
        "note('saved to last.h5')",
        "text = 'saved to last.h5'",
    ],
)
def test_other_texts_stay(line: str) -> None:
    assert migrate(SAVED.replace("{}", line)).after.endswith(f"{line}\n")


def test_an_ending_that_says_weights_already_does_not_say_it_twice() -> None:
    file = migrate(SAVED.replace("{}", "").replace("last.h5", "last.weights.hdf5"))
    assert '"last.weights.h5"' in file.after or "'last.weights.h5'" in file.after


def test_a_helper_comes_with_whichever_use_is_not_left_alone() -> None:
    head = USE.partition("parallel.fit")[0].replace("from own import Template", "from keras.callbacks import Model")
    lines = "ModelCheckpoint('a.h5', period=2){}\nModelCheckpoint('b.h5', period=3){}\n"
    for left in (("", ""), ("  # tfmigrate: skip", ""), ("", "  # tfmigrate: skip")):
        after = migrate(head + lines.format(*left)).after
        assert after.count("class PeriodicCheckpoint(") == 1
        assert after.count("PeriodicCheckpoint('") == left.count("")


BY_NAME = """\
import sys
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
if sys.argv[1:]:
    model.load_weights({loaded})
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
parallel.fit(batches)
{saved}
"""
SAVES = 'model.save_weights("last.h5")'


@pytest.mark.parametrize(
    ("loaded", "after", "action"),
    [
        ("sys.argv[1], by_name=True", "sys.argv[1], by_name=True", "warn"),
        ("sys.argv[1], by_name=flag", "sys.argv[1], by_name=flag", "warn"),
        ("by_name=True, filepath=sys.argv[1]", "by_name=True, filepath=sys.argv[1]", "warn"),
        ("sys.argv[1], by_name=False", "sys.argv[1]", "rewrite"),
        ("'last.h5', by_name=False", "'last.weights.h5'", "rewrite"),
        ("'last.h5', by_name=True", "'last.weights.h5'", "rewrite"),
        ("'last.h5', True", "'last.weights.h5'", "rewrite"),
        ("'last.h5', True, True", "'last.weights.h5', skip_mismatch=True", "rewrite"),
        ("'last.h5', False, True", "'last.weights.h5', skip_mismatch=True", "rewrite"),
        ("'last.h5', flag", "'last.weights.h5'", "rewrite"),
    ],
)
def test_weights_of_the_program_are_not_loaded_by_name(loaded: str, after: str, action: str) -> None:
    file = migrate(BY_NAME.format(loaded=loaded, saved=SAVES))
    assert f"model.load_weights({after})\n" in file.after
    told = [finding.action for finding in file.findings if "`by_name`" in finding.message]
    assert told == [action]


@pytest.mark.parametrize(
    ("loaded", "saved"),
    [
        ("sys.argv[1], by_name=True", ""),
        ("sys.argv[1], by_name=True", 'model.save("all.h5")'),
        ("sys.argv[1], by_name=None", SAVES),
        ("sys.argv[1]", SAVES),
        ("'imagenet.h5', by_name=True", SAVES),
        ("'imagenet.h5', by_name=False", SAVES),
        ("'imagenet.h5', False", SAVES),
        ("sys.argv[1], False", SAVES),
        ("sys.argv[1], None", SAVES),
        ("'a.h5' if flag else 'b.h5', by_name=True", SAVES),
    ],
)
def test_old_weights_are_loaded_by_name_as_before(loaded: str, saved: str) -> None:
    file = migrate(BY_NAME.format(loaded=loaded, saved=saved))
    assert f"model.load_weights({loaded})\n" in file.after
    assert not [finding for finding in file.findings if "`by_name`" in finding.message]


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("model.load_weights('old.h5', True)", "model.load_weights('old.h5', by_name=True)"),
        ("model.load_weights(sys.argv[1], flag)", "model.load_weights(sys.argv[1], by_name=flag)"),
        ("model.load_weights('old.h5', False, x)", "model.load_weights('old.h5', by_name=False, skip_mismatch=x)"),
        ("model.save('all.h5', True, False)", "model.save('all.h5', True, include_optimizer=False)"),
        ("parallel.save('all.h5', True, False)", "model.save('all.h5', True, include_optimizer=False)"),
        ("save_model(model, 'a.h5', True, False)", "save_model(model, 'a.h5', True, include_optimizer=False)"),
    ],
)
def test_an_argument_whose_place_means_something_else_gets_its_name(line: str, after: str) -> None:
    """Keras 3 and tf_keras read a second argument of load_weights() as `skip_mismatch`, and load in order of layers."""
    text = BY_NAME.format(loaded="'old.h5'", saved=f"from keras.models import save_model\n{line}")
    assert migrate(text).after.endswith(f"{after}\n")


def test_it_is_named_for_several_workers_too() -> None:
    text = BY_NAME.format(loaded="'old.h5', True", saved="")
    assert "model.load_weights('old.h5', by_name=True)\n" in migrate(text, Settings(strategy="multi-worker")).after


@pytest.mark.parametrize(
    "line",
    [
        "model.load_weights('old.h5')",
        "model.load_weights('old.h5', by_name=True)",
        "model.load_weights('old.h5', *options)",
        "model.load_weights('old.h5', True, True, True, True)",
        "table.load_weights('old.h5', True)",
        "own_model.load_weights('old.h5', True)",
        "model.save('all.h5')",
        "model.save('all.h5', False)",
        "model.save('all.h5', True, True)",
        "table.save('all.h5', True, False)",
        "save_model(model, 'all.h5', True)",
    ],
)
def test_arguments_in_places_that_mean_the_same_stay(line: str) -> None:
    own = "class Own:\n    def load_weights(self, path, first):\n        pass\n\n\nown_model = Own()"
    text = BY_NAME.format(loaded="'old.h5'", saved=f"from keras.models import save_model\n{own}\n{line}")
    file = migrate(text)
    assert file.after.endswith(f"{line}\n")
    assert not [finding for finding in file.findings if "is given by name" in finding.message]


ONE_NAME = """from keras.callbacks import ModelCheckpoint
from keras.layers import Dense
from keras.models import Sequential, load_model
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mean_squared_error")
{lines}
"""


@pytest.mark.parametrize(
    ("whole", "weights", "endings"),
    [
        ("'a' + '_model.hdf5'", "'b' + '_model.hdf5'", ("'a' + '_model.h5'", "'b' + '_model.weights.h5'")),
        ("'a' + '_model.h5'", "'b' + '_model.h5'", ("'a' + '_model.h5'", "'b' + '_model.weights.h5'")),
        ("'a.hdf5'", "'b.hdf5'", ("'a.h5'", "'b.weights.h5'")),
    ],
)
def test_a_name_of_weights_and_of_a_model_has_the_ending_of_each(
    whole: str, weights: str, endings: tuple[str, str]
) -> None:
    lines = [f"model.save_weights({weights})", f"best = ModelCheckpoint({whole})"]
    for ordered in (lines, lines[::-1]):
        after = migrate(ONE_NAME.format(lines="\n".join(ordered))).after
        assert f"ModelCheckpoint({endings[0]})" in after
        assert f"save_weights({endings[1]})" in after


def test_each_is_loaded_by_the_name_it_has() -> None:
    lines = (
        "model.save_weights('b' + '.hdf5')\nbest = ModelCheckpoint('a' + '.hdf5')\nmodel.load_weights('b' + '.hdf5')\n"
        "model = load_model('a' + '.hdf5')"
    )
    after = migrate(ONE_NAME.format(lines=lines)).after
    assert "save_weights('b' + '.weights.h5')" in after
    assert "load_weights('b' + '.weights.h5')" in after
    assert "ModelCheckpoint('a' + '.keras')" in after
    assert "load_model('a' + '.keras')" in after


def test_one_literal_of_both_is_a_name_of_weights() -> None:
    lines = "path = 'a.hdf5'\nbest = ModelCheckpoint(path)\nmodel.save_weights(path)"
    assert "path = 'a.weights.h5'" in migrate(ONE_NAME.format(lines=lines)).after


HANDING_ON = """\
from keras.callbacks import ModelCheckpoint


class TemplateCheckpoint(ModelCheckpoint):
    def __init__(self, model, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.template = model

    def set_model(self, model):
        super().set_model(self.template)
"""


@pytest.mark.parametrize(
    ("period", "base", "call"),
    [
        ("5", "PeriodicCheckpoint", "TemplateCheckpoint(model, 'best.h5', period=5)"),
        ("1", "ModelCheckpoint", "TemplateCheckpoint(model, 'best.h5')"),
    ],
)
def test_a_class_that_hands_on_all_it_is_given_keeps_the_period(period: str, base: str, call: str) -> None:
    use = USE.format(arguments=f"'best.h5', period={period}")
    own, train = migrate_sources({"own.py": HANDING_ON, "train.py": use}, Settings())
    assert f"class TemplateCheckpoint({base}):" in own.after
    assert f"callbacks=[{call}]" in train.after
    assert "warn" not in [finding.action for file in (own, train) for finding in file.findings]


def test_a_class_that_hands_on_all_and_ends_its_epochs_itself_is_left() -> None:
    own = f"{HANDING_ON}\n    def on_epoch_end(self, epoch, logs=None):\n        pass\n"
    use = USE.format(arguments="'best.h5', period=5")
    files = migrate_sources({"own.py": own, "train.py": use}, Settings())
    assert "class TemplateCheckpoint(ModelCheckpoint):" in files[0].after
    assert [finding.action for finding in files[1].findings if finding.code == "TFM209"] == ["warn"]


OTHER = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


def build(last):
    return Sequential([Dense(3, input_shape=(4,), name="first"), Dense(1, name=last)])


model = build("last")
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
parallel.fit(x, y)
model.save_weights("w.h5")
{load}
"""


def _told_of_another(load: str) -> list[str]:
    file = migrate(OTHER.format(load=load))
    assert ".load_weights('w.weights.h5')" in file.after or "by_name=True" in file.after
    return [finding.action for finding in file.findings if "is none of those" in finding.message]


@pytest.mark.parametrize(
    "made",
    [
        "Sequential([Dense(3, input_shape=(4,), name='first'), Dense(1, name='other')])",
        "Sequential([Dense(3, input_shape=(4,), name='first')])",
    ],
)
def test_a_model_of_other_layers_that_loads_by_name_is_told(made: str) -> None:
    assert _told_of_another(f"other = {made}\nother.load_weights('w.h5', by_name=True)") == ["warn"]


@pytest.mark.parametrize(
    "load",
    [
        "model.load_weights('w.h5', by_name=True)",
        "parallel.load_weights('w.h5', by_name=True)",
        "again = build('last')\nagain.load_weights('w.h5', by_name=True)",
        "other = Sequential([Dense(1, input_shape=(4,))])\nother.load_weights('imagenet.h5', by_name=True)",
        "other = Sequential([Dense(1, input_shape=(4,))])\nother.load_weights('w.h5')",
        "other = Sequential([Dense(1, input_shape=(4,))])\nother.load_weights('w.h5', by_name=False)",
        "unknown.load_weights('w.h5', by_name=True)",
    ],
)
def test_the_model_that_is_saved_and_other_files_are_not(load: str) -> None:
    assert _told_of_another(load) == []


TAKEN_OFF = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile("sgd", "mse")
parallel_model.fit(batches)
model.save_weights(f"model_{step}.h5")
last = max(names, key=lambda name: int(name[6:].replace(".h5", "")))
"""


def test_an_ending_that_the_program_takes_off_goes_as_a_whole() -> None:
    file = migrate(TAKEN_OFF)
    assert 'model.save_weights(f"model_{step}.weights.h5")' in file.after
    assert 'int(name[6:].replace(".weights.h5", "").replace(".h5", ""))' in file.after
    assert migrate(TAKEN_OFF.replace('"")', '".json")')).after.count('replace(".weights.h5", ".json")') == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("model_{step}.h5", "model_{step}.weights.h5"),
        ("model.save_weights", "print"),
        ('(".h5", "")', '(".txt", "")'),
        ('(".h5", "")', '(".h5", end)'),
        ('(".h5", "")', '(".h5", "", 1)'),
        ('.replace(".h5", "")', ""),
    ],
)
def test_other_endings_stay(old: str, new: str) -> None:
    assert old in TAKEN_OFF
    assert ".weights.h5" not in migrate(TAKEN_OFF.replace(old, new)).after.splitlines()[-1]


IN_A_FORMAT = """\
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
parallel.fit(batches)
model.save_weights({arguments})
"""


@pytest.mark.parametrize("name", ["h5", "hdf5", "keras", "tf"])
def test_a_format_that_the_ending_says_goes(name: str) -> None:
    file = migrate(IN_A_FORMAT.format(arguments=f"'a.h5', save_format='{name}'"))
    assert file.after.endswith("model.save_weights('a.weights.h5')\n")
    assert not [finding for finding in file.findings if finding.action == "warn"]


@pytest.mark.parametrize("arguments", ["'a', save_format='tf'", "'a.h5', save_format=kind", "'a.h5', False, 'h5'"])
def test_another_format_stays(arguments: str) -> None:
    file = migrate(IN_A_FORMAT.format(arguments=arguments))
    assert file.after.splitlines()[-1] == f"model.save_weights({arguments.replace('a.h5', 'a.weights.h5')})"


def test_the_format_of_a_whole_model_stays() -> None:
    file = migrate(IN_A_FORMAT.format(arguments="'a.h5', save_format='h5'").replace("save_weights", "save"))
    assert file.after.endswith("model.save('a.h5', save_format='h5')\n")
