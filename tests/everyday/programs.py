"""Programs with wraps placed at random, in the shapes that people wrote (SHAPES.md)."""

from __future__ import annotations

import random
import textwrap
from dataclasses import dataclass, field

HEADER = """import numpy as np
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


@dataclass
class _Program:
    """Choices of one program, made once and used all over it."""

    random: random.Random
    imports: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        pick = self.random.choice
        self.keras = pick(["keras", "tensorflow.keras", "tensorflow.keras"])
        self.model, self.parallel = pick([("model", "parallel_model"), ("base", "net"), ("m", "m"), ("model", "model")])
        self.gpus = pick(["4", "2", "gpus", "gpus", "len(devices)", "args.gpus", "[0, 1]"])
        self.guard = pick(["none", "none", "if", "else", "try", "ternary", "device"])

    def name(self, module: str, name: str) -> str:
        """`name` of keras.`module`, imported in some way."""
        way = self.random.randrange(4)
        if way == 0 and self.keras != "keras":
            self.imports.add("import tensorflow as tf")
            return f"tf.keras.{module}.{name}"
        if way == 1:
            self.imports.add(f"from {self.keras} import {module}")
            return f"{module}.{name}"
        self.imports.add(f"from {self.keras}.{module} import {name}")
        return name

    def wrapper(self) -> str:
        way = self.random.randrange(5)
        if way == 0:
            self.imports.add(f"from {self.keras}.utils import multi_gpu_model as to_gpus")
            return "to_gpus"
        if way == 1 and self.keras == "keras":
            self.imports.add("from keras.utils.training_utils import multi_gpu_model")
            return "multi_gpu_model"
        return self.name("utils", "multi_gpu_model")

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def noise(self) -> str:
        return self.random.choice(["", "", "", "print('.')\n", "\n", "# what follows\n", "steps = len(x) // 32\n"])

    def construction(self, target: str) -> str:
        dense = self.name("layers", "Dense")
        way = self.random.randrange(3)
        if way == 0:
            return f"{target} = {self.name('models', 'Sequential')}([{dense}(8, input_shape=(4,)), {dense}(1)])\n"
        if way == 1:
            made = f"{target} = {self.name('models', 'Sequential')}()\n{target}.add({dense}(8, input_shape=(4,)))\n"
            return f"{made}{self.noise()}{target}.add({dense}(1))\n"
        built = f"inputs = {self.name('layers', 'Input')}((4,))\nhidden = {dense}(8, activation='relu')(inputs)\n"
        return f"{built}{self.noise()}{target} = {self.name('models', 'Model')}(inputs, {dense}(1)(hidden))\n"

    def built(self, target: str) -> str:
        made = self.construction(target)
        if self.chance(0.4):
            self.imports.add("import tensorflow as tf")
            place = "'/cpu:0'" if self.chance(0.7) else '"/device:CPU:0"'
            made = f"with tf.device({place}):\n{textwrap.indent(made, '    ')}"
        return made

    def wrapped(self) -> str:
        """Template and wrap, guarded or not."""
        wrapper, gpus = self.wrapper(), self.gpus
        call = f"{wrapper}({self.model}, {self.random.choice(['gpus=', ''])}{gpus})"
        more = f"len({gpus}) > 1" if gpus.startswith("[") else f"{gpus} {self.random.choice(['> 1', '>= 2'])}"
        template, parallel = self.model, self.parallel
        if self.guard == "none":
            return f"{self.built(template)}{self.noise()}{parallel} = {call}\n"
        if self.guard == "if":
            before = f"{parallel} = {template}\n" if parallel != template else ""
            return f"{self.built(template)}{before}{self.noise()}if {more}:\n    {parallel} = {call}\n"
        if self.guard == "else":
            return f"{self.built(template)}if {more}:\n    {parallel} = {call}\nelse:\n    {parallel} = {template}\n"
        if self.guard == "try":
            fallback = f"    {parallel} = {template}\n" if parallel != template else "    pass\n"
            return f"{self.built(template)}try:\n    {parallel} = {call}\nexcept ValueError:\n{fallback}"
        if self.guard == "ternary":
            return f"{self.built(template)}{parallel} = {call} if {more} else {template}\n"
        made = textwrap.indent(self.construction(template), "    ")
        alone = made if parallel == template else f"{made}    {parallel} = {template}\n"
        return f"if {more}:\n{made}    {parallel} = {call}\nelse:\n{alone}"

    def optimizer(self) -> str:
        kind = self.random.choice(["SGD", "Adam", "RMSprop", "Adadelta", "Adagrad", "Adamax"])
        if self.chance(0.3):
            return repr(kind.lower())
        arguments = self.random.choice(["", "0.1", "lr=0.1", "learning_rate=0.1"])
        return f"{self.name('optimizers', kind)}({arguments})"

    def training(self) -> str:
        model, pick = self.parallel, self.random.choice
        way = self.random.randrange(6)
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
        return f"{model}.fit({data}{batch}, epochs=2{held}{rest})\n"

    def after(self) -> str:
        ends = [
            f"{self.model}.save_weights('out.h5')\n",
            f"{self.model}.save('model.h5')\n",
            f"{self.parallel}.predict(x_val)\n",
            f"{self.parallel}.evaluate(x_val, y_val, verbose=0)\n",
            f"{self.parallel}.summary()\n",
        ]
        return "".join(end for end in ends if self.chance(0.25))

    def body(self) -> tuple[str, str]:
        """What builds, wraps and compiles; and what trains."""
        optimizer = self.optimizer()
        early = late = ""
        if not optimizer.startswith("'") and self.chance(0.5):
            early, late = self.random.choice([(f"optimizer = {optimizer}\n", ""), ("", f"optimizer = {optimizer}\n")])
            optimizer = "optimizer"
        metrics = self.random.choice(["", ", metrics=['mae']"])
        form = self.random.choice([f"loss='mse', optimizer={optimizer}{metrics}", f"{optimizer}, 'mse'{metrics}"])
        loaded = f"{self.model}.load_weights('old.h5')\n" if self.chance(0.15) else ""
        wrapped = self.wrapped() if not loaded else self.wrapped() + ("" if self.model == self.parallel else loaded)
        compiled = f"{self.parallel}.compile({form})\n"
        other = ""
        if self.chance(0.15):
            other = f"other = {self.name('models', 'Sequential')}([{self.name('layers', 'Dense')}(1)])\n"
            other += "other.compile('sgd', 'mse')\nother.fit(x, y, batch_size=64)\n"
        first = f"{early}{self.noise()}{wrapped}{self.noise()}{late}{compiled}"
        return first, f"{other}{self.noise()}{self.training()}{self.after()}"


SETTINGS = "gpus = {count}\ndevices = [0, 1, 2]\nbatch = 64\n"


def generate(seed: int) -> str:
    """The program number `seed`; the same on every machine."""
    program = _Program(random.Random(seed))
    first, second = program.body()
    pick = program.random.choice
    names = sorted({program.model, program.parallel})
    returned = ", ".join(names)
    layout = pick(["module", "module", "function", "builder", "methods", "two functions"])
    count = pick([1, 2, 4, 4]) if program.guard not in ("none",) else pick([2, 4])
    settings = SETTINGS.format(count=count)
    settings += f"args = types.SimpleNamespace(gpus={count})\n"
    program.imports.add("import types")
    indent = "    "
    if layout == "module":
        text = f"{settings}{first}{second}"
    elif layout == "function":
        text = f"def main():\n{textwrap.indent(settings + first + second, indent)}\n\nmain()\n"
    elif layout == "builder":
        text = f"{settings}\n\ndef build():\n{textwrap.indent(first, indent)}    return {returned}\n\n\n"
        text += f"{returned} = build()\n{second}"
    elif layout == "methods":
        state = "".join(f"self.{name} = {name}\n" for name in names)
        back = "".join(f"{name} = self.{name}\n" for name in names)
        text = f"{settings}\n\nclass Trainer:\n    def build(self):\n{textwrap.indent(first + state, 2 * indent)}\n"
        text += f"    def train(self):\n{textwrap.indent(back + second, 2 * indent)}\n\n"
        text += "trainer = Trainer()\ntrainer.build()\ntrainer.train()\n"
    else:
        text = f"{settings}\n\ndef build():\n{textwrap.indent(first, indent)}    return {returned}\n\n\n"
        text += f"def train({returned}):\n{textwrap.indent(second, indent)}\n\n"
        text += f"train({'*' if len(names) > 1 else ''}build())\n"
    sequence = program.name("utils", "Sequence")
    imports = "\n".join(sorted(program.imports))
    return HEADER.format(imports=imports, sequence=sequence) + text
