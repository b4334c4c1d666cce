"""An object that keeps the number of GPUs it was given, and asks itself while it is being made."""

from __future__ import annotations

from tests.kit import check_migrated, check_refused

NETS = """
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


class Net:
    def __init__(self, gpus=0):
        self.gpus = gpus
        net = Sequential([Dense(1, input_shape=(4,))])
        if self.gpus < 2:
            self.model = net
        else:
            self.model = multi_gpu_model(net, gpus=gpus)
"""
MAIN = """
from keras.layers import Dense, Input
from keras.models import Model

from nets import Net

gpus = int(input())
net = Net(gpus=gpus)
x = Input((4,))
whole = Model(x, Dense(1)(net.model(x)))
whole.compile("sgd", "mse")
whole.train_on_batch(x, y)
"""
"""What is built on the object's model needs the same strategy, which the caller has to make."""


def nets(changed: str = "") -> str:
    return NETS.replace("        net = ", f"        {changed}\n        net = ", 1) if changed else NETS


def test_what_the_object_asks_is_asked_of_what_it_is_given() -> None:
    file = check_migrated(MAIN, nets=nets())
    assert "    if gpus >= 2\n" in file.after
    assert "with strategy.scope():\n    net = Net(gpus=gpus)\n    x = Input((4,))\n" in file.after


def test_two_objects_agree_where_they_are_given_the_same() -> None:
    main = MAIN.replace("x = ", "other = Net(gpus)\nx = ", 1).replace("net.model(x)", "net.model(other.model(x))")
    file = check_migrated(main, nets=nets())
    assert file.after.count("MirroredStrategy") == 1


def test_it_stays_where_the_number_is_changed_elsewhere() -> None:
    main = MAIN.replace("from nets", "from train").replace("x = ", "net.gpus = 3\nx = ", 1)
    check_refused(nets(), "TFM103", main=main)


def test_it_stays_where_the_object_changes_the_number_itself() -> None:
    main = MAIN.replace("from nets", "from train")
    check_refused(nets("self.gpus = min(self.gpus, 4)"), "TFM103", main=main)
