"""Keeps a script's hands off everything but its scratch folder, as far as the system lets an ordinary process do that.

Linux alone: Landlock (landlock(7), from 6.2 with truncation) refuses writes elsewhere, and from 6.12 signals to
processes that are not the script's own; a mount namespace gives it a /tmp of its own, because old scripts name /tmp
outright and runs side by side must not meet there. Reading stays free: data sets lie anywhere.
"""

import ctypes
import os
import resource
import shutil
import struct
import sys

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on every architecture
VERSION = 1  # flag: tell the ABI's version
PATH_BENEATH = 1
NO_NEW_PRIVILEGES = 38
WRITE_FILE, TRUNCATE = 1 << 1, 1 << 14
ANY_WRITE = WRITE_FILE | TRUNCATE | sum(1 << bit for bit in range(4, 14))  # remove, make, link and rename
SIGNALS = 1 << 1
NEW_NAMESPACE, NEW_USERS = 0x00020000, 0x10000000
READ_ONLY, REMOUNT, BIND, RECURSIVE, PRIVATE = 1, 32, 4096, 16384, 1 << 18
O_PATH = 0o10000000

TEMPORARY = "/tmp"
MANY = 5000
"""With more than this in /tmp, it is left as it is: to show so much takes a second, measured."""
SMALL = 1 << 18
"""Files in /tmp up to this size are copied, larger ones can be read."""

class Unconfined(OSError):
    """This system cannot do it; the message says what is missing."""


def install(scratch, writable, changing, largest_file):
    """Limits this process and all that it starts; returns what could not be kept from it, in words.

    It may write to `scratch`, to the folders in `writable`, and to a /tmp of its own, which shows what lies in the real
    one now and keeps what is written in scratch. Folders in `changing` are shown as they become. `largest_file` is in
    bytes.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    largest = largest_file if hard == resource.RLIM_INFINITY else min(hard, largest_file)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))
    if not sys.platform.startswith("linux"):
        return ["only Linux can keep a script from writing outside its scratch folder"]
    writable = [os.path.realpath(place) for place in [scratch] + list(writable)]
    changing = [os.path.realpath(place) for place in changing]
    left = []
    try:
        own_temporary(writable[0], writable, changing)
    except OSError as error:
        left.append("the script could write to /tmp: it could not be given its own (%s)" % error)
    try:
        write_only_to(writable + [TEMPORARY, "/dev", "/proc"])
    except OSError as error:
        left.append("the script could write outside its scratch folder: %s" % error)
    return left


def own_temporary(scratch, writable, changing):
    """Gives this process a /tmp of its own. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    folder, names = os.path.join(scratch, "tmp"), os.listdir(TEMPORARY)
    if len(names) > MANY:
        raise Unconfined("there is too much in it")
    user, group = os.getuid(), os.getgid()
    check(libc.unshare(NEW_NAMESPACE | (NEW_USERS if user else 0)))
    if user:
        for name, text in (("setgroups", "deny"), ("uid_map", "%d %d 1" % (user, user)),
                           ("gid_map", "%d %d 1" % (group, group))):
            with open("/proc/self/" + name, "w") as file:
                file.write(text)
    mount(libc, None, "/", RECURSIVE | PRIVATE)
    for name in names:
        try:
            show(libc, os.path.join(TEMPORARY, name), os.path.join(folder, name), os.path.join(scratch, "layers", name))
        except OSError:  # gone meanwhile, or another user's
            continue
    for place in writable:
        if place.startswith(TEMPORARY + os.sep):
            mount(libc, place, folder + place[len(TEMPORARY):], BIND | RECURSIVE)
    for place in changing:
        if place.startswith(TEMPORARY + os.sep):
            bind_to_read(libc, place, folder + place[len(TEMPORARY):])
    mount(libc, folder, TEMPORARY, BIND | RECURSIVE)
    os.chdir(os.getcwd())  # the same name, in the namespace's own tree


def show(libc, there, here, layers):
    """Lets `there` be seen as `here`, where what is written goes to `layers` or, failing that, nowhere."""
    if os.path.islink(there):
        os.symlink(os.readlink(there), here)
    elif os.path.isdir(there):
        os.mkdir(here)
        for part in ("upper", "work"):
            os.makedirs(os.path.join(layers, part))
        try:
            overlay(libc, there, here, layers)
        except OSError:
            bind_to_read(libc, there, here)
    elif os.path.isfile(there) and os.path.getsize(there) <= SMALL:
        shutil.copyfile(there, here)
    elif os.path.isfile(there):
        open(here, "w").close()
        bind_to_read(libc, there, here)


def overlay(libc, there, here, layers):
    options = "lowerdir=%s,upperdir=%s/upper,workdir=%s/work" % (there, layers, layers)
    if options.count(",") != 2 or ":" in there:  # they separate options and folders
        raise Unconfined("a name with commas or colons")
    for more in ("", ",userxattr"):  # the second way is that of ordinary users
        if libc.mount(b"overlay", here.encode(), b"overlay", ctypes.c_ulong(0), (options + more).encode()) == 0:
            return
    check(-1)


def bind_to_read(libc, there, here):
    mount(libc, there, here, BIND)
    kept = os.statvfs(here).f_flag & (os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC)  # the same bits in mount(2)
    mount(libc, None, here, BIND | REMOUNT | READ_ONLY | kept)


def mount(libc, source, target, flags):
    check(libc.mount(source.encode() if source else None, target.encode(), None, ctypes.c_ulong(flags), None))


def write_only_to(folders):
    """Raises OSError where the kernel has no Landlock that knows truncation."""
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), VERSION)
    if version < 3:
        raise Unconfined("this needs Landlock as Linux has it from 6.2")
    attributes = struct.pack("=QQQ", ANY_WRITE, 0, SIGNALS) if version >= 6 else struct.pack("=Q", ANY_WRITE)
    rules = check(libc.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0))
    try:
        for folder in folders:
            if not os.path.exists(folder):
                continue
            place = os.open(folder, O_PATH | os.O_CLOEXEC)
            try:
                beneath = struct.pack("=Qi", ANY_WRITE, place)
                check(libc.syscall(ADD_RULE, rules, PATH_BENEATH, beneath, 0))
            finally:
                os.close(place)
        check(libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0))
        check(libc.syscall(RESTRICT_SELF, rules, 0))
    finally:
        os.close(rules)


def check(answer):
    if answer < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return answer
