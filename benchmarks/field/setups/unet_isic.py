"""Pictures, each with a mask of one attribute."""

import standins

for number in range(20):
    standins.picture("data/pictures/P_%03d.jpg" % number, 256, 256)
    standins.mask("data/masks/P_%03d_attribute_spots.png" % number, 256, 256)
standins.place("../weights/x")
