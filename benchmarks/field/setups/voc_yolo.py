"""Pictures with boxes in Pascal VOC's XML, and a configuration, for the other keras-yolo3."""

import json

import standins

BOX = "<object><name>dog</name><bndbox><xmin>%d</xmin><ymin>12</ymin><xmax>60</xmax><ymax>70</ymax></bndbox></object>"
for number in range(20):
    standins.picture("pictures/%03d.jpg" % number, 96, 96)
    standins.text(
        "boxes/%03d.xml" % number,
        "<annotation><filename>%03d.jpg</filename><size><width>96</width><height>96</height></size>" % number,
        BOX % (number % 10 + 4),
        "</annotation>",
    )
anchors = [55, 69, 75, 234, 133, 240, 136, 129, 142, 363, 203, 290, 228, 184, 285, 359, 341, 260]
configuration = {
    "model": {"min_input_size": 96, "max_input_size": 96, "anchors": anchors, "labels": ["dog"]},
    "train": {
        "train_image_folder": "pictures/",
        "train_annot_folder": "boxes/",
        "cache_name": "train.pkl",
        "train_times": 1,
        "pretrained_weights": "",
        "batch_size": 4,
        "learning_rate": 1e-4,
        "nb_epochs": 1,
        "warmup_epochs": 1,
        "ignore_thresh": 0.5,
        "gpus": "0,1",
        "grid_scales": [1, 1, 1],
        "obj_scale": 5,
        "noobj_scale": 1,
        "xywh_scale": 1,
        "class_scale": 1,
        "tensorboard_dir": "logs",
        "saved_weights_name": "dogs.h5",
        "debug": True,
    },
    "valid": {"valid_image_folder": "", "valid_annot_folder": "", "cache_name": "", "valid_times": 1},
}
with open("stand_in.json", "w") as file:
    json.dump(configuration, file)
standins.no_weights("backend.h5")
