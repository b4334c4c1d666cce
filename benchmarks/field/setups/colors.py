"""Pictures, their names, and points of the a-b plane with a weight each."""

import numpy
import standins

names = [standins.picture("pictures/%d.jpg" % number, 32, 32).split("/")[1] for number in range(24)]
standins.text("train_names.txt", *names[:16])
standins.text("valid_names.txt", *names[16:])
points = numpy.stack(numpy.meshgrid(numpy.arange(-40, 40, 20), numpy.arange(-40, 40, 20)), -1).reshape(-1, 2)
numpy.save(standins.place("data/pts_in_hull.npy"), points)
numpy.save("data/prior_factor.npy", numpy.linspace(0.5, 2, len(points)))
standins.place("models/x")
