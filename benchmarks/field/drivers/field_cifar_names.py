"""Trains the book's network on two GPUs, with its own data and callbacks."""

from cifar10_cnn import build_network, create_callbacks, load_data

data = load_data()
model = build_network(num_gpu=2, input_shape=(32, 32, 3))
model.fit(
    x=data["train_X"],
    y=data["train_y"],
    batch_size=8,
    epochs=2,
    validation_data=(data["val_X"], data["val_y"]),
    verbose=1,
    callbacks=create_callbacks(),
)
