"""Kernels of other projects: `--kernel peers` is all that are installed, `--kernel 'peers:torch-*'`
some of them. Each module is one library's, and imports it; where it is missing its kernels are."""

import ctypes
import fnmatch
import importlib
import sys

from .._kernel import ItemError, Kernel

# Modules, with the names of their kernels.
PEERS = {
    "torch_unfused": ("torch-unfused",),
    "torch_sdpa": ("torch-math", "torch-efficient", "torch-flash", "torch-cudnn"),
    "torch_flex": ("torch-flex",),
    "torch_bsr": ("torch-bsr",),
    "torch_varlen": ("torch-varlen", "torch-nested", "torch-padded"),
    "flash_attention_2": ("flash-attn-2",),
    "flash_attention_3": ("flash-attn-3",),
    "flash_attention_4": ("flash-attn-4",),
    "xformers_attention": ("xformers",),
    "transformer_engine_attention": ("transformer-engine",),
    "flashinfer_attention": ("flashinfer",),
    "jax_attention": ("jax-cudnn", "jax-xla"),
    "triton_fused": ("triton-fused",),
    "triton_block_sparse": ("triton-block-sparse",),
    "torch_layers": (
        *(f"torch-{way}-{attention}" for way in ("eager", "compile", "script")
          for attention in ("unfused", "math", "efficient", "flash", "cudnn")),
        "torch-encoder-layer",
    ),
    "spark": ("spark-fp32acc", "spark-fp16acc"),
}


def has_gpu():
    try:
        driver, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
    except OSError:
        return False
    is_there = driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
    return is_there and count.value > 0


def installed(names):
    """({name: Kernel}, {name: why it is not here}) of these names."""
    here, missing, with_gpu = {}, {}, has_gpu()
    for module_name, of_module in PEERS.items():
        wanted = [name for name in of_module if name in names]
        if not wanted:
            continue
        try:
            module = importlib.import_module(f"{__name__}.{module_name}")
        except Exception as error:
            lines = str(error).splitlines() or [type(error).__name__]
            missing.update((name, f"not installed: {lines[0]}") for name in wanted)
            continue
        found = [*vars(module).values(), *getattr(module, "LAYERS", {}).values()]
        kernels = {each.name: each for each in found if isinstance(each, Kernel)}
        for name in wanted:
            if not with_gpu and "host" not in kernels[name].backends:
                missing[name] = "needs a GPU"
            else:
                here[name] = kernels[name]
    return here, missing


def kernels_of(pattern):
    """For `--kernel peers:PATTERN`; says on the error stream which peers are missing, and why."""
    known = [name for names in PEERS.values() for name in names]
    names = fnmatch.filter(known, pattern or "*")
    if not names:
        raise ItemError(f"no peer is called '{pattern}'; allowed: {', '.join(known)}")
    here, missing = installed(names)
    whys = "; ".join(
        f"{', '.join(name for name in missing if missing[name] == why)} ({why})"
        for why in dict.fromkeys(missing.values())
    )
    if not here:
        raise ItemError(f"no peer can run here: {whys}")
    if missing:
        print(f"sparkbench: peers that are not here: {whys}", file=sys.stderr, flush=True)
    return [(kernel, f"peers:{name}") for name, kernel in here.items()]
