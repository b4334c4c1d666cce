"""Pictures of people and the parts of each, by their names."""

import standins

for kind, name, count in (("Training", "train", 8), ("Validation", "val", 4)):
    root = "data/instance-level_human_parsing/%s/" % kind
    names = ["%s%d" % (name, number) for number in range(count)]
    for one in names:
        standins.picture(root + "Images/%s.jpg" % one, 40, 40)
        standins.mask(root + "Category_ids/%s.png" % one, 40, 40, 3)
    standins.text(root + "%s_id.txt" % name, *names)
standins.place("models/x")
