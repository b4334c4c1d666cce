"""Characters of two alphabets, in a folder each; so many that three of one are left for the validation."""

import standins

for alphabet in ("first", "second"):
    standins.classes("datasets/images_background/" + alphabet, ("a", "b", "c"), 40, 105, 105, suffix=".png")
