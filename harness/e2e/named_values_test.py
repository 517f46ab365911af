#!/usr/bin/env python3
"""Tries every value that the help names, and every command line of the READMEs.

    named_values_test.py SPARKBENCH [SPARKBENCH_MODEL]

A line that needs a GPU or the disassembler may end in 3 without one. Lines of sparkbench-model are
left out if it is not built.
"""

import json
import math
import os
import pathlib
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ""
MODEL = ""  # sparkbench-model, where it is built
PLUGIN = ""  # a library of kernels
MEASURING = ("sweep", "accuracy", "run")
NO_GPU = 3

# The values that a measuring command's help names for each flag; other flags name none.
AXIS_VALUES = {
    "--kernel": ["volta-*,unfused-fp16"],  # and libraries: harness/e2e/program_plugin_test.cc
    "--pass": ["fwd", "bwd", "fwd+bwd"],
    "--input": ["normal", "uniform", "outliers"],
    "--input-scale": ["1", "16m"],
    "--headdim": ["1", "64,128"],
    "--lengths": ["none", "uniform:0:9", "uniform:1:9,uniform:1:2k"],
    "--seqlen": ["1", "64,128", "512:16k:*2", "64:256:+64"],
    "--seqlen-k": ["1", "auto"],
    "--mask": [
        "full", "causal", "window:1", "band:0:0", "prefix:0", "blocked:1", "chunk:1", "strided:1",
        "sink:4+window:9,window:9/full,causal-chunk:8",
    ],
    "--causal": ["true", "false", "both"],
    "--dropout": ["0", "0.1"],
    "--dropout-scale": ["applied", "asked"],
    "--dtype": ["fp16", "bf16"],
    "--layout": ["bshd", "bhsd", "qkv-packed", "k-bhsd"],
    "--batch": ["1", "auto"],
    "--heads": ["1", "auto"],
    "--heads-k": ["1", "auto"],
    "--total-tokens": ["1024"],
    "--hidden": ["1024"],
}
# In addition, for `encoder`.
LAYER_VALUES = {
    "--hidden": ["128", "128,256"],
    "--ffn": ["1", "auto"],
    "--activation": ["gelu-tanh", "gelu-erf", "relu"],
    "--norm": ["post", "pre"],
    "--bias": ["true", "false", "both"],
    "--rest": ["unfused", "fused", "eager"],
}
# What makes a grid small, and which flags say it otherwise.
FEW_CASES = dict.fromkeys(MEASURING, {"--seqlen": "64", "--headdim": "64", "--heads": "2",
                                      "--batch": "1", "--dropout": "0"})  # fmt: skip
REPLACE = {
    "--seqlen": ("--lengths", "--preset"),
    "--headdim": ("--preset",),
    "--heads": ("--hidden", "--heads-k", "--preset"),
    "--batch": ("--total-tokens", "--lengths", "--preset"),
    "--dropout": ("--preset",),
}
# What is measured in earnest.
SMALL = "--device emulated-v100 --headdim 64 --heads 2 --batch 1 --kernel unfused-fp16".split()
SMALL += "--causal false --dropout 0 -q".split()
# Names in help that stand for any of a kind.
KINDS = {"window:1": "window:W", "band:0:0": "band:L:R", "prefix:0": "prefix:P"}


def sparkbench(*arguments, cwd=None):
    return subprocess.run(
        [PROGRAM, *arguments], capture_output=True, text=True, check=False, cwd=cwd, timeout=300
    )


def help_of(command):
    return sparkbench(command, "--help").stdout


def flags_of(help_text):
    """{flag: its line and the rest of its description}"""
    flags, last = {}, None
    for line in help_text.splitlines():
        found = re.match(r"  (?:-\w,)?(--[\w-]+)(.*)", line)
        if found:
            last = found.group(1)
            flags[last] = found.group(2)
        elif last and line.startswith("      "):
            flags[last] += " " + line.strip()
        else:
            last = None
    return flags


def choices_of(text):
    """For "--cache {cold,hot}", ["cold", "hot"]."""
    found = re.search(r"^\s*\{([^}]*)\}", text)
    return found.group(1).split(",") if found else []


