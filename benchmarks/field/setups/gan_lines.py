"""Pictures, and a list of them."""

import standins

standins.text("train_lines.txt", *[standins.picture("pictures/%d.jpg" % number, 64, 64) for number in range(16)])
standins.place("results/train_out/x")
standins.place("logs/x")
