#!/usr/bin/env python3
"""no_uring.py PROGRAM [ARGUMENT]...: run a program to which the kernel refuses io_uring.

A seccomp filter answers EPERM to io_uring_setup, _enter and _register, as containers do.
"""

import ctypes
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD_WORD, JUMP_EQUAL, JUMP_LESS, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, ERRNO, EPERM = 0x7FFF0000, 0x00050000, 1
IO_URING_FIRST, IO_URING_LAST = 425, 427


class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def forbid():
    steps = [
        (LOAD_WORD, 0, 0, 0),  # the system call's number
        (JUMP_LESS, 0, 2, IO_URING_FIRST),  # below: allow
        (JUMP_LESS, 1, 0, IO_URING_LAST + 1),  # above: allow
        (RETURN, 0, 0, ERRNO | EPERM),
        (RETURN, 0, 0, ALLOW),
    ]
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    program = Program(len(steps), code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or \
            libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        sys.exit(f"seccomp: {os.strerror(ctypes.get_errno())}")


forbid()
os.execvp(sys.argv[1], sys.argv[1:])
