"""Whether the library has code for this machine's GPUs, asked without starting CUDA: a process that
started it can no longer fork workers."""

import contextlib
import ctypes
import os

from . import _library

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


def _is_of(architecture, sm):
    """Whether a GPU runs the machine code of the architecture: of its own generation."""
    return architecture <= sm and architecture // 10 == sm // 10


def _has_code(info, sm):
    return any(built <= sm for built in info["architectures"])


def _has_kernel(info, sm):
    return any(_is_of(architecture, sm) for architecture in info["volta"] + info["hopper"])


def _names(gpus):
    return ", ".join(f"{name} (sm_{sm})" for name, sm in sorted(set(gpus)))


def why_no_code(gpus, info):
    """A line about the GPUs that the library, of this build_info(), has no code for, with the cure.
    None where it has code for all."""
    without = [gpu for gpu in gpus if not _has_code(info, gpu[1])]
    if not without:
        return None
    built = f"for compute capabilities {', '.join(map(str, info['architectures']))}"
    cuda = "CUDA 12.9 or older" if min(sm for _, sm in without) < 75 else "that GPU's CUDA"
    return (
        f"spark_attention has no code for {_names(without)}: it was built "
        f"{built if info['architectures'] else 'without CUDA'} ({info['why']}). The cure: pip install "
        f"./kernels/python -C cmake.define.CMAKE_CUDA_ARCHITECTURES={min(sm for _, sm in without)}, "
        f"with the nvcc of {cuda} on PATH or in CUDACXX. Until then tensors on that GPU are refused; "
        "CPU tensors run on the emulated V100."
    )


def why_no_kernel(gpus, info):
    """The same of the GPUs that no kernel of the library is made for."""
    without = [gpu for gpu in gpus if _has_code(info, gpu[1]) and not _has_kernel(info, gpu[1])]
    if not without:
        return None
    return (
        f"spark_attention has no kernel for {_names(without)}: sa.attention refuses its tensors, and "
        "sa.sdpa() leaves them to PyTorch's own attention, which is the faster one there."
    )


def why_refused(gpus, info):
    """The lines of both; None where each GPU has a kernel."""
    lines = [line for line in (why_no_code(gpus, info), why_no_kernel(gpus, info)) if line]
    return " ".join(lines) or None


def check_at_import():
    return why_refused(visible_gpus(), _library.build_info())
