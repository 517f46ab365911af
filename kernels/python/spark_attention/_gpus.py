"""Whether the library has code for this machine's GPUs, asked without starting CUDA: a process that
started it can no longer fork workers."""

import contextlib
import ctypes
import os

from . import _library

REBUILD = "pip install ./kernels/python with CUDACXX=/path/to/nvcc of "


def visible_gpus():
    """(name, compute capability) of the GPUs that CUDA_VISIBLE_DEVICES leaves, by NVML; none where
    there is no driver."""
    with _opened_nvml() as nvml:
        count = ctypes.c_uint()
        if nvml is None or nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)):
            return []
        gpus = [_describe(nvml, i) for i in range(count.value)]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return [gpu for i, gpu in enumerate(gpus) if gpu and is_visible(i, visible)]


@contextlib.contextmanager
def _opened_nvml():
    """None where there is no driver."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        nvml = None
    if nvml is None or nvml.nvmlInit_v2():
        yield None
        return
    try:
        yield nvml
    finally:
        nvml.nvmlShutdown()


def driver_version():
    """None where there is no driver."""
    with _opened_nvml() as nvml:
        text = ctypes.create_string_buffer(80)
        if nvml is None or nvml.nvmlSystemGetDriverVersion(text, ctypes.c_uint(len(text))):
            return None
        return text.value.decode()


def is_visible(index, visible_devices):
    """By number, as most set it. GPUs named otherwise (by UUID) all count as visible."""
    if visible_devices is None:
        return True
    words = [word.strip() for word in visible_devices.split(",")]
    if not all(word.lstrip("-").isdigit() for word in words if word):
        return True
    return str(index) in words


def _describe(nvml, index):
    handle, name = ctypes.c_void_p(), ctypes.create_string_buffer(96)
    major, minor = ctypes.c_int(), ctypes.c_int()
    failed = (
        nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(handle))
        or nvml.nvmlDeviceGetName(handle, name, ctypes.c_uint(len(name)))
        or nvml.nvmlDeviceGetCudaComputeCapability(
            handle, ctypes.byref(major), ctypes.byref(minor))
    )  # fmt: skip
    return None if failed else (name.value.decode(), 10 * major.value + minor.value)


def why_no_code(gpus, architectures):
    """A line about the GPUs that the library has no code for, with the cure; None where it has code
    for all. A GPU runs what was built for it or for an earlier one."""
    without = [gpu for gpu in gpus if not any(built <= gpu[1] for built in architectures)]
    if not without:
        return None
    names = ", ".join(f"{name} (sm_{sm})" for name, sm in sorted(set(without)))
    built = "for compute capabilities " + ", ".join(map(str, architectures))
    cuda = "CUDA 12.9 or older" if min(sm for _, sm in without) < 75 else "that GPU's CUDA"
    return (
        f"spark_attention has no code for {names}: it was built "
        f"{built if architectures else 'without CUDA'}. The cure: {REBUILD}{cuda}. Until then "
        "tensors on that GPU are refused; CPU tensors run on the emulated V100."
    )


def check_at_import():
    return why_no_code(visible_gpus(), _library.architectures())
