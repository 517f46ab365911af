"""Fused attention for the V100's tensor cores.

    import spark_attention as sa
    out = sa.attention(q, k, v, causal=True)        # fp16 tensors, [batch, seqlen, heads, head_dim]

On CUDA tensors the kernels run on the GPU. On CPU tensors they run on an emulated V100, which is slow
and has the same bits. spark_attention.host does the same for NumPy arrays, without PyTorch.
"""

import importlib.util
import sys
import warnings

try:
    from . import _gpus, _library
except ImportError as error:
    # python -m spark_attention imports the package before __main__.py runs.
    if sys.argv[:1] != ["-m"] or "spark_attention" not in getattr(sys, "orig_argv", ()):
        raise
    print(f"spark_attention: {error}", file=sys.stderr)
    raise SystemExit(3) from error
from ._arguments import LayoutWarning
from ._library import HEAD_DIMS, DeviceError, NoDeviceCodeError, UnsupportedError, build_info

__version__ = _library.version()
__all__ = ["HEAD_DIMS", "DeviceError", "LayoutWarning", "NoDeviceCodeError", "UnsupportedError",
           "build_info"]  # fmt: skip

if _trouble := _gpus.check_at_import():
    warnings.warn(_trouble, stacklevel=2)

if importlib.util.find_spec("torch"):
    from ._attention import attention, explain, supports
    from ._bf16 import counts as bf16_counts
    from ._fp16_sums import counts as fp16_counts
    from ._varlen import attention_varlen
    from .flash import (
        flash_attn_func,
        flash_attn_kvpacked_func,
        flash_attn_qkvpacked_func,
        flash_attn_varlen_func,
        flash_attn_varlen_kvpacked_func,
        flash_attn_varlen_qkvpacked_func,
        flash_attn_with_kvcache,
    )
    from ._sdpa import sdpa

    __all__ += ["attention", "attention_varlen", "bf16_counts", "explain", "flash_attn_func",
                "flash_attn_kvpacked_func", "flash_attn_qkvpacked_func", "flash_attn_varlen_func",
                "flash_attn_varlen_kvpacked_func", "flash_attn_varlen_qkvpacked_func",
                "flash_attn_with_kvcache", "fp16_counts", "sdpa", "supports"]  # fmt: skip
