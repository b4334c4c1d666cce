"""Landlock (landlock(7)): the kernel refuses writes outside of given folders, and from Linux 6.12 signals to processes
that are not the script's own. It refuses to trace or inspect those in any version. Modes, owners and times of files can
still be changed.
"""

import ctypes
import os
import stat
import struct

from . import system

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION = 1  # flag: tell the ABI's version
PATH_BENEATH = 1
WRITE_FILE, TRUNCATE = 1 << 1, 1 << 14
WRITE_CONTENT = WRITE_FILE | TRUNCATE
ANY_WRITE = WRITE_CONTENT | sum(1 << bit for bit in range(4, 14))  # remove, make, link and rename
SIGNALS = 1 << 1
KNOWS_TRUNCATION, KNOWS_SIGNALS = 3, 6


def version():
    """0 where the kernel has no Landlock, or was started without it."""
    try:
        return system.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(VERSION))
    except OSError:
        return 0


def write_only_to(places):
    """From now on this process, and what it starts, writes to these files and folders alone. Raises OSError."""
    known = version()
    if known < KNOWS_TRUNCATION:
        raise system.Unable("this needs the Landlock of Linux 6.2 or later")
    masks = (ANY_WRITE, 0, SIGNALS) if known >= KNOWS_SIGNALS else (ANY_WRITE,)
    attributes = struct.pack("=%dQ" % len(masks), *masks)
    rules = system.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    try:
        for path in places:
            allow(rules, path)
        system.prctl(system.NO_NEW_PRIVILEGES, 1)
        system.syscall(RESTRICT_SELF, rules, ctypes.c_uint32(0))
    finally:
        os.close(rules)


def allow(rules, path):
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # not there
        return
    try:
        rights = ANY_WRITE if stat.S_ISDIR(os.fstat(place).st_mode) else WRITE_CONTENT
        beneath = struct.pack("=Qi", rights, place)
        system.syscall(ADD_RULE, rules, PATH_BENEATH, beneath, ctypes.c_uint32(0))
    finally:
        os.close(place)
