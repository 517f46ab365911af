"""Tools of faults_study.py: the program, its runs, small disks, damaged bytes."""

import json
import random
import resource
import shutil
import subprocess
import sys
from pathlib import Path

EXIT_CODES = {0, 1, 2, 3, 4, 5, 130}


class Study:
    def __init__(self, program, folder, seed):
        self.program, self.folder = str(Path(program).resolve()), Path(folder)
        self.random = random.Random(seed)
        self.rows, self.broken = [], []
        self.area, self.tried = "", 0

    def begin(self, area):
        self.end()
        self.area, self.tried, self.broken_before = area, 0, len(self.broken)

    def end(self):
        if self.area:
            broke = len(self.broken) - self.broken_before
            self.rows.append((self.area, self.tried, broke))
            print(f"| {self.area} | {self.tried} | {broke} |", flush=True)
        self.area = ""

    def check(self, holds, what):
        if not holds:
            self.broken.append((self.area, what))
            print(f"BROKEN: {self.area}: {what}", file=sys.stderr, flush=True)

    def run(self, arguments, timeout=120, limit=None, **options):
        """Runs the program to its end; a hang, a signal or an unknown exit status counts as a
        break."""
        self.tried += 1
        try:
            done = subprocess.run([self.program, *arguments], capture_output=True, timeout=timeout,
                                  cwd=self.folder, stdin=subprocess.DEVNULL, preexec_fn=limit,
                                  check=False, **options)
        except subprocess.TimeoutExpired:
            self.check(False, f"hangs: {arguments}")
            return subprocess.CompletedProcess(arguments, -1, b"", b"")
        said = done.stderr.decode(errors="replace")
        code = done.returncode
        self.check(code in EXIT_CODES, f"rc {code}: {arguments}: {said[-300:]}")
        for word in ("std::", "bad_alloc", "stoul", "terminate called", "vector::"):
            self.check(word not in said, f"says {word}: {arguments}: {said[-300:]}")
        return done

    def refuse(self, arguments, codes=(2,), **options):
        """Runs a command that must be rejected in one line with the program's name."""
        done = self.run(arguments, **options)
        said = done.stderr.decode(errors="replace")
        code = done.returncode
        self.check(code in codes, f"rc {code}, not {codes}: {arguments}: {said}")
        self.check(said.count("\n") == 1 and said.startswith("sparkbench: "),
                   f"not one line: {arguments}: {said[-300:]}")
        return said


def journal_rows(folder):
    """The rows of a journal without values that vary between runs; without an incomplete last row.
    """
    path = folder / "cases.jsonl"
    rows = []
    if not path.exists():
        return rows
    for line in path.read_bytes().split(b"\n")[:-1]:
        row = json.loads(line)
        row.pop("row_hash", None)
        row.pop("elapsed_s")
        if row.get("provenance"):
            row["provenance"].pop("run_id")
        if row.get("emulation"):
            row["emulation"].pop("host_seconds")
        rows.append(row)
    return rows


class Disk:
    """A folder with `kib` of space; without root a limit on every file's size."""

    def __init__(self, folder, kib):
        self.path, self.kib = folder / "disk", kib
        self.path.mkdir(exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(self.path)]
        self.is_mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0

    def limit(self):
        if not self.is_mounted:
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.kib * 1024, resource.RLIM_INFINITY))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.is_mounted:
            subprocess.run(["umount", "-l", str(self.path)], check=True)
        shutil.rmtree(self.path, ignore_errors=True)


def mutate(data, rng):
    """Cuts, flips, duplicates, swaps or fills bytes."""
    data = bytearray(data)
    kind = rng.randrange(6)
    at = rng.randrange(len(data))
    end = min(len(data), at + rng.randrange(1, 64))
    if kind == 0:
        del data[at:]
    elif kind == 1:
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 2:
        data[at:at] = data[at:end]
    elif kind == 3:
        del data[at:end]
    elif kind == 4:
        data[at:end] = bytes(rng.randrange(256) for _ in range(end - at))
    else:
        data[at:end] = rng.choice([b"\n", b"\n\n", b"null", b"-1", b"1e999", b"{}", b"[]", b'"'])
    return bytes(data)
