"""For tests: the program in a process of its own, as `python -m sparkbench`, over files of a test."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap

FOLDER = pathlib.Path(__file__).resolve().parent
MOST_SECONDS = 900  # of one command: a kernel that hangs is told by the command, not by CTest
SMALL = ("--device", "emulated-v100", "--headdim", "64", "--heads", "2", "--batch", "1")


def need(*modules):
    """Ends the test as skipped where one is missing, or the library is."""
    for name in modules:
        if importlib.util.find_spec(name) is None:
            print(f"skipped: no {name}")
            sys.exit(77)
    try:
        from sparkbench import _program
    except ImportError:  # neither PYTHONPATH nor an installed wheel
        sys.path.insert(0, str(FOLDER))
        os.environ["PYTHONPATH"] = os.pathsep.join([str(FOLDER), os.environ.get("PYTHONPATH", "")])
        from sparkbench import _program
    if not pathlib.Path(_program.library_path()).exists():
        print(f"skipped: no {_program.library_path()}")
        sys.exit(77)


class Ran:
    def __init__(self, process, file):
        self.status, self.out, self.err = process.returncode, process.stdout, process.stderr
        self.run = json.loads(file.read_text()) if file.exists() else {"cases": []}
        self.cases = self.run["cases"]

    def __str__(self):
        reasons = [(case["id"], case["status"], case["reason"]) for case in self.cases]
        return f"exit status {self.status}\n{self.err}\n{reasons}"


def run(arguments, files=None, **environment):
    """`arguments` are of a folder that has these files, {name: text}."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, text in (files or {}).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(textwrap.dedent(text))
        command = [sys.executable, "-m", "sparkbench", *arguments]
        if arguments[0] in ("sweep", "run", "accuracy", "encoder"):
            command += ["--json", "run.json"]
        process = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=MOST_SECONDS,
            env={**os.environ, **environment},
        )  # fmt: skip
        return Ran(process, folder / "run.json")


def sweep(files, kernel, *arguments, **environment):
    """Of a full mask and without dropout, unless the arguments say otherwise."""
    flags = [*SMALL, "--kernel", kernel, *arguments]
    if "--dropout" not in arguments:
        flags += ["--dropout", "0"]
    if not {"--mask", "--causal"} & {*arguments}:
        flags += ["--mask", "full"]
    return run(["sweep", *flags], files, **environment)
