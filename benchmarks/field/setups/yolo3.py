"""Pictures with boxes, class names and anchors, for the keras-yolo3 family."""

import standins

ROWS = 24
for number in range(ROWS):
    standins.picture("pictures/%d.jpg" % number, 96, 96)
standins.text(
    "train.txt", *["pictures/%d.jpg 10,12,60,%d,%d" % (number, 40 + number, number % 2) for number in range(ROWS)]
)
for name in ("my_classes", "voc_classes", "coco_classes", "openimgs_classes"):
    standins.text("model_data/%s.txt" % name, "cat", "dog")
standins.text("model_data/yolo_anchors.txt", "10,13, 16,30, 33,23, 30,61, 62,45, 59,119, 116,90, 156,198, 373,326")
for name in ("darknet53_weights", "yolo_weights", "tiny_yolo_weights"):
    standins.no_weights("model_data/%s.h5" % name)
