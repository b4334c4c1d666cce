"""Pictures of two classes, for training and for validation."""

import standins

for part, each in (("train", 12), ("val", 6)):
    standins.classes("pictures/" + part, ["ant", "bee"], each, 48, 48)
