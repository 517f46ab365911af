#!/usr/bin/env python3
"""Does what README.md's "To add a kernel" says, word for word, in a copy of the tree. Nightly it builds
that, sweeps the kernel against the exact reference, and plants a fault in it, which the sweep must find.

    add_kernel_test.py BUILD

BUILD is a build of the program. What the section leaves unchanged is not recompiled: BUILD's objects
are taken.
"""

import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import textwrap
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path()
SECTION = "To add a kernel"
CORES = "2"

# A compiler's launcher: `-o OBJECT -MF DEPENDENCIES -c SOURCE` copies BUILD's object where the
# source, or each source of a unit, is as it was there. Lists those that are not.
LAUNCHER = """#!/bin/sh
for word; do
  case $previous in -o) object=$word ;; -MF) depfile=$word ;; -c) source=$(realpath -m "$word") ;; esac
  previous=$word
done
old=OLD_BUILD/$(realpath -m "$object" | sed "s|^NEW_BUILD/||")
sources=$source
case $source in
  NEW_BUILD/*) sources=$(sed -n 's|^#include "\\(NEW_TREE/.*\\)"|\\1|p' "$source") ;;
esac
changed=
for each in $sources; do
  cmp -s "$each" "OLD_TREE/${each#NEW_TREE/}" || changed="$changed $each"
done
if [ -f "$old" ] && [ -z "$changed" ]; then
  [ -z "$depfile" ] || echo "$object:" > "$depfile"
  exec cp "$old" "$object"
fi
echo "${changed:-$source}" >> NEW_BUILD/compiled
exec "$@"
"""


def section():
    text = (TREE / "kernels/README.md").read_text()
    begin = text.index(f"## {SECTION}\n")
    return text[begin : text.index("\n## ", begin)]


def blocks():
    """[(language, the file named last before it, code)]"""
    found, path, words = [], None, ""
    text = section()
    for match in re.finditer(r"(?ms)^( *)```(\w+)\n(.*?)^\1```$", text):
        words = text[found[-1][3] if found else 0 : match.start()]
        named = re.findall(r"`(kernels/[\w/]+(?:\.\w+)+)`", words)
        path = named[-1] if named else path
        found.append((match[2], path, textwrap.dedent(match[3]), match.end()))
    return [block[:3] for block in found]


def apply_diff(path, diff):
    """Lines that the diff keeps or takes away stand in the file once."""
    lines = diff.splitlines()
    old = [line[1:] for line in lines if not line.startswith("+")]
    new = [line[1:] for line in lines if not line.startswith("-")]
    whole_lines = re.compile(rf"(?m)^{re.escape(chr(10).join(old))}$")
    text = path.read_text()
    assert len(whole_lines.findall(text)) == 1, f"{path} has not once:\n" + "\n".join(old)
    path.write_text(whole_lines.sub(lambda _: "\n".join(new), text))


def cache_entries():
    """What BUILD was configured with."""
    for line in (BUILD / "CMakeCache.txt").read_text().splitlines():
        entry = re.fullmatch(r"([\w-]+):(\w+)=(.*)", line)
        if not entry or entry[2] in ("INTERNAL", "STATIC") or entry[1].endswith("_LAUNCHER"):
            continue
        if not re.match("(?i)sparkbench_(binary|source)_dir|CMAKE_CACHEFILE", entry[1]):
            yield entry.groups()


