"""Characters of two alphabets, in a folder each."""

import standins

for alphabet in ("first", "second"):
    standins.classes("datasets/images_background/" + alphabet, ("a", "b", "c"), 8, 105, 105, suffix=".png")
