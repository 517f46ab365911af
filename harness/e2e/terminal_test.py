#!/usr/bin/env python3
"""Tests the output at a terminal: its width, its colours, one line of progress.

    terminal_test.py PROGRAM
"""

import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = ROOT / "results/published/h200/paper-forward"
PROGRAM = ""
SWEEP = (
    "sweep --device emulated-v100 --kernel volta-fp32acc --headdim 64 --seqlen 9,17 --mask causal "
    "--dropout 0 --heads 1 --batch 1"
).split()


def at_terminal(arguments, columns=80, **environment):
    """The program's output at a terminal with that many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    clean = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "TERM")}
    process = subprocess.Popen(
        [PROGRAM, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env=clean | {"TERM": "xterm"} | environment,
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the program has closed it
            part = b""
        if not part:
            break
        written += part
    os.close(ours)
    assert process.wait() == 0, written
    return written.decode()


def without_codes(text):
    return re.sub(r"\x1b\[[\d;]*[mK]", "", text).replace("\r\n", "\n")


class Terminal(unittest.TestCase):
    def test_tables_are_as_wide_as_the_terminal(self):
        for columns in (60, 80, 120):
            text = without_codes(at_terminal(["report", str(RUN)], columns))
            lines = text.splitlines()
            self.assertLessEqual(max(map(len, lines)), columns)
            self.assertIn("\nUse ", text)
        self.assertGreater(max(map(len, lines)), 100)

    def test_COLUMNS_and_the_flag_go_before_the_terminal(self):
        text = without_codes(at_terminal(["report", str(RUN)], 120, COLUMNS="70"))
        self.assertLessEqual(max(map(len, text.splitlines())), 70)
        flag = ["report", str(RUN), "--width", "90"]
        text = without_codes(at_terminal(flag, 60, COLUMNS="70"))
        self.assertLessEqual(max(map(len, text.splitlines())), 90)
        self.assertGreater(max(map(len, text.splitlines())), 70)

    def test_there_is_colour_unless_somebody_refuses(self):
        self.assertIn("\x1b[1m", at_terminal(["report", str(RUN)]))
        self.assertIn("\x1b[1m", at_terminal(["report", str(RUN)], NO_COLOR=""))
        self.assertNotIn("\x1b", at_terminal(["report", str(RUN)], NO_COLOR="1"))
        self.assertNotIn("\x1b", at_terminal(["report", str(RUN)], TERM="dumb"))

    def test_a_pipe_has_neither_colour_nor_broken_sentences(self):
        result = subprocess.run(
            [PROGRAM, "report", str(RUN)], capture_output=True, text=True, check=True,
            env={k: v for k, v in os.environ.items() if k != "COLUMNS"},
        )
        self.assertNotIn("\x1b", result.stdout)
        self.assertIn("\nUse ", result.stdout)

    def test_progress_is_one_line(self):
        text = at_terminal([*SWEEP, "--in-process"], 40)
        progress = text[: text.index("V100 (emulated")]
        self.assertIn("[1/2] volta", progress)
        self.assertNotIn("\n", progress)
        for each in progress.split("\r\x1b[K"):
            self.assertLess(len(each), 40)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
