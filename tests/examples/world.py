"""Runs the examples of rules/ on the Keras of this interpreter, each in a process of its own.

    PYTHON tests/examples/world.py genuine|migrated FOLDER

FOLDER/examples.json holds {name: {"script": text, "replicas": N}}. TensorFlow is imported once and the process forks
for each example, which therefore finds a TensorFlow that nobody has used. It runs under the probe of `tfmigrate
verify`: FOLDER/name/ then has the trace of its training, and numbers.json with the arrays and numbers it left in its
variables.
An example that trains nothing has its last compiled model trained for it, on data made to fit it; one that a file gave
only where it compiles no other.

Every model begins with weights that depend on its shapes alone, unless a file gave it some. Runs from Python 3.7 on.
"""

import faulthandler
import functools
import gc
import importlib
import json
import os
import runpy
import sys
import traceback

import h5py
import numpy as np

PROBE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tfmigrate", "verify")
ROWS, BATCH, EPOCHS = 64, 16, 2
SECONDS = 180
"""An example that takes longer is ended, and says where it was."""

NETWORK = """import numpy as np
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import Sequence


def build():
    return Sequential([Dense(1, input_shape=(4,))])


def prepare(model):
    if not hasattr(model, "distribute_strategy"):
        return model.compile(loss="mse", optimizer="sgd")
    with model.distribute_strategy.scope():
        model.compile(loss="mse", optimizer="sgd")


class batches(Sequence):
    def __len__(self):
        return 10

    def __getitem__(self, index):
        return np.full((8, 4), 0.1 * index), np.full((8, 1), 0.2)
"""
"""The module that TFM023 finds at run time, its page's advice taken."""


def main(world, folder):
    with open(os.path.join(folder, "examples.json")) as file:
        examples = json.load(file)
    importlib.import_module("tensorflow")
    gc.collect()
    gc.freeze()  # forks do not write to the pages of what is imported
    for name in sorted(examples):
        child = os.fork()
        if not child:
            code = 1
            try:
                code = run(world, os.path.join(folder, name), **examples[name])
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        os.waitpid(child, 0)


