"""Makes the three models, and trains on made-up pictures in the place of cells."""

from keras_retinanet import models
from keras_retinanet.preprocessing.csv_generator import CSVGenerator
from retinanet_train import create_models

backbone = models.backbone("resnet50")
generator = CSVGenerator(
    "train.csv",
    "classes.csv",
    batch_size=4,
    image_min_side=96,
    image_max_side=128,
    preprocess_image=backbone.preprocess_image,
)
model, training_model, prediction_model = create_models(
    backbone.retinanet, num_classes=generator.num_classes(), weights=None, multi_gpu=2
)
training_model.fit_generator(generator, steps_per_epoch=2, epochs=1)
