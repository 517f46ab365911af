"""Versions of the libraries that a peer calls: results/sparkbench.run.schema.json, `libraries` of a
case."""

import ctypes

import peer_flash4

CALLS = {"torch-math": "cublas", "torch-unfused": "cublas", "torch-cudnn": "cudnn"}
WAYS_OF_LAYERS = ("torch-eager-", "torch-compile-", "torch-script-", "torch-encoder-layer")
OF_TRITON = ("torch-flex", "torch-bsr")
UNKNOWN = "unknown"


def spell_cudnn(version):
    """91002 -> "9.10.2" """
    return f"{version // 10000}.{version // 100 % 100}.{version % 100}"


def cublas_version(cuda_version):
    """The version of the library that PyTorch has loaded, found by its name."""
    try:
        library = ctypes.CDLL(f"libcublas.so.{cuda_version.split('.')[0]}")
        parts = []
        for which in range(3):  # major, minor, patch level
            part = ctypes.c_int()
            if library.cublasGetProperty(which, ctypes.byref(part)) != 0:
                return UNKNOWN
            parts.append(str(part.value))
        return ".".join(parts)
    except (OSError, AttributeError):
        return UNKNOWN


def triton_version():
    try:
        import triton
    except ImportError:
        return UNKNOWN
    return triton.__version__


def spark_version():
    try:
        import spark_attention
    except ImportError:
        return UNKNOWN
    return spark_attention.__version__


def libraries_of(torch, kernel, timer):
    """{name: version} for a case of `kernel`; includes Triton's version if Triton compiles the case
    or its do_bench times it."""
    libraries = {"torch": torch.__version__}
    if kernel.startswith("spark-"):
        libraries["spark_attention"] = spark_version()
    if kernel == "flash-attn-4":
        libraries["flash-attn-4"] = peer_flash4.version() or UNKNOWN
    is_layer = kernel.startswith(WAYS_OF_LAYERS)
    if CALLS.get(kernel) == "cublas" or is_layer:
        libraries["cublas"] = cublas_version(torch.version.cuda)
    if CALLS.get(kernel) == "cudnn" or (is_layer and kernel.endswith("-cudnn")):
        libraries["cudnn"] = spell_cudnn(torch.backends.cudnn.version())
    compiles = kernel in OF_TRITON or kernel.startswith("torch-compile-")
    if timer == "do_bench" or compiles:
        libraries["triton"] = triton_version()
    return libraries
