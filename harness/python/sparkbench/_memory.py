"""Memory of the harness as other libraries take it without a copy: NumPy's array interface on the
host, DLPack (v0, unversioned) on the host and on GPUs."""

import ctypes
from ctypes import (
    POINTER,
    Structure,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint64,
    c_void_p,
)

CPU, CUDA = 1, 2  # DLDeviceType
ITEM_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "int32": 4}
_CODES = {"float16": (2, 16), "bfloat16": (4, 16), "float32": (2, 32), "int32": (0, 32)}
_NUMPY = {"float16": "<f2", "float32": "<f4", "int32": "<i4"}


class _DLTensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class _DLManagedTensor(Structure):
    _fields_ = [("dl_tensor", _DLTensor), ("manager_ctx", c_void_p), ("deleter", c_void_p)]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [c_void_p, ctypes.c_char_p, c_void_p]
_libc = ctypes.CDLL(None)
_allocate = _libc.malloc
_allocate.restype = c_void_p
_allocate.argtypes = [ctypes.c_size_t]
_FREE = ctypes.cast(_libc.free, c_void_p).value  # a deleter that may be called when Python is gone


class Memory:
    """A tensor at an address. `stream` is the stream that its contents are ordered on, or None."""

    def __init__(self, address, shape, strides, dtype, cuda_device=None, stream=None):
        self.address, self.shape, self.strides = address, tuple(shape), tuple(strides)
        self.dtype, self.cuda_device, self.stream = dtype, cuda_device, stream

    @property
    def __array_interface__(self):
        bytes_of = ITEM_BYTES[self.dtype]
        return {
            "version": 3,
            "shape": self.shape,
            "strides": tuple(bytes_of * stride for stride in self.strides),
            "typestr": _NUMPY[self.dtype],
            "data": (self.address, False),
        }

    def __dlpack_device__(self):
        return (CPU, 0) if self.cuda_device is None else (CUDA, self.cuda_device)

    def __dlpack__(self, *, stream=None, **_of_newer_protocols):
        """The consumer's stream waits for ours, unless it is the same."""
        waits = self.cuda_device is not None and stream not in (None, -1, self.stream)
        if waits and self.stream is not None:
            join_streams(self.stream, stream)
        numbers = len(self.shape)
        extents = c_int64 * numbers
        start = _allocate(ctypes.sizeof(_DLManagedTensor) + 2 * ctypes.sizeof(extents))
        managed = _DLManagedTensor.from_address(start)
        shape_at = start + ctypes.sizeof(_DLManagedTensor)
        strides_at = shape_at + ctypes.sizeof(extents)
        extents.from_address(shape_at)[:] = self.shape
        extents.from_address(strides_at)[:] = self.strides
        kind, device = self.__dlpack_device__()
        code, bits = _CODES[self.dtype]
        managed.dl_tensor = _DLTensor(
            self.address, kind, device, numbers, code, bits, 1,
            ctypes.cast(shape_at, POINTER(c_int64)), ctypes.cast(strides_at, POINTER(c_int64)), 0,
        )  # fmt: skip
        managed.manager_ctx, managed.deleter = None, _FREE
        return _new_capsule(start, b"dltensor", None)


def compact_strides(shape):
    """Of a row-major tensor, in elements."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= max(1, extent)
    return tuple(strides)


class _Driver:
    """The CUDA driver, whose context is the one that the harness made current."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name} returned CUDA error {status}")


_driver = None


def _cuda():
    global _driver
    if _driver is None:
        _driver = _Driver()
    return _driver


def join_streams(first, second):
    """What is enqueued on `second` from now on waits for what is on `first`. The host does not."""
    event = c_void_p()
    disable_timing = 2
    _cuda().call("cuEventCreate", ctypes.byref(event), ctypes.c_uint(disable_timing))
    _cuda().call("cuEventRecord", event, c_void_p(first))
    _cuda().call("cuStreamWaitEvent", c_void_p(second), event, ctypes.c_uint(0))
    _cuda().call("cuEventDestroy_v2", event)  # freed by the driver once it has happened


def synchronize(stream):
    _cuda().call("cuStreamSynchronize", c_void_p(stream))
