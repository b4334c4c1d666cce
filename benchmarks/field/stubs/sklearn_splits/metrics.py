import numpy as np


def accuracy_score(true, found):
    return float(np.mean(np.asarray(true) == np.asarray(found)))


def precision_score(true, found, **settings):
    chosen = np.asarray(found) == 1
    return float(np.mean(np.asarray(true)[chosen] == 1)) if chosen.any() else 0.0


def recall_score(true, found, **settings):
    return precision_score(found, true)


def classification_report(true, found):
    return "accuracy %.3f" % accuracy_score(true, found)
