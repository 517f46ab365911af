#!/usr/bin/env python3
"""Every faulty kernel of faults.h is called incorrect, and none of the right ones that differ is.

    faults_test.py PROGRAM LIBRARY [--gpu]

In fp16 and in bf16. With --gpu on this machine's GPU, where launches are timed and checked as well.
Prints which sweeps find each fault.
"""

import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

HEADER = pathlib.Path(__file__).resolve().parent / "faults.h"
PROGRAM, LIBRARY, ON_GPU = "", "", False
TYPES = ("fp16", "bf16")

SHAPE = "--headdim 16 --batch 2 --heads 4 --heads-k 2"
SWEEPS = {
    "masks": f"{SHAPE} --pass fwd --seqlen 70 --seqlen-k 33,70 --dropout 0 "
    "--mask full,causal,window:20,band:9:12,prefix:21",
    "backward": f"{SHAPE} --pass bwd --seqlen 70 --seqlen-k 33 --dropout 0 --mask full,causal",
    "large": f"{SHAPE} --pass fwd --seqlen 40 --dropout 0 --mask full --input-scale 16",
    "long": "--headdim 16 --batch 1 --heads 2 --pass fwd --seqlen 16 --seqlen-k 1500 --dropout 0 "
    "--mask full",
    "dropout": f"{SHAPE} --pass fwd,bwd --seqlen 40 --dropout 0.3 --mask full",
    "patterns": f"{SHAPE} --pass fwd --seqlen 70 --dropout 0 --mask causal-strided:8/window:16",
    "layouts": f"{SHAPE} --pass bwd --seqlen 20 --dropout 0 --mask full --layout bhsd,qkv-packed,k-bhsd",
    "repeated": f"{SHAPE} --pass bwd --seqlen 20 --dropout 0 --mask full --deterministic",
}
STRIDED = (
    "--headdim 16 --batch 1 --heads 2 --pass fwd --seqlen 512 --dropout 0,0.3 --mask full,strided:4"
)
# Found only where launches are repeated and timed, and only in masks that differ by head.
ONLY_ON_GPU = {"every-third-call"}
ONLY_IN_PATTERNS = {"first-heads-mask"}


def names_of(macro):
    """The names in one of faults.h's two lists."""
    text = HEADER.read_text("utf-8").split(f"#define {macro}(X)")[1]
    text = re.split(r"\n#define|\nenum", text)[0]
    return re.findall(r'X\(k\w+,\s*\\?\s*"([\w-]+)"', text)


def sweep(name, shard, flags=None, kernels=None):
    """{(kernel, type): set of statuses} of a shard of one of SWEEPS, or of these flags and kernels."""
    device = "cuda:0" if ON_GPU else "emulated-v100"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "run.json"
        # On a GPU a launch is timed a few times, to be checked.
        timing = ["--max-noise", "1", "--min-samples", "10", "--min-seconds", "0.02"] if ON_GPU else []
        words = [PROGRAM, "sweep", *timing, "--device", device, "--kernel",
                 ",".join(f"{LIBRARY}:{kernel}" for kernel in kernels) if kernels else LIBRARY,
                 *(flags or SWEEPS[name]).split(), "--dtype", ",".join(TYPES), "--shard", shard, "--json",
                 str(path), "--quiet", "--no-progress"]  # fmt: skip
        start = time.monotonic()
        result = subprocess.run(words, capture_output=True, text=True, check=False)
        assert result.returncode in (0, 1), (words, result.returncode, result.stderr[-2000:])
        cases = json.loads(path.read_text("utf-8"))["cases"]
        print(f"{name} {shard}: {len(cases)} cases in {time.monotonic() - start:.0f} s", flush=True)
        statuses = collections.defaultdict(set)
        for case in cases:
            statuses[case["kernel"], case["problem"]["dtype"]].add(case["status"])
        return statuses


class Faults(unittest.TestCase):
    def test_every_fault_is_found_and_no_right_kernel_is_called_wrong(self):
        right, faulty = names_of("SPARKBENCH_VARIANTS"), names_of("SPARKBENCH_FAULTS")
        if ON_GPU:
            faulty += names_of("SPARKBENCH_CHEATS")
        self.assertEqual(len(right), 8)
        self.assertGreater(len(faulty), 60)
        found = collections.defaultdict(list)
        ran = set()
        # The kernels compute no pattern on a GPU. A shard has at least one problem.
        sweeps = [name for name in SWEEPS if not (ON_GPU and name == "patterns")]
        shards = [(name, f"{i}/{count}") for name in sweeps
                  for count in [10 if name == "masks" else 2] for i in range(1, count + 1)]  # fmt: skip
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for (name, _), cases in zip(shards, pool.map(sweep, *zip(*shards))):
                for kernel, statuses in cases.items():
                    ran.add((name, *kernel))
                    self.assertNotIn("failed", statuses, (name, kernel))
                    if "incorrect" in statuses and name not in found[kernel]:
                        found[kernel].append(name)
        self.assertEqual(ran, {*itertools.product(sweeps, [*right, *faulty], TYPES)})
        for kernel, dtype in itertools.product(faulty, TYPES):
            print(f"{kernel:28} {dtype}  " + ", ".join(found.get((kernel, dtype), ["NOT FOUND"])))
        self.assertEqual([kernel for kernel in found if kernel[0] in right], [])
        missed = {*itertools.product(faulty, TYPES)} - {*found}
        expected = ONLY_IN_PATTERNS if ON_GPU else ONLY_ON_GPU  # the kernels compute no pattern there
        self.assertEqual(missed, {*itertools.product(expected, TYPES)})

    def test_dropout_in_strided_masks_is_not_asked(self):
        if ON_GPU:
            self.skipTest("the kernels compute no pattern on a GPU")
        right = names_of("SPARKBENCH_VARIANTS")
        ran = sweep("strided", "1/1", STRIDED, right)
        self.assertEqual(set(ran), {*itertools.product(right, TYPES)})
        for kernel, statuses in ran.items():
            self.assertEqual(statuses, {"ok", "skipped"}, kernel)


if __name__ == "__main__":
    ON_GPU = "--gpu" in sys.argv
    PROGRAM, LIBRARY = sys.argv[1:3]
    if ON_GPU and subprocess.run([PROGRAM, "info", "--device", "cuda:0"], check=False).returncode:
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
