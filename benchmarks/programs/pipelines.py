"""Two epochs of a tiny model on arrays through one pipeline: `python pipelines.py arrays|slices|rows ROWS COLUMNS`."""

import sys
import threading
import time

import numpy as np
import psutil
import tensorflow as tf
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential

IDIOM, ROWS, COLUMNS, BATCH = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), 256

x = np.full((ROWS, COLUMNS), 0.5, "float32")
x[::2] = 1.0
y = np.zeros(ROWS, "int64")
with tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"]).scope():
    model = Sequential([Dense(10, activation="softmax", input_shape=(COLUMNS,))])
    model.compile("sgd", "sparse_categorical_crossentropy")
model.fit(x[:512], y[:512], batch_size=BATCH, verbose=0)  # traces and allocates

process = psutil.Process()
before, peak, over = process.memory_info().rss, 0, threading.Event()


def watch():
    global peak
    while not over.wait(0.01):
        peak = max(peak, process.memory_info().rss)


watcher = threading.Thread(target=watch)
watcher.start()
cpu = time.process_time()
data = (x, y)
if IDIOM == "slices":
    data = (tf.data.Dataset.from_tensor_slices((x, y)).shuffle(ROWS).batch(BATCH).prefetch(tf.data.AUTOTUNE),)
elif IDIOM == "rows":
    numbers = tf.data.Dataset.range(ROWS).shuffle(ROWS).batch(BATCH)
    arrays = tf.data.Dataset.from_tensors((x, y)).repeat()
    data = (
        tf.data.Dataset.zip((numbers, arrays))
        .map(lambda i, both: (tf.gather(both[0], i), tf.gather(both[1], i)), num_parallel_calls=tf.data.AUTOTUNE)
        .prefetch(tf.data.AUTOTUNE),
    )
model.fit(*data, batch_size=BATCH if IDIOM == "arrays" else None, epochs=2, verbose=0)
cpu = time.process_time() - cpu
over.set()
watcher.join()
print("cpu %.3f extra %.1f data %.1f" % (cpu / 2, (peak - before) / 2**20, x.nbytes / 2**20))