class AddsAKernel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp()).resolve()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.tree, cls.build = cls.folder / "tree", cls.folder / "tree/build"
        cls.tree.mkdir()
        rooms = [BUILD.name, ".git", "shared"] + [path.name for path in TREE.glob("build*")]
        kept_out = shutil.ignore_patterns("__pycache__", "*.egg-info")
        for path in TREE.iterdir():
            if path.is_dir() and path.name not in rooms:
                shutil.copytree(path, cls.tree / path.name, ignore=kept_out, symlinks=True)
            elif path.is_file():
                shutil.copy(path, cls.tree)
        cls.commands = cls.follow()

    @classmethod
    def follow(cls):
        """Writes what the section says to write. What it says to run then, a list."""
        commands = []
        for language, path, code in blocks():
            if language == "cpp":
                (cls.tree / path).write_text(code)
            elif language == "diff":
                apply_diff(cls.tree / path, code)
            elif "build/" in code:
                commands = [line for line in code.replace("\\\n", " ").splitlines() if line]
            else:
                subprocess.run(["bash", "-e", "-c", code], cwd=cls.tree, check=True)
        return commands

    @classmethod
    def configure(cls):
        cls.build.mkdir()
        names = {"OLD_BUILD": BUILD, "NEW_BUILD": cls.build, "OLD_TREE": TREE, "NEW_TREE": cls.tree}
        launcher = cls.folder / "reuse.sh"
        text = LAUNCHER
        for name, path in names.items():
            text = text.replace(name, str(path))
        launcher.write_text(text)
        launcher.chmod(launcher.stat().st_mode | stat.S_IXUSR)
        cache = "".join(
            f'set({name} [==[{value}]==] CACHE {kind} "")\n'
            for name, kind, value in cache_entries()
        )
        (cls.folder / "cache.cmake").write_text(cache)
        generator = re.search(
            r"(?m)^CMAKE_GENERATOR:INTERNAL=(.*)$", (BUILD / "CMakeCache.txt").read_text()
        )
        run = subprocess.run(
            ["cmake", "-G", generator[1], "-C", cls.folder / "cache.cmake", "-S", cls.tree,
             "-B", cls.build, f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}",
             f"-DCMAKE_CUDA_COMPILER_LAUNCHER={launcher}"],
            capture_output=True, text=True,
        )  # fmt: skip
        assert run.returncode == 0, run.stderr

    def do(self, command):
        return subprocess.run(
            command, shell=True, cwd=self.tree, capture_output=True, text=True,
            env=os.environ | {"CMAKE_BUILD_PARALLEL_LEVEL": CORES, "COLUMNS": "80"},
        )  # fmt: skip

    def json_of(self, command):
        path = self.folder / "run.json"
        result = self.do(f"{command} -q --json {path}")
        return result, json.loads(path.read_text())["cases"] if path.exists() else []

    def test_the_section_can_be_followed(self):
        kinds = re.compile("list|sweep|accuracy|include_order|cmake")
        names = [kinds.search(each)[0] for each in self.commands]
        self.assertEqual(names, ["cmake", "include_order", "list", "sweep", "accuracy"])
        result = self.do(self.commands[1])
        self.assertEqual(result.returncode, 0, result.stdout)

    @unittest.skipUnless("SPARKBENCH_NIGHTLY" in os.environ, "builds the program: nightly")
    def test_the_kernel_is_known_and_correct_and_a_fault_is_seen(self):
        self.configure()
        build, _, listing, sweep, accuracy = self.commands
        result = self.do(build)
        self.assertEqual(result.returncode, 0, result.stdout[-4000:] + result.stderr)
        compiled = (self.build / "compiled").read_text().split()
        new = [str(self.tree / "kernels" / name) for name in ("registry.cc", "toy/kernel_family.cc")]
        self.assertEqual(sorted(compiled), new, "what was compiled anew")
        self.assertRegex(self.do(listing).stdout, r"\n  toy-fp32acc +m16n8k16, FP32 accumulators")
        self.assertIn("volta-fp32acc", self.do(listing).stdout)

        result, cases = self.json_of(sweep)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual({case["kernel"] for case in cases}, {"toy-fp32acc"})
        self.assertEqual(len(cases), 6 * 3 * 2 * 2)
        for case in cases:
            self.assertEqual(case["status"], "ok", case["id"])
            self.assertLess(case["accuracy"]["rel_l1"], 1e-3, case["id"])
        result, cases = self.json_of(accuracy)
        self.assertEqual((result.returncode, len(cases)), (0, 1), result.stderr)
        result = self.do(
            "build/harness/sparkbench sweep --device emulated-v100 --kernel toy-fp32acc"
        )
        self.assertEqual(result.returncode, 2)  # nothing ran
        self.assertIn("needs m16n8k16, which compute capability 7.0 does not have", result.stderr)

        body = self.tree / "kernels/toy/forward.h"
        text = body.read_text()
        fault = "params_.v, first_key, tiles_.v", "params_.v, 0, tiles_.v"
        self.assertEqual(text.count(fault[0]), 1)
        body.write_text(text.replace(*fault))
        self.assertEqual(self.do(build).returncode, 0)
        result, cases = self.json_of(sweep)
        self.assertEqual(result.returncode, 1, result.stderr)
        wrong = {case["problem"]["seqlen_k"] for case in cases if case["status"] == "incorrect"}
        self.assertEqual(wrong, {33, 64, 67})  # of more than one tile of keys


class Section(unittest.TestCase):
    def test_says_something_in_every_kind_of_block(self):
        kinds = [kind for kind, _, _ in blocks()]
        counts = {kind: kinds.count(kind) for kind in kinds}
        self.assertEqual(counts, {"bash": 2, "cpp": 2, "diff": 4})

    def test_a_diff_that_does_not_apply_is_seen(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a.txt"
            path.write_text("one\ntwo\n")
            apply_diff(path, " one\n+and\n two\n")
            self.assertEqual(path.read_text(), "one\nand\ntwo\n")
            with self.assertRaises(AssertionError):
                apply_diff(path, " one\n+and\n two\n")


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
