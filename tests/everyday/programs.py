"""Programs with wraps placed at random, in the shapes that people wrote (docs/survey.md), in one file or in several."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager

MAIN = "train.py"
DATA = """import numpy as np
{imports}

x = np.arange(256 * 4, dtype='float32').reshape(256, 4)
y = np.arange(256, dtype='float32').reshape(256, 1)
x_val, y_val = x[:64] + 1, y[:64]
w = np.ones((256, 1))


class Batches({sequence}):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return x[index * 32:(index + 1) * 32], y[index * 32:(index + 1) * 32]

"""
SETTINGS = (
    "import types\n\ngpus = {count}\ndevices = [0, 1, 2]\nbatch = 64\nargs = types.SimpleNamespace(gpus={count})\n"
)
DRESS = """class MultiGPU({model}):
    def __init__(self, serial, gpus):
        parallel = {wrapper}(serial, gpus)
        self.__dict__.update(parallel.__dict__)
        self._serial = serial

    def __getattribute__(self, name):
        if 'load' in name or 'save' in name:
            return getattr(self._serial, name)
        return super(MultiGPU, self).__getattribute__(name)
"""
SAVER = """class SaveTemplate({callback}):
    def __init__(self, template):
        super().__init__()
        self.template = template

    def on_epoch_end(self, epoch, logs=None):
        self.template.save_weights('epoch.h5')
