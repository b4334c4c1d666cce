"""Readings of a survey and the ground below it, as .npz files: two arrays of one shape each."""

import numpy
import standins

for number in range(60):
    numpy.savez(
        standins.place("../data/processed_data/training/%03d.npz" % number),
        Inputs=numpy.random.randn(112, 240, 1).astype("float32"),
        Targets=numpy.random.randn(2, 4, 1).astype("float32"),
    )