def run(world, folder, script, replicas):
    """One example, in `folder`, which becomes the current one."""
    os.makedirs(folder)
    output = os.open(os.path.join(folder, "output.txt"), os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    path = os.path.join(folder, "example.py")
    with open(path, "w") as file:
        file.write(script)
    config = {
        "script": path, "args": [], "cwd": folder, "output": os.path.join(folder, "trace"), "world": world,
        "replicas": replicas, "threads": 1, "workers": 1, "aligned": True, "seed": 20200401, "unconfined": [],
        "initial_weights": "settled",
    }  # fmt: skip
    sys.path.insert(0, PROBE)
    session = importlib.import_module("probe.session")
    settler = Settler()
    session.Recorder = functools.partial(settler.recorder, importlib.import_module("probe.recorder").Recorder)
    session.execute = functools.partial(execute, settler)
    session.prepare = functools.partial(settler.prepare, session.prepare)
    return session.run(config)


class Settler:
    """Gives every model its first weights as it is compiled, and remembers which models were."""

    def __init__(self):
        self.compiled = []
        self.loaded = []
        self.settled = {}
        self.weights = importlib.import_module("probe.weights")
        self.facts = importlib.import_module("probe.facts")

    def recorder(self, base, config):
        self.record = base(config)
        starts = self.record.starts
        starts.load = lambda entry, values: self.settle(entry.model, entry.adapter)
        starts.keep_own = lambda adapter, variables: None  # Some are settled by then.
        return self.record

    def prepare(self, original, config, recorder):
        original(config, recorder)
        tf = importlib.import_module("tensorflow")
        graph, eager = importlib.import_module("probe.graph"), importlib.import_module("probe.eager")
        for adapter in (graph.GraphKeras, eager.EagerKeras):
            adapter.sgd_probe = lambda *arguments: None  # finds causes, and costs as much as the rest
        for flavour in importlib.import_module("probe.flavours").find(tf):
            for trainer, in_graph in flavour.trainers:
                adapter = (graph.GraphKeras if in_graph else eager.EagerKeras)(flavour, recorder)
                # Keras 3 has it on a class above, and saves no model whose `compile` is another than that one's.
                owner = next(base for base in trainer.__mro__ if "compile" in vars(base))
                owner.compile = self.compiling(owner.compile, adapter)

    def compiling(self, original, adapter):
        @functools.wraps(original)
        def compile(model, *args, **kwargs):
            original(model, *args, **kwargs)
            (self.loaded if is_loading() else self.compiled).append(model)
            if is_loading():  # the weights are those of the file
                self.settled.update((id(variable), variable) for variable in self.weights.of_model(model))
            elif adapter.is_built(model):
                self.settle(model, adapter)

        return compile

    def settle(self, model, adapter):
        fresh = [variable for variable in self.weights.of_model(model) if id(variable) not in self.settled]
        self.settled.update((id(variable), variable) for variable in fresh)
        if not self.facts.of_model(model)["loaded"]:
            random = np.random.RandomState(7)
            adapter.assign(fresh, [first_value(variable, self.weights, random) for variable in fresh])


def is_loading():
    """Whether `load_model` is at work, which compiles the model itself."""
    return any(frame.f_code.co_name.startswith("load_model") for frame, _ in traceback.walk_stack(None))


def first_value(variable, weights, random):
    """A variance is positive; anything else may be what it likes."""
    shape = weights.shape_of(variable)
    values = 0.5 * random.randn(*shape) / np.sqrt(np.prod(shape[:-1]))
    return (1 + np.abs(values) if "variance" in weights.name_of(variable) else values).astype("float32")


def execute(settler, config):
    """Runs the example; returns (exit code, error or None) as the probe's own does."""
    tf = importlib.import_module("tensorflow")
    sys.argv[:] = [config["script"]]
    os.chdir(config["cwd"])
    try:
        with open(config["script"]) as file:
            given = what_pages_leave_out(tf, config["world"], file.read())
        names = runpy.run_path(config["script"], init_globals=given, run_name="__main__")
        ready = settler.loaded + settler.compiled
        if ready and not settler.record.entries:
            train(ready[-1])
        with open("numbers.json", "w") as file:
            json.dump(numbers({name: value for name, value in names.items() if name not in given}), file)
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        return 1, f"{type(error).__name__}: {shortened(str(error).strip())}"
    return 0, None


def shortened(message):
    """The beginning, and the last line, which says it where a traceback through a graph stands before it."""
    return message if len(message) <= 900 else f"{message[:600]} ... {message.splitlines()[-1][:300]}"


def what_pages_leave_out(tf, world, script):
    """Names and files that the examples read and do not make."""
    random = np.random.RandomState(0)
    x, y = random.rand(ROWS, 4).astype("float32"), random.rand(ROWS, 1).astype("float32")

    class Batches(tf.keras.utils.Sequence):
        def __len__(self):
            return ROWS // BATCH

        def __getitem__(self, index):
            rows = slice(index * BATCH, (index + 1) * BATCH)
            return x[rows], y[rows]

    np.save("x.npy", random.rand(1024, 4))
    np.save("y.npy", random.rand(1024, 1))
    os.mkdir("logs")
    os.mkdir("networks")
    with open("networks/small.py", "w") as file:
        file.write(NETWORK)
    sys.path.insert(0, os.getcwd())
    with h5py.File("pretrained.h5", "w") as file:  # as old Keras wrote the weights of one Dense(1)
        file.attrs["layer_names"] = [b"dense_1"]
        layer = file.create_group("dense_1")
        layer.attrs["weight_names"] = [b"dense_1/kernel:0", b"dense_1/bias:0"]
        layer["dense_1/kernel:0"], layer["dense_1/bias:0"] = x[:4, :1], y[0]
    if world == "migrated" and "model.keras" in script:
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
        model.set_weights([x[:4, :1], y[0]])
        model.save("model.keras")
    return {"x": x, "y": y, "batches": Batches(), "data": Batches(), "sequence": Batches(), "targets": y,
            "images": random.rand(ROWS, 32, 32, 3).astype("float32")}  # fmt: skip


def train(model):
    """Two epochs of four batches, of data that fits the model's inputs, output and loss."""
    random = np.random.RandomState(2)
    shapes = model.input_shape if isinstance(model.input_shape, list) else [model.input_shape]
    x = [random.rand(ROWS, *shape[1:]).astype("float32") for shape in shapes]
    shape = model.output_shape[1:]
    if "crossentropy" in str(model.loss):
        y = np.eye(shape[-1], dtype="float32")[random.randint(0, shape[-1], ROWS)]
    else:
        y = random.rand(ROWS, *shape).astype("float32")
    model.fit(x if len(x) > 1 else x[0], y, batch_size=BATCH, epochs=EPOCHS, verbose=0)


def numbers(names):
    """Those variables that hold a number or an array of numbers."""
    return {name: np.asarray(value).tolist() for name, value in names.items()
            if isinstance(value, (np.ndarray, np.number, float)) and not name.startswith("_")
            and np.asarray(value).dtype != object}  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
