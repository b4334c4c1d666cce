"""One step as its replicas saw it: what each passes out, and the batch that they make up together."""

import numpy as np

from .content import fingerprint, row_hashes


class Batch(object):
    """One step's data as the replicas got it: each of `parts` are a replica's flat arrays, `layout` tells which is
    which."""

    def __init__(self):
        self.parts = []
        self.hashes = []
        self.losses = []
        self.layout = None
        self.learning_rate = None
        self.gradients = []
        """Of the first step, by replica: (the weights' ids, arrays)."""
        self.wants_gradients = False

    def keep(self, losses, rate, arrays, layout):
        """What the next replica passed out."""
        self.losses.append([float(loss) for loss in losses])
        self.parts.append(arrays)
        self.hashes.append([row_hashes(np.atleast_1d(arrays[i])) for i in layout.order])
        self.layout = layout
        if rate:
            self.learning_rate = float(rate[0])

    @property
    def loss(self):
        """The mean over all samples, of what each replica told as [sum, count]; None where none told any."""
        sums = [sum(column) for column in zip(*self.losses)]
        return sums[0] / sums[1] if sums and sums[1] else None

    def gradient(self):
        """What the optimizer is given: by the weight's id, the sum over the replicas."""
        total = {}
        for weights, arrays in self.gradients:
            for weight, array in zip(weights, arrays):
                total[weight] = total[weight] + array if weight in total else array
        return total

    def weights(self, whole_in_each):
        """The sample weights of the global batch, an array for each output that has some; None where none is known."""
        if not self.parts or not self.layout.order:
            return None
        replicas = slice(1 if whole_in_each else None)
        return [
            np.concatenate([np.atleast_1d(arrays[i]) for arrays in self.parts[replicas]]) for i in self.layout.weights
        ]

    def whole(self, whole_in_each):
        """(leaves, fingerprint) of the global batch: inputs then targets, each as the list of the replicas' parts; in
        `train_on_batch` of Keras 3 each replica holds the whole of it."""
        if not self.parts:
            return None, None
        replicas = slice(1 if whole_in_each else None)
        leaves = [[np.atleast_1d(arrays[i]) for arrays in self.parts[replicas]] for i in self.layout.order]
        return leaves, fingerprint(zip(*self.hashes[replicas]))


class Share(object):
    """What one replica passes out of its step: (sum and count of its losses, learning rate, batch), each a list."""

    def __init__(self, losses, rate, tensors, layout):
        self.tensors = losses, rate, tensors
        self.layout = layout


class Layout(object):
    def __init__(self, order, weights):
        self.order = order
        """Of the tensors: inputs, then targets."""
        self.weights = weights
        """Which of the tensors are sample weights."""
