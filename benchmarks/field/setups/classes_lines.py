"""Pictures of two classes, as lines: class and path."""

import standins

for kind, each in (("train", 8), ("test", 4)):
    files = standins.classes(kind, ("cat", "dog"), each, 64, 64)
    standins.text("cls_%s.txt" % kind, *["%d;%s" % (number // each, file) for number, file in enumerate(files)])
