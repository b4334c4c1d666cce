"""An interpreter that imports TensorFlow and Keras once and runs programs in forks of itself.

Started as `python .../probe/server.py CHANNEL MARK`: CHANNEL is the number of an inherited SOCK_SEQPACKET socket, MARK
the name of the environment variable by which the processes of a run are found. When everything is imported it sends
READY. From then on each message is a JSON object with "program", "args", "cwd" and "env", and carries three file
descriptors: stdout, stderr, and a pipe on which the server writes the process id and later the exit status, four bytes
each. The fork does what `python PROGRAM ARGS` would do there. The server ends, and with it all that it runs, when the
other end of the channel is closed.

Nothing may be computed here: TensorFlow's threads, sessions and CUDA contexts do not survive a fork. Its import starts
none of them.
"""

import array
import ctypes
import gc
import importlib
import json
import os
import random
import runpy
import select
import shutil
import signal
import socket
import struct
import sys

READY = b"ready"
LONGEST = 1 << 20
NUMBER = struct.Struct("=i")
OWN_FOLDERS = ("HOME", "TMPDIR")
"""Variables that name folders of one process alone, which modules may have remembered."""


class Order(object):
    """A program to run, in the process that is to run it."""

    def __init__(self, asked, stdout, stderr):
        self.program, self.args, self.cwd, self.env = asked["program"], asked["args"], asked["cwd"], asked["env"]
        self.stdout, self.stderr = stdout, stderr


class Server(object):
    def __init__(self, channel):
        self.channel = channel
        self.running = {}
        """process id -> the pipe that is told how it ended"""
        self.wake, self.waker = os.pipe()
        for end in (self.wake, self.waker):
            os.set_blocking(end, False)

    def serve(self):
        """Forks for each program; returns its Order in the fork, and None here when nobody asks any more."""
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self.waker)
        self.channel.send(READY)
        while True:
            ready, _, _ = select.select([self.channel, self.wake], [], [])
            if self.wake in ready:
                os.read(self.wake, 4096)
                self.reap()
            if self.channel in ready:
                message, descriptors = receive(self.channel)
                if not message:
                    return self.stop()
                order = self.fork(json.loads(message.decode()), *descriptors)
                if order is not None:
                    return order

    def fork(self, asked, stdout, stderr, status):
        try:
            child = os.fork()
        except OSError:  # no memory for another: who asks sees the pipe's end, and starts an interpreter
            child = None
        if child == 0:
            os.setsid()
            os.close(status)
            self.leave()
            return Order(asked, stdout, stderr)
        for end in (stdout, stderr):
            os.close(end)
        if child is None:
            os.close(status)
        else:
            self.running[child] = status
            tell(status, child)
        return None

    def leave(self):
        """In a fork: lets go of all that is the server's."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.channel.close()
        for end in [self.wake, self.waker] + list(self.running.values()):
            os.close(end)

    def reap(self):
        while self.running:
            child, status = os.waitpid(-1, os.WNOHANG)
            if not child:
                return
            end = self.running.pop(child)
            tell(end, -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))
            os.close(end)

    def stop(self):
        for child in self.running:
            for kill in (os.kill, os.killpg):  # one that was just forked has no group yet
                try:
                    kill(child, signal.SIGKILL)
                except OSError:
                    continue


def receive(channel):
    """One message and its file descriptors; nothing when the channel was closed."""
    numbers = array.array("i")
    try:
        message, extra, _, _ = channel.recvmsg(LONGEST, socket.CMSG_SPACE(3 * numbers.itemsize))
    except OSError:
        return b"", []
    for level, kind, data in extra:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            numbers.frombytes(data)
    return message, list(numbers)


def tell(end, number):
    try:
        os.write(end, NUMBER.pack(number))
    except OSError:  # nobody wants to know any more
        pass


class Origin(object):
    """What a fork inherits of this process's own, and must have of its own instead: the mark, home, temporary files."""

    def __init__(self, mark):
        libc = ctypes.CDLL(None)
        libc.getenv.restype = ctypes.c_void_p
        self.mark = mark
        self.marked = os.environ[mark]
        self.address = libc.getenv(mark.encode())
        """In the block that /proc/PID/environ shows, which never changes when variables are set."""
        self.folders = dict((name, os.environ[name]) for name in OWN_FOLDERS)
        self.remembered = []

    def find(self):
        """Looks for modules that remember a path in the folders of this process."""
        for module in list(sys.modules.values()):
            names = getattr(module, "__dict__", None)
            for name, value in list(names.items()) if type(names) is dict else ():
                if type(value) is str and value.startswith(tuple(self.folders.values())):
                    self.remembered.append((names, name))

    def become(self, order):
        """Makes this fork the process that `order` asks for."""
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (order.stdout, 1), (order.stderr, 2)):
            os.dup2(source, target)
            if source > 2:
                os.close(source)
        os.environ.clear()
        os.environ.update(order.env)
        mark = order.env.get(self.mark, "")
        if len(mark) == len(self.marked):
            ctypes.memmove(self.address, mark.encode(), len(mark))
        os.chdir(order.cwd)
        self.move(order.env)
        random.seed()
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed()

    def move(self, env):
        """What the import wrote in this process's home is in the fork's, and is known by its place there."""
        home = self.folders["HOME"]
        for folder, _, names in os.walk(home):
            target = env.get("HOME", home) + folder[len(home):]
            os.makedirs(target, exist_ok=True)
            for name in names:
                if not os.path.lexists(os.path.join(target, name)):
                    shutil.copyfile(os.path.join(folder, name), os.path.join(target, name))
        for names, name in self.remembered:
            for variable, own in self.folders.items():
                if names[name].startswith(own):
                    names[name] = env.get(variable, own) + names[name][len(own):]
                    break


def load():
    """TensorFlow with every Keras that a script may train with here, and the probe.

    Their bytecode is kept beside them, as any import of theirs would: where an installer left none (uv does), each
    server would compile all of TensorFlow 2.21 again, which takes 8 of the 12 s of its import (measured).
    """
    forbidden, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    package = importlib.import_module("run").load()
    del sys.modules["run"]  # a script may have one too
    importlib.import_module(package + ".session")
    importlib.import_module(package + ".flavours").find(importlib.import_module("tensorflow"))
    sys.dont_write_bytecode = forbidden


def main(channel, mark):
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, fileno=int(channel))
    origin = Origin(mark)
    load()
    origin.find()
    gc.collect()
    if hasattr(gc, "freeze"):  # Python 3.7: forks do not write to the pages of what is imported
        gc.freeze()
    order = Server(channel).serve()
    if order is None:
        os._exit(0)
    origin.become(order)
    sys.argv = [order.program] + order.args
    sys.path[0] = os.path.dirname(order.program)
    runpy.run_path(order.program, run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
