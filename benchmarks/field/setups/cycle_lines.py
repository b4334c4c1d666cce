"""Pictures of two kinds, and a list of them."""

import standins

standins.text(
    "train_lines.txt",
    *[
        "%d;%s" % (kind, standins.picture("pictures/%d/%d.jpg" % (kind, number), 64, 64))
        for kind in (0, 1)
        for number in range(8)
    ],
)
standins.place("results/train_out/x")
standins.place("logs/x")
