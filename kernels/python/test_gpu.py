"""What tests on a GPU begin with: Volta's kernels forced on GPUs after Turing, where they are slow, and
status 77, skipped, where there is no GPU that they run on."""

import os
import sys

os.environ["SPARK_ATTENTION_ALLOW_SLOW"] = "1"  # read when the package is imported
os.environ["SPARK_ATTENTION_GENERATION"] = "volta"

from test_torch import torch

from spark_attention import _gpus

if not torch.cuda.is_available():
    print("skipped: no GPU")
    sys.exit(77)
if _gpus.check_at_import():
    print(f"skipped: {_gpus.check_at_import()}")
    sys.exit(77)


def on_gpu(*tensors):
    return [tensor.detach().cuda().requires_grad_(tensor.requires_grad) for tensor in tensors]
