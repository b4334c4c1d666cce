"""Pictures and masks of three classes, in the folders of a VOC data set."""

import standins

ROOT = "VOCdevkit/VOC2007/"
names = ["picture%d" % number for number in range(20)]
for number, name in enumerate(names):
    standins.picture(ROOT + "JPEGImages/%s.jpg" % name, 64, 64)
    standins.mask(ROOT + "SegmentationClass/%s.png" % name, 64, 64, 1 + number % 2)
standins.text(ROOT + "ImageSets/Segmentation/train.txt", *names[:16])
standins.text(ROOT + "ImageSets/Segmentation/val.txt", *names[16:])
