"""Objects with their outlines, backgrounds, and the lists that pair them."""

import standins

names = ["object_%d.png" % number for number in range(4)]
backgrounds = ["place_%02d.png" % number for number in range(24)]
for name in names:
    standins.picture("fg/" + name)
    standins.mask("mask/" + name)
for name in backgrounds:
    standins.picture("bg/" + name, 80, 80)
for part in ("Training_set/training", "Test_set/test"):
    standins.text("Combined_Dataset/%s_fg_names.txt" % part, *names)
    standins.text("Combined_Dataset/%s_bg_names.txt" % part, *backgrounds)
pairs = ["%d_%d.png" % (number % len(names), number) for number in range(len(backgrounds))]
standins.text("train_names.txt", *pairs[:16])
standins.text("valid_names.txt", *pairs[16:])
standins.place("models/x")
