"""Three texts of few words."""

import numpy
import standins

words = ["the", "cat", "saw", "a", "dog", "and", "it", "ran", "to", "one", "old", "house", "by", "that", "hill"]
for name, lines in (("train", 60), ("val", 40), ("test", 40)):
    chosen = [" ".join(words[n] for n in numpy.random.randint(0, len(words), 9)) for _ in range(lines)]
    chosen[0] = " ".join(words)
    standins.text("ptb_%s.txt" % name, *chosen)
