"""A small network in the place of keras-resnet's, on the Keras that the script runs on."""

custom_objects = {}
