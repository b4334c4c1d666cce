"""The weights that models begin with: those of another run, where there is one."""

import glob
import os
import time

import numpy as np

from . import facts, weights

WAIT_SECONDS = 0.02


class WeightsDiffer(ValueError):
    """The other run's initial weights do not fit this run's model."""


def nudged(values):
    """Weights moved by one unit in their last place, up or down: what rounding makes of a number."""
    if values.dtype.kind != "f":
        return values
    ways = np.random.RandomState(values.size % 2**31).choice([-np.inf, np.inf], values.shape)
    return np.nextafter(values, ways.astype(values.dtype))


class Starts(object):
    """What was aligned with the other run, and what the script itself had made of it."""

    def __init__(self, config, lines):
        self.config = config
        self.lines = lines
        self.aligned = {}
        """Variables that have the other run's values, or had them before they were trained, by id."""
        self.own = {}
        """What the script itself gave a weight before it was aligned, by id: (mean, spread, value)."""
        self.met = {}
        self.met_files = 0

    def meet(self, model, adapter, trained):
        """Aligns a model with the other run's before anything leaves it: what the generator of a GAN predicts before it
        is trained, a file of its first weights. Not so weights that a file gave, while nothing is trained: that they
        are the right ones is for the script to show.

        `trained`: whether anything was by now."""
        if id(model) in self.met or not adapter.is_built(model):
            return
        self.met[id(model)] = model
        fresh = [variable for variable in weights.of_model(model) if id(variable) not in self.aligned]
        if not fresh:
            return
        name = "met-%d.npz" % self.met_files
        self.met_files += 1
        self.aligned.update((id(variable), variable) for variable in fresh)
        begun = [variable for variable in fresh if trained or not facts.from_file(variable)]
        self.keep_own(adapter, fresh)
        values = self.theirs(name)
        if values is not None and begun:
            if [tuple(value.shape) for value in values] == [weights.shape_of(variable) for variable in begun]:
                adapter.assign(begun, values)
            else:
                self.lines.note("the weights of %s before its first use do not fit those of the other run" % model.name)
        self.lines.save(name, adapter.read(begun))

    def load(self, entry, values):
        if values is None:
            raise WeightsDiffer(
                "the other run has no initial weights for model %d (%s): it trained %d models with weights to record"
                % (
                    entry.index,
                    entry.model.name,
                    len(glob.glob(os.path.join(self.config["initial_weights"], weights_file("*", "initial")))),
                )
            )
        theirs = [tuple(value.shape) for value in values]
        ours = [weights.shape_of(variable) for variable in entry.leaves]
        if theirs != ours:
            raise WeightsDiffer(
                "the other run's initial weights do not fit model %d (%s): %s"
                % (entry.index, entry.model.name, first_mismatch(theirs, ours, entry.leaves))
            )
        # A layer shared with a model that was trained before keeps what that training made of it.
        fresh = [i for i, variable in enumerate(entry.leaves) if id(variable) not in self.aligned]
        if self.config.get("nudged"):
            values = [nudged(value) for value in values]
        entry.adapter.assign([entry.leaves[i] for i in fresh], [values[i] for i in fresh])

    def keep_own(self, adapter, variables):
        for variable, value in zip(variables, adapter.read(variables)):
            if value.dtype.kind in "fiu" and value.size:
                mean, spread = np.mean(value, dtype=np.float64), np.std(value, dtype=np.float64)
                self.own[id(variable)] = float(mean), float(spread), value

    def own_start(self, variable, theirs, index):
        """[mean, spread, from a file, distance] of what the script itself gave a weight; the distance is from the other
        run's, over its largest element. None where the weight was trained before, and where it holds no numbers."""
        mean, spread, value = self.own.pop(id(variable), (None, None, None))
        if value is None:
            return None
        distance = None
        if theirs is not None and index < len(theirs) and theirs[index].shape == value.shape:
            largest = np.abs(theirs[index]).max()
            distance = float(np.abs(theirs[index] - value).max() / (largest or 1.0))
        return [mean, spread, facts.given(variable), distance]

    def theirs(self, name):
        """The arrays in this file of the other run, once it has written them; None when it has not and is over."""
        folder = self.config.get("initial_weights")
        if not folder:
            return None
        path = os.path.join(folder, name)
        while os.path.exists(os.path.join(folder, "running")) and not os.path.exists(path):
            time.sleep(WAIT_SECONDS)
        if not os.path.exists(path):
            return None
        with np.load(path) as stored:
            return [stored[str(i)] for i in range(len(stored.files))]


def weights_file(model, moment):
    return "model-%s-%s.npz" % (model, moment)


def first_mismatch(theirs, ours, variables):
    for i, (a, b) in enumerate(zip(theirs, ours)):
        if a != b:
            return "weight %d (%s) has shape %s here and %s there" % (i, weights.name_of(variables[i]), b, a)
    return "%d weights here, %d there" % (len(ours), len(theirs))
