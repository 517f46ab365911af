#!/usr/bin/env python3
"""For which GPUs CMake builds, and what it refuses, on machines that stubs of nvidia-smi and nvcc make.

    cuda_choice_test.py CMAKE
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CMAKE = sys.argv.pop(1) if len(sys.argv) > 1 else "cmake"
SCRIPT = pathlib.Path(__file__).resolve().parent / "cuda_label.cmake"
V100, A100, H100 = "7.0, Tesla V100-SXM2-16GB", "8.0, NVIDIA A100-SXM4-40GB", "9.0, NVIDIA H100 80GB"


class CudaChoice(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "bin").mkdir()

    def program(self, path, body):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    def gpus(self, *lines, status=0):
        text = "".join(f"echo '{line}'\n" for line in lines)
        self.program("bin/nvidia-smi", f"{text}exit {status}")

    def nvcc(self, release, *architectures, path="bin/nvcc"):
        codes = "".join(f"echo sm_{architecture}\n" for architecture in architectures)
        return self.program(path, f"""case $1 in
--version) echo 'Cuda compilation tools, release {release}, V{release}.1' ;;
--list-gpu-code)
{codes};;
esac""")  # fmt: skip

    def choose(self, *options, **environment):
        return subprocess.run(
            [CMAKE, f"-DSPARKBENCH_SYSTEM_ROOT={self.root}", *options, "-P", SCRIPT],
            text=True, capture_output=True,
            env={"PATH": str(self.root / "bin"), "HOME": os.environ.get("HOME", "/"), **environment},
        )  # fmt: skip

    def assert_label(self, label, *options, **environment):
        ran = self.choose(*options, **environment)
        self.assertEqual((ran.returncode, ran.stdout), (0, label + "\n"), ran.stderr)
        return ran.stderr

    def assert_refused(self, texts, *options, **environment):
        ran = self.choose(*options, **environment)
        self.assertNotEqual(ran.returncode, 0, ran.stdout)
        said = " ".join(ran.stderr.split())
        for text in texts:
            self.assertIn(text, said)

    def test_builds_for_the_gpus_that_are_there(self):
        self.nvcc("12.9", 70, 75, 80, 90)
        self.gpus(H100, V100, H100)
        self.assert_label("cu129.sm70.sm90")
        self.assert_label("cu129.sm70.sm90", "-DCMAKE_CUDA_ARCHITECTURES=native")

    def test_is_without_cuda_where_there_is_no_gpu(self):
        self.nvcc("12.9", 70, 75, 80, 90)
        self.assert_label("cpu")
        self.gpus("6.1, Tesla P4")  # without tensor cores
        self.assert_label("cpu")
        self.gpus("No devices were found", status=6)
        self.assert_label("cpu")

    def test_is_without_cuda_where_it_is_left_out(self):
        self.gpus(V100)
        self.assert_label("cpu", "-DSPARKBENCH_CUDA=OFF")

    def test_builds_for_named_gpus_on_a_login_node(self):
        self.nvcc("12.9", 70, 75, 80, 90)
        self.assert_label("cu129.sm70", "-DCMAKE_CUDA_ARCHITECTURES=70")
        self.assert_label("cu129.sm70.sm90a", "-DCMAKE_CUDA_ARCHITECTURES=70-real;90a-real")
        self.assert_label("cu129.sm80", CUDAARCHS="80")

    def test_refuses_names_that_are_no_architectures(self):
        self.nvcc("12.9", 60, 70)
        for named in ("volta", "7.0", "60", "all", "70-virtual"):
            self.assert_refused([f"CMAKE_CUDA_ARCHITECTURES is '{named}'; allowed: native, or"],
                                f"-DCMAKE_CUDA_ARCHITECTURES={named}")  # fmt: skip

    def test_refuses_a_toolkit_that_cannot_build_for_a_gpu(self):
        nvcc = self.nvcc("13.0", 75, 80, 90)
        self.gpus(V100)
        what = f"CUDA 13.0 ({nvcc}) cannot compile for sm_70"
        self.assert_refused([f"{what} (the build machine's Tesla V100-SXM2-16GB). Take CUDA 12.9 or "
                             "older: CUDACXX=/path/to/its/bin/nvcc", "-DSPARKBENCH_CUDA=OFF"])  # fmt: skip
        self.assert_refused([f"{what} (named by CMAKE_CUDA_ARCHITECTURES)",
                             "-C cmake.define.SPARKBENCH_CUDA=OFF"],
                            "-DCMAKE_CUDA_ARCHITECTURES=70;90", "-DSKBUILD=2")  # fmt: skip
        self.assert_refused(["CUDA 12.9 or newer"], "-DCMAKE_CUDA_ARCHITECTURES=103")
        self.assert_refused(["names sm_140"], "-DCMAKE_CUDA_ARCHITECTURES=140")

    def test_names_a_toolkit_of_this_machine_that_can(self):
        self.nvcc("13.0", 75, 80, 90)
        older = self.nvcc("12.9", 70, 75, 80, 90, path="usr/local/cuda-12.9/bin/nvcc")
        self.assert_refused([f"CUDACXX={older}, which is here"], "-DCMAKE_CUDA_ARCHITECTURES=70")
        self.assert_label("cu129.sm70", "-DCMAKE_CUDA_ARCHITECTURES=70", CUDACXX=str(older))

    def test_refuses_a_gpu_without_a_toolkit(self):
        self.gpus(A100)
        self.assert_refused(["no nvcc to compile for sm_80 (the build machine's NVIDIA A100-SXM4-40GB)",
                             "CUDA 11.8 or newer"])  # fmt: skip
        self.assert_refused(["no nvcc to compile for sm_80"], CUDACXX="/none/nvcc")
        self.nvcc("12.9", 80, path="usr/local/cuda/bin/nvcc")  # where NVIDIA installs it
        self.assert_label("cu129.sm80")

    def test_refuses_a_gpu_that_nvidia_smi_does_not_tell(self):
        self.nvcc("12.9", 70, 75, 80, 90)
        self.program("dev/nvidia0", "")
        self.assert_refused(["has a GPU", "nvidia-smi does not tell which: ''", "A V100 is 70"])
        self.gpus('Field "compute_cap" is not a valid field to query.', status=2)
        self.assert_refused(["does not tell which: 'Field"])
        self.assert_label("cu129.sm70", "-DCMAKE_CUDA_ARCHITECTURES=70")

    def test_says_which_gpu_is_left_out(self):
        self.nvcc("12.9", 70, 75, 80, 90)
        self.gpus(V100, H100)
        told = self.assert_label("cu129.sm80", "-DCMAKE_CUDA_ARCHITECTURES=80")
        self.assertIn("a GPU of sm_70, which this build will refuse", told)
        self.assertNotIn("sm_90", told)
        self.assertEqual(self.assert_label("cu129.sm70", "-DCMAKE_CUDA_ARCHITECTURES=70"), "")


if __name__ == "__main__":
    unittest.main()