"""


def indented(text: str) -> str:
    return textwrap.indent(text, "    ")


class _Program:
    """Choices of one program, made once and used all over it, and what stands in each of its files."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        pick = self.random.choice
        self.imports: dict[str, set[str]] = {}
        self.functions: dict[str, list[str]] = {}
        self.file = MAIN
        self.helpers = 0
        self.several = self.chance(0.35)
        self.keras = pick(["keras", "tensorflow.keras", "tensorflow.keras"])
        self.model, self.parallel = pick([("model", "parallel_model"), ("base", "net"), ("m", "m"), ("model", "model")])
        self.gpus = pick(["4", "2", "gpus", "gpus", "len(devices)", "args.gpus", "[0, 1]"])
        self.guard = pick(["none", "none", "if", "else", "try", "ternary", "arms", "unless", "one", "or", "return"])
        self.count = pick([2, 4]) if self.guard == "none" else pick([1, 2, 4, 4])

    # ---- words ----

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def noise(self) -> str:
        return self.random.choice(["", "", "", "print('.')\n", "\n", "# what follows\n", "steps = len(x) // 32\n"])

    def use(self, statement: str) -> None:
        self.imports.setdefault(self.file, set()).add(statement)

    @contextmanager
    def inside(self, file: str) -> Iterator[None]:
        before, self.file = self.file, file
        yield
        self.file = before

    def name(self, module: str, name: str) -> str:
        """`name` of keras.`module`, imported in some way."""
        way = self.random.randrange(4)
        if way == 0 and self.keras != "keras":
            self.use("import tensorflow as tf")
            return f"tf.keras.{module}.{name}"
        if way == 1:
            self.use(f"from {self.keras} import {module}")
            return f"{module}.{name}"
        self.use(f"from {self.keras}.{module} import {name}")
        return name

    def wrapper(self) -> str:
        way = self.random.randrange(5)
        if way == 0:
            self.use(f"from {self.keras}.utils import multi_gpu_model as to_gpus")
            return "to_gpus"
        if way == 1 and self.keras == "keras":
            self.use("from keras.utils.training_utils import multi_gpu_model")
            return "multi_gpu_model"
        return self.name("utils", "multi_gpu_model")

    def more_than_one(self, gpus: str) -> str:
        return f"len({gpus}) > 1" if gpus.startswith("[") else f"{gpus} {self.random.choice(['> 1', '>= 2'])}"

    def helper(self, stem: str, parameters: str, body: Callable[[], str]) -> str:
        """The name of a new function that holds `body`, here or in a file of its own."""
        self.helpers += 1
        name = f"{stem}_{self.helpers}"
        file = self.random.choice([self.file, f"{stem}.py"]) if self.several else self.file
        with self.inside(file):
            text = f"def {name}({parameters}):\n{indented(body())}\n\n"
        self.functions.setdefault(file, []).append(text)
        if file == self.file:
            return name
        if self.chance(0.5):
            self.use(f"import {stem}")
            return f"{stem}.{name}"
        self.use(f"from {stem} import {name}")
        return name

    # ---- parts ----

    def construction(self, target: str) -> str:
        """Statements that build a model, or a call of a function that does."""
        if self.chance(0.3):
            made = self.helper("build", self.random.choice(["", "units=8"]), lambda: self.layers("m") + "return m\n")
            return f"{target} = {made}()\n"
        return self.layers(target)

    def layers(self, target: str) -> str:
        dense = self.name("layers", "Dense")
        way = self.random.randrange(3)
        if way == 0:
            return f"{target} = {self.name('models', 'Sequential')}([{dense}(8, input_shape=(4,)), {dense}(1)])\n"
        if way == 1:
            made = f"{target} = {self.name('models', 'Sequential')}()\n{target}.add({dense}(8, input_shape=(4,)))\n"
            return f"{made}{self.inner_noise()}{target}.add({dense}(1))\n"
        built = f"inputs = {self.name('layers', 'Input')}((4,))\nhidden = {dense}(8, activation='relu')(inputs)\n"
        return f"{built}{self.inner_noise()}{target} = {self.name('models', 'Model')}(inputs, {dense}(1)(hidden))\n"

    def inner_noise(self) -> str:
        return self.random.choice(["", "", "print('layers')\n", "# the last one\n"])

    def built(self, target: str) -> str:
        made = self.construction(target)
        if self.chance(0.4):
            self.use("import tensorflow as tf")
            place = "'/cpu:0'" if self.chance(0.7) else '"/device:CPU:0"'
            made = f"with tf.device({place}):\n{indented(made)}"
        return made

    def call(self, template: str, gpus: str) -> str:
        """The wrap itself, or a call of a function that wraps its argument."""
        if self.chance(0.15):

            def body() -> str:
                wrapper = self.wrapper()
                if self.chance(0.5):
                    return f"if {self.more_than_one('n')}:\n    return {wrapper}(m, n)\nreturn m\n"
                return f"return {wrapper}(m, gpus=n)\n"

            # A list of ids cannot be compared with a number inside.
            if not gpus.startswith("["):
                return f"{self.helper('parallel', 'm, n', body)}({template}, {gpus})"
        if self.chance(0.05) and self.file == MAIN:
            model = self.name("models", "Model")
            text = DRESS.format(model=model, wrapper=self.wrapper())
            if not any(one.startswith("class MultiGPU(") for one in self.functions.get(MAIN, [])):
                self.functions.setdefault(MAIN, []).append(f"{text}\n\n")
            return f"MultiGPU({template}, {gpus})"
        return f"{self.wrapper()}({template}, {self.random.choice(['gpus=', ''])}{gpus})"

    def wrapped(self) -> str:
        """Template and wrap, guarded or not."""
        gpus, template, parallel = self.gpus, self.model, self.parallel
        more = self.more_than_one(gpus)
        alone = f"{parallel} = {template}\n" if parallel != template else "pass\n"
        if self.guard == "arms":
            made = indented(self.construction(template))
            rest = made if parallel == template else f"{made}    {parallel} = {template}\n"
            return f"if {more}:\n{made}    {parallel} = {self.call(template, gpus)}\nelse:\n{rest}"
        built = self.built(template)
        if self.guard == "return" and parallel != template and not gpus.startswith("["):

            def body() -> str:
                return f"if {self.more_than_one('n')}:\n    return {self.wrapper()}(m, n)\nelse:\n    return m\n"

            return f"{built}{parallel} = {self.helper('parallel', 'm, n', body)}({template}, {gpus})\n"
        call = self.call(template, gpus)
        if self.guard == "if":
            before = f"{parallel} = {template}\n" if parallel != template else ""
            return f"{built}{before}{self.noise()}if {more}:\n    {parallel} = {call}\n"
        if self.guard == "unless":
            return f"{built}if not {more}:\n    {alone}else:\n    {parallel} = {call}\n"
        if self.guard == "one" and not gpus.startswith("["):
            test = self.random.choice([f"{gpus} <= 1", f"{gpus} == 1", f"{gpus} < 2"])
            return f"{built}if {test}:\n    {alone}else:\n    {parallel} = {call}\n"
        if self.guard == "or" and parallel != template:
            before = f"{built}wrapped = None\nif {more}:\n    wrapped = {call}\n"
            return f"{before}{parallel} = wrapped or {template}\n"
        if self.guard == "try":
            return f"{built}try:\n    {parallel} = {call}\nexcept ValueError:\n    {alone}"
        if self.guard == "ternary":
            return f"{built}{parallel} = {call} if {more} else {template}\n"
        if self.guard == "none":
            return f"{built}{self.noise()}{parallel} = {call}\n"
        return f"{built}if {more}:\n    {parallel} = {call}\nelse:\n    {alone}"

    def optimizer(self) -> str:
        kind = self.random.choice(["SGD", "Adam", "RMSprop", "Adadelta", "Adagrad", "Adamax"])
        if self.chance(0.3):
            return repr(kind.lower())
        arguments = self.random.choice(["", "0.1", "lr=0.1", "learning_rate=0.1"])
        return f"{self.name('optimizers', kind)}({arguments})"

    def compiled(self, model: str) -> tuple[str, str, str]:
        """What stands before the wrap, what after it, and compile()."""
        if self.chance(0.15):
            made = self.helper("compiling", "m", lambda: f"m.compile({self.compile_form(self.optimizer())})\n")
            return "", "", f"{made}({model})\n"
        optimizer = self.optimizer()
        early = late = ""
        if not optimizer.startswith("'") and self.chance(0.5):
            early, late = self.random.choice([(f"optimizer = {optimizer}\n", ""), ("", f"optimizer = {optimizer}\n")])
            optimizer = "optimizer"
        return early, late, f"{model}.compile({self.compile_form(optimizer)})\n"

    def compile_form(self, optimizer: str) -> str:
        metrics = self.random.choice(["", ", metrics=['mae']"])
        return self.random.choice([f"loss='mse', optimizer={optimizer}{metrics}", f"{optimizer}, 'mse'{metrics}"])

    def training(self, model: str) -> str:
        if self.chance(0.15):
            return f"{self.helper('training', 'm', lambda: self.steps('m'))}({model})\n"
        return self.steps(model)

    def steps(self, model: str) -> str:
        pick = self.random.choice
        way = self.random.randrange(7)
        if way == 0:
            return f"{model}.fit_generator(Batches(), steps_per_epoch=8, epochs=2{pick(['', ', workers=4'])})\n"
        if way == 1:
            return f"{model}.fit(Batches(), epochs=3, validation_data=Batches())\n"
        if way == 2:
            body = f"    {model}.train_on_batch(x[i * 32:i * 32 + 32], y[i * 32:i * 32 + 32])\n"
            return f"for i in range(2):\n{body}"
        data = pick(["x, y", "x, y", "x=x, y=y"])
        batch = pick(["", ", batch_size=64", ", batch_size=128", ", batch_size=batch", ", batch_size=32 * 2"])
        held = pick(["", ", validation_data=(x_val, y_val)", ", validation_split=0.25"])
        rest = pick(["", ", shuffle=False", ", verbose=2", ", class_weight={0: 1.0}", ", sample_weight=w"])
        fit = f"{model}.fit({data}{batch}, epochs=2{held}{rest})\n"
        if way == 3:
            return f"for epoch in range(2):\n    {fit}    print(epoch)\n"
        return fit

    def after(self) -> str:
        ends = [
            f"{self.model}.save_weights('out.h5')\n",
            f"{self.model}.save('model.h5')\n",
            f"{self.parallel}.predict(x_val)\n",
            f"{self.parallel}.evaluate(x_val, y_val, verbose=0)\n",
            f"{self.parallel}.summary()\n",
        ]
        return "".join(end for end in ends if self.chance(0.25))

    # ---- bodies: what builds, wraps and compiles; what trains; and the names the second needs of the first ----

    def one_model(self) -> tuple[str, str, list[str]]:
        early, late, compiled = self.compiled(self.parallel)
        loaded = f"{self.model}.load_weights('old.h5')\n" if self.chance(0.15) and self.model != self.parallel else ""
        wrapped = self.wrapped() + loaded
        other = ""
        if self.chance(0.15):
            other = f"other = {self.name('models', 'Sequential')}([{self.name('layers', 'Dense')}(1)])\n"
            other += "other.compile('sgd', 'mse')\nother.fit(x, y, batch_size=64)\n"
        first = f"{early}{self.noise()}{wrapped}{self.noise()}{late}{compiled}"
        names = sorted({self.model, self.parallel})
        if self.chance(0.1):
            self.functions.setdefault(MAIN, []).append(
                SAVER.format(callback=self.name("callbacks", "Callback")) + "\n\n"
            )
            saving = f"{self.parallel}.fit(x, y, epochs=2, callbacks=[SaveTemplate({self.model})])\n"
            return first, f"{other}{saving}{self.after()}", names
        return first, f"{other}{self.noise()}{self.training(self.parallel)}{self.after()}", names

    def several_models(self) -> tuple[str, str, list[str]]:
        """A list of models, each wrapped, compiled and trained in loops."""
        gpus = self.gpus
        compiled = f"m.compile({self.compile_form(self.optimizer())})\n"
        made = self.helper("build", "", lambda: self.layers("m") + "return m\n")
        first = self.random.choice(
            [
                f"bases = [{made}() for i in range(2)]\n{self.noise()}nets = [{self.call('m', gpus)} for m in bases]\n",
                f"bases, nets = [], []\nfor i in range(2):\n    m = {made}()\n    bases.append(m)\n"
                f"    nets.append({self.call('m', gpus)})\n",
            ]
        )
        first += f"for m in nets:\n{indented(compiled)}"
        second = f"for m in nets:\n{indented(self.steps('m'))}for m in bases:\n    m.save_weights('out.h5')\n"
        return first, second, ["bases", "nets"]

    def adversaries(self) -> tuple[str, str, list[str]]:
        """Two models and a third built on both (a GAN without its arithmetic)."""
        gpus, dense, model = self.gpus, self.name("layers", "Dense"), self.name("models", "Model")
        sequential, inputs = self.name("models", "Sequential"), self.name("layers", "Input")
        first = f"maker = {sequential}([{dense}(4, input_shape=(4,))])\n{self.noise()}"
        first += f"critic = {sequential}([{dense}(1, input_shape=(4,))])\n"
        if self.chance(0.5):
            first += f"critic = {self.call('critic', gpus)}\n"
        first += f"critic.compile('sgd', 'mse')\n{self.noise()}"
        first += f"noise = {inputs}((4,))\nboth = {model}(noise, critic(maker(noise)))\n"
        first += f"both = {self.call('both', gpus)}\nboth.compile('sgd', 'mse')\n"
        second = (
            "for i in range(2):\n    critic.train_on_batch(x[:32], y[:32])\n    both.train_on_batch(x[:32], y[:32])\n"
        )
        return first, second + "maker.save_weights('maker.h5')\n", ["maker", "critic", "both"]

    def folds(self) -> tuple[str, str, list[str]]:
        """A new model for each fold."""
        early, late, compiled = self.compiled(self.parallel)
        inside = f"{early}{self.wrapped()}{late}{compiled}{self.noise()}{self.steps(self.parallel)}"
        inside += f"{self.model}.save_weights('fold.h5')\n"
        return f"for fold in range(2):\n{indented(inside)}", "print('done')\n", []

    def inference(self) -> tuple[str, str, list[str]]:
        loaded = f"{self.model}.load_weights('old.h5')\n"
        first = self.wrapped() + (loaded if self.model != self.parallel else "")
        return first, f"{self.parallel}.predict(x_val)\n", sorted({self.model, self.parallel})

    # ---- files ----

    def files(self) -> dict[str, str]:
        kinds = [self.one_model] * 14 + [self.inference, self.folds]
        kinds += [] if self.count == 1 else [self.several_models, self.adversaries, self.adversaries]
        first, second, names = self.random.choice(kinds)()
        text = self.laid_out(first, second, names)
        found: dict[str, str] = {}
        settings = SETTINGS.format(count=self.count)
        with self.inside("data.py" if self.several else MAIN):
            sequence = self.name("utils", "Sequence")
        if self.several:
            data = "\n".join(sorted(self.imports.pop("data.py")))
            found = {"data.py": DATA.format(imports=data, sequence=sequence), "config.py": settings}
            shared = "from config import args, batch, devices, gpus\nfrom data import Batches, w, x, x_val, y, y_val\n"
            for file in sorted({*self.imports, *self.functions} - {MAIN}):
                imports = "\n".join(sorted(self.imports.get(file, ())))
                found[file] = f"{imports}\n{shared}\n\n" + "".join(self.functions.get(file, ()))
            head = "\n".join(sorted(self.imports.get(MAIN, ()))) + f"\n{shared}"
        else:
            imports = "\n".join(sorted(self.imports.get(MAIN, ())))
            head = DATA.format(imports=imports, sequence=sequence) + settings
        found[MAIN] = f"{head}\n\n{''.join(self.functions.get(MAIN, ()))}{text}"
        return found

    def laid_out(self, first: str, second: str, names: list[str]) -> str:
        returned = ", ".join(names)
        layouts = ["module", "module", "function", "main"]
        layout = self.random.choice([*layouts, "builder", "methods", "init", "two functions"] if names else layouts)
        if layout == "module":
            return f"{first}{second}"
        if layout == "function":
            return f"def main():\n{indented(first + second)}\n\nmain()\n"
        if layout == "main":
            return f"def main():\n{indented(first + second)}\n\nif __name__ == '__main__':\n    main()\n"
        if layout == "builder":
            return f"def make():\n{indented(first)}    return {returned}\n\n\n{returned} = make()\n{second}"
        if layout in ("methods", "init"):
            state = "".join(f"self.{name} = {name}\n" for name in names)
            back = "".join(f"{name} = self.{name}\n" for name in names)
            build = "build" if layout == "methods" else "__init__"
            text = f"class Trainer:\n    def {build}(self):\n{indented(indented(first + state))}\n"
            text += f"    def train(self):\n{indented(indented(back + second))}\n\ntrainer = Trainer()\n"
            return text + ("trainer.build()\n" if layout == "methods" else "") + "trainer.train()\n"
        text = f"def make():\n{indented(first)}    return {returned}\n\n\n"
        text += f"def train({returned}):\n{indented(second)}\n\n"
        return f"{text}train({'*' if len(names) > 1 else ''}make())\n"


def generate(seed: int) -> dict[str, str]:
    """The files of program number `seed`, by name; the same on every machine. `MAIN` is the one to run."""
    return _Program(seed).files()
