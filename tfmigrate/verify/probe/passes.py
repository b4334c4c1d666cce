"""Epochs that are not the whole of a Sequence: `fit(sequence, steps_per_epoch=n)`.

Where the next one begins depends on the Keras (measured): Keras 2.3.1 and tf.keras of TensorFlow 1.15 go on where the
last one ended, TensorFlow 2.3 and Keras 2 begin anew, Keras 3 takes what is left and no more. Old runs all go on, in
whatever Keras. An epoch that verify makes shorter is the first steps of the one that was asked for, on every side.
"""

import math

SEQUENCES = ("Sequence", "PyDataset")
REMARK = (
    "epochs that do not use the whole of a Sequence continue where the last one ended, as in Keras 2.3 and "
    "TensorFlow 1"
)


def go_on(arguments, given, recorder):
    """Lets the epochs of a training call go on; `given`: its `steps_per_epoch` before verify made it shorter."""
    name = "x" if "x" in arguments else "generator"
    data, steps = arguments[name], arguments.get("steps_per_epoch")
    whole = len(data) if given is None else math.ceil(given)
    steps = whole if steps is None else math.ceil(steps)
    world = recorder.config["world"]
    genuine = world == "genuine" and recorder.aligned
    old = world == "restored" or genuine
    # In the main thread old Keras asks an iterator of keras_preprocessing for the next batch, not for one by its index,
    # by which verify seeds what an item draws.
    if steps == whole == len(data) and not (genuine and hasattr(data, "__next__")):
        return
    if old or whole == len(data):
        arguments[name], arguments["steps_per_epoch"] = in_epochs(data, steps, whole), None
    if old and whole != len(data):
        recorder.note(REMARK)


def in_epochs(sequence, steps, whole):
    """The Sequence in epochs of so many batches, the first of the `whole` ones that were asked for; an epoch in which a
    pass ends is followed by its `on_epoch_end`."""
    kind = [base for base in type(sequence).__mro__ if base.__name__ in SEQUENCES][-1]

    class Epochs(kind):
        def __init__(self):
            super().__init__()
            self.data, self.first = sequence, 0

        def __len__(self):
            return steps

        def __getitem__(self, index):
            return self.data[(self.first + index) % len(self.data)]

        def on_epoch_begin(self):
            if hasattr(self.data, "on_epoch_begin"):  # of Keras 3
                self.data.on_epoch_begin()

        def on_epoch_end(self):
            passes, self.first = divmod(self.first + whole, len(self.data))
            if passes:
                self.data.on_epoch_end()

    return Epochs()