def write_safetensors(path, shapes):
    header, offset = {}, 0
    for name, shape in shapes.items():
        end = offset + 2 * math.prod(shape)
        header[name] = {"dtype": "F16", "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    data = struct.pack("<e", 0.5) * (offset // 2)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write_tensors(path):
    write_safetensors(path, dict.fromkeys(("q", "k", "v", "d_o"), [1, 64, 2, 64]))


def write_layer(path):
    hidden, ffn = 64, 128
    matrices = {"w_qkv": [3 * hidden, hidden], "w_o": [hidden, hidden]}
    matrices |= {"w_1": [ffn, hidden], "w_2": [hidden, ffn]}
    norms = dict.fromkeys(("gamma_1", "beta_1", "gamma_2", "beta_2"), [hidden])
    write_safetensors(path, matrices | norms | {"x": [8, hidden]})


class Help(unittest.TestCase):
    def dry_run(self, command, *flags):
        """Of few cases: planning all of a default grid takes most of the time."""
        problem = ["--device", "emulated-v100"] if "--device" not in flags else []
        for flag, value in FEW_CASES.get(command, {}).items():
            if not {flag, *REPLACE.get(flag, ())} & set(flags):
                problem += [flag, value]
        return sparkbench(command, "--dry-run", *problem, *flags)

    def test_every_value_of_an_axis_is_taken(self):
        for command in MEASURING:
            flags = flags_of(help_of(command))
            for flag, values in AXIS_VALUES.items():
                for value in values:
                    named = KINDS.get(value, value)
                    is_number = re.fullmatch(r"[\d.]+", value)
                    if not is_number and "," not in value and ":" not in named:
                        self.assertIn(named, flags[flag], f"{command} {flag} names no {value}")
                    result = self.dry_run(command, flag, value)
                    takes_one = command == "run" and "give one value of" in result.stderr
                    is_derived = "does not divide" in result.stderr  # automatic heads
                    if not takes_one and not is_derived:
                        self.assertEqual(result.returncode, 0, f"{flag} {value}: {result.stderr}")

    def test_the_axes_table_is_whole(self):
        listed = {axis["flag"] for axis in json.loads(sparkbench("list", "--json").stdout)["axes"]}
        listed |= {"--causal"}
        self.assertEqual(listed, set(AXIS_VALUES))

    def test_every_value_of_an_axis_of_layers_is_taken(self):
        flags = flags_of(help_of("encoder"))
        for flag, values in LAYER_VALUES.items():
            for value in values:
                if not re.fullmatch(r"[\d,]+", value):
                    self.assertIn(value, flags[flag])
                result = self.dry_run("encoder", flag, value)
                self.assertEqual(result.returncode, 0, f"{flag} {value}: {result.stderr}")
        listed = {axis["flag"] for axis in json.loads(sparkbench("list", "--json").stdout)["layer_axes"]}
        self.assertLessEqual(set(LAYER_VALUES), listed)
        self.assertLessEqual(listed, set(flags))

    def test_every_device_is_taken(self):
        for command in (*MEASURING, "info"):
            text = flags_of(help_of(command))["--device"]
            names = re.findall(r"\bemulated(?:-\w+)?", text)
            self.assertEqual(len(set(names)), 4, text)
            for name in (*names, "auto"):
                flags = ["--device", name]
                try_it = self.dry_run if command != "info" else sparkbench
                result = try_it(command, *flags)
                self.assertEqual(result.returncode, 0, f"{command} {name}: {result.stderr}")
        devices = json.loads(sparkbench("list", "--json").stdout)["devices"]
        self.assertLessEqual(set(re.findall(r"emulated-\w+", text)), set(devices))
        for name in ("cuda:0", "cuda:0,cuda:1", "all"):
            result = self.dry_run("sweep", "--device", name)
            self.assertIn(result.returncode, (0, NO_GPU), result.stderr)

    def test_every_choice_in_braces_is_taken(self):
        with tempfile.TemporaryDirectory() as folder:
            run = os.path.join(folder, "run")
            small = [*SMALL, "--seqlen", "32"]
            self.assertEqual(sparkbench("sweep", *small, "--out", run).returncode, 0)
            trials = {
                "sweep": lambda flag, value: (
                    ["--resume", run, flag, value, "-q"]
                    if flag == "--allow"
                    else [*small, flag, value]
                ),
                "diff": lambda flag, value: [run, run, flag, value],
                "merge": lambda flag, value: [run, flag, value, "--json", "-"],
            }
            tried = set()
            for command, arguments_of in trials.items():
                for flag, text in flags_of(help_of(command)).items():
                    for value in choices_of(text):
                        tried.add(flag)
                        result = sparkbench(command, *arguments_of(flag, value))
                        self.assertIn(
                            result.returncode, (0, 1), f"{command} {flag} {value}: {result.stderr}"
                        )
            self.assertEqual(tried, {"--cache", "--allow"})

    def test_every_profile_is_known(self):
        text = flags_of(help_of("check-arithmetic"))["--profile"]
        for profile in ("volta", "turing", "ampere", "hopper", "fma884", "sfu"):
            self.assertIn(profile, text)
            result = sparkbench("check-arithmetic", "--profile", profile, "--vectors", "/none.csv")
            self.assertIn("/none.csv", result.stderr)

    def test_every_preset_is_taken(self):
        listed = json.loads(sparkbench("list", "--json").stdout)
        for command, key in (("sweep", "presets"), ("encoder", "layer_presets")):
            for preset in listed[key]:
                result = self.dry_run(command, "--preset", preset["name"])
                self.assertEqual(result.returncode, 0, result.stderr)


def lines_to_type(text):
    """The command lines of a README's code blocks, without comments, with continued lines joined.
    """
    lines = []
    for block in re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            line = re.sub(r"\s#\s.*| {2,}#.*", "", line.strip()).removeprefix("$ ")
            if re.match(r"(srun |ncu .*)?sparkbench\b", line):
                lines.append(line)
    return lines


def samples_of(text):
    """(command, output lines) for each block that begins with "$ "."""
    for block in re.findall(r"^```\w*\n\$ (.*?)^```", text, re.M | re.S):
        command, *lines = block.splitlines()
        yield command, lines


class Sample(unittest.TestCase):
    def test_the_readmes_sample_is_what_is_printed(self):
        samples = list(samples_of((ROOT / "README.md").read_text()))
        self.assertEqual(len(samples), 1)
        for command, lines in samples:
            words = [*shlex.split(command)[1:], "--device", "emulated-v100", "--no-progress"]
            printed = sparkbench(*words, "--width", "80").stdout.splitlines()
            at = 0
            for line in lines:
                if line == "...":
                    continue
                self.assertIn(line, printed[at:], f"of {command}")
                at += printed[at:].index(line) + 1
            self.assertEqual(at, len(printed), "the sample ends where the output does")


class Readme(unittest.TestCase):
    """Runs in a folder with the files that the lines name."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        for name in ("kernels", "encoder", "sweeps", "results", "harness"):
            (self.folder / name).symlink_to(ROOT / name)
        (self.folder / "bin").mkdir()
        self.stub("srun", 'exec "$@"')
        self.stub("ncu", 'while [ "$1" != sparkbench ]; do shift; done; exec "$@"')
        # The grids that are measured are listed here, and advice is on a small problem; a stored run is
        # read and written in earnest.
        self.stub(
            "sparkbench",
            f"case $1 in sweep | accuracy | run | encoder) set -- \"$@\" --dry-run ;;\n"
            f"  advise) set -- \"$@\" --seqlen 128 --heads 2 --batch 1 ;; esac\n"
            f"exec {shlex.quote(PROGRAM)} \"$@\"",
        )
        if MODEL:
            (self.folder / "bin" / "sparkbench-model").symlink_to(MODEL)
        write_tensors(self.folder / "layer7.safetensors")
        write_layer(self.folder / "encoder7.safetensors")
        vectors = "a0,a1,a2,a3,b0,b1,b2,b3,c_f32,d_f32,c_f16,d_f16\n"
        vectors += "3c00,0,0,0,4000,0,0,0,40400000,40a00000,4200,4500\n"
        (self.folder / "v100.csv").write_text(vectors, "utf-8")
        (self.folder / "lengths.txt").write_text("9\n5 7\n", "utf-8")
        for name in ("libmine.so", "libnaive_cuda.so", "libnaive_host.so"):
            shutil.copy(PLUGIN, self.folder / name)
        (self.folder / "nightly.toml").write_text("seqlen = [64]\n", "utf-8")
        small = [*SMALL, "--seqlen", "32,64"]
        (self.folder / "runs").mkdir()
        published = ROOT / "results" / "published" / "h200"
        shutil.copytree(published / "paper-forward", self.folder / "runs" / "today")
        (self.folder / "runs" / "torch").mkdir()
        shutil.copy(published / "torch-forward.json", self.folder / "runs" / "torch" / "run.json")
        for name in ("runs/monday", "runs/tuesday", "runs/v100"):
            sparkbench("sweep", *small, "--out", name, cwd=self.folder)
        for part in ("1", "2"):
            sparkbench(
                "sweep", *small, "--shard", f"{part}/2", "--out", f"part-{part}", cwd=self.folder
            )

    def stub(self, name, body):
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/bash\n{body}\n", "utf-8")
        path.chmod(0o755)

    def type_in(self, line):
        environment = dict(os.environ, SLURM_ARRAY_TASK_ID="1", I="1")
        environment["PATH"] = f"{self.folder / 'bin'}:{environment['PATH']}"
        # A folder that a line would create already exists, for lines that read it.
        for name in re.findall(r"--out (\S+)", line):
            line = line.replace(f"--out {name}", f"--out {name}.again")
        return subprocess.run(
            ["bash", "-c", line],
            capture_output=True, text=True, check=False, cwd=self.folder, env=environment,
            timeout=300,
        )  # fmt: skip

    def test_every_line_can_be_typed(self):
        tried = 0
        for path in sorted(ROOT.rglob("README.md")):
            if "build" in path.relative_to(ROOT).parts[0]:
                continue
            for line in lines_to_type(path.read_text("utf-8")):
                if line.startswith("sparkbench-model") and not MODEL:
                    continue
                with self.subTest(f"{path.relative_to(ROOT)}: {line}"):
                    tried += 1
                    result = self.type_in(line)
                    wants_gpu = result.returncode == NO_GPU and re.search(
                        "no usable CUDA device|no GPU path|cuobjdump|no code for sm_70",
                        result.stderr,
                    )
                    wants_gpu = wants_gpu or re.search(
                        "does not run on emulated-v100 here|is no GPU, and no profiler|"
                        "holds no GPU code",
                        result.stderr,
                    )
                    if not wants_gpu:
                        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreater(tried, 25)


if __name__ == "__main__":
    PROGRAM, *others = map(os.path.abspath, sys.argv[1:])
    MODEL = others[0] if others else ""
    PLUGIN = pathlib.Path(PROGRAM).parents[1] / "plugins" / "libnaive_host.so"
    unittest.main(argv=sys.argv[:1])
