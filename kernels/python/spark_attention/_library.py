"""libspark_attention.so by ctypes: the structs and functions of kernels/api/spark_attention.h.

The library is the one in this package, or the one that SPARK_ATTENTION_LIBRARY names.
"""

import ctypes
import json
import operator
import os
import pathlib

from . import _arguments

CUDA, EMULATED = 0, 1
FORWARD, BACKWARD = 0, 1
FP16 = 0
# Kernels on GPUs whose tensor cores lack their instruction.
ALLOW_SLOW = os.environ.get("SPARK_ATTENTION_ALLOW_SLOW") == "1"
GENERATION = os.environ.get("SPARK_ATTENTION_GENERATION", "")  # whose kernels GPUs run; "": any
_GENERATION = GENERATION.encode()  # which problems point to
DROPOUT_SCALES = {"applied": 0, "asked": 1}
ACCUMULATORS = {"fp32": 0, "fp16": 1}


class UnsupportedError(NotImplementedError):
    """No kernel here does it."""


class NoDeviceCodeError(RuntimeError):
    """The library was built without code for the GPU; the text says how to build it anew."""


class DeviceError(RuntimeError):
    """What CUDA reports, perhaps of earlier work."""


class Problem(ctypes.Structure):
    _fields_ = [
        ("struct_bytes", ctypes.c_size_t),
        *[(name, ctypes.c_int32) for name in (
            "backend", "device", "dtype", "batch", "heads", "heads_k", "seqlen_q", "seqlen_k",
            "head_dim", "accumulator")],
        ("mask", ctypes.c_char_p),
        ("softmax_scale", ctypes.c_float),
        ("dropout_p", ctypes.c_float),
        ("seed", ctypes.c_uint64),
        ("deterministic", ctypes.c_int32),
        ("allow_slow", ctypes.c_int32),
        ("dropout_scale", ctypes.c_int32),
        ("dropout_offset", ctypes.c_void_p),
        ("prepared_mask", ctypes.c_void_p),
        ("generation", ctypes.c_char_p),
    ]  # fmt: skip
    prepared = None  # the Mask that prepared_mask is the handle of, which lives as long


_SIZES = [name for name, kind in Problem._fields_ if kind is ctypes.c_int32]


class Tensor(ctypes.Structure):
    """spark_attention_input and spark_attention_output alike."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("batch_stride", ctypes.c_int64),
        ("seqlen_stride", ctypes.c_int64),
        ("head_stride", ctypes.c_int64),
    ]


class ForwardTensors(ctypes.Structure):
    _fields_ = [*[(name, Tensor) for name in ("q", "k", "v", "o")], ("lse", ctypes.c_void_p)]


class BackwardTensors(ctypes.Structure):
    _fields_ = [
        *[(name, Tensor) for name in ("q", "k", "v", "o", "d_o")],
        ("lse", ctypes.c_void_p),
        *[(name, Tensor) for name in ("dq", "dk", "dv")],
    ]


_SIGNATURES = {
    "supports": (ctypes.POINTER(Problem), ctypes.c_int),
    "kernel_name": (ctypes.POINTER(Problem), ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)),
    "workspace_bytes": (ctypes.POINTER(Problem), ctypes.c_int, ctypes.POINTER(ctypes.c_size_t)),
    # The tensors: ForwardTensors and BackwardTensors, or their words as an array.
    "forward_with_workspace": (ctypes.POINTER(Problem), ctypes.c_void_p, ctypes.c_void_p,
                               ctypes.c_size_t, ctypes.c_void_p),
    "backward": (ctypes.POINTER(Problem), ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                 ctypes.c_void_p),
    "mask_create": (ctypes.c_char_p, ctypes.c_int32, ctypes.c_int32,
                    ctypes.POINTER(ctypes.c_void_p)),
    "dropout_mask": (ctypes.POINTER(Problem), ctypes.c_void_p, ctypes.POINTER(ctypes.c_float),
                     ctypes.c_void_p),
    "varlen_supports": (ctypes.POINTER(Problem), ctypes.c_int),
    "varlen_workspace_bytes": (ctypes.POINTER(Problem), ctypes.c_int,
                               ctypes.POINTER(ctypes.c_size_t)),
    "varlen_forward": (ctypes.POINTER(Problem), ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
                       ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p),
    "varlen_backward": (ctypes.POINTER(Problem), ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
                        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p),
}  # fmt: skip
_TEXTS = ("last_error", "version", "build_info")


def _load():
    path = os.environ.get("SPARK_ATTENTION_LIBRARY")
    if path is None:
        path = pathlib.Path(__file__).parent / "libspark_attention.so"
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise ImportError(f"{error}: `pip install ./kernels/python` in a clone of sparkbench makes it, "
                          "or SPARK_ATTENTION_LIBRARY names another") from error  # fmt: skip
    for name, arguments in _SIGNATURES.items():
        function = getattr(library, "spark_attention_" + name)
        function.argtypes, function.restype = arguments, ctypes.c_int
    for name in _TEXTS:
        function = getattr(library, "spark_attention_" + name)
        function.argtypes, function.restype = (), ctypes.c_char_p
    library.spark_attention_mask_destroy.argtypes = (ctypes.c_void_p,)
    library.spark_attention_mask_destroy.restype = None
    return library


_library = _load()


def _raise(status):
    text = _library.spark_attention_last_error().decode()
    raise {1: ValueError, 2: UnsupportedError, 3: NoDeviceCodeError, 4: MemoryError,
           5: DeviceError}.get(status, RuntimeError)(text)  # fmt: skip


def _check(status):
    if status:
        _raise(status)


def path():
    return _library._name


def version():
    return _library.spark_attention_version().decode()


def build_info():
    """How the library was built: "cuda", "architectures", "volta", "hopper" and "why", as
    spark_attention_build_info() has them."""
    return json.loads(_library.spark_attention_build_info())


class Mask:
    """A mask that problems of these lengths share; freed when none has it any more."""

    _destroy = _library.spark_attention_mask_destroy

    def __init__(self, text, seqlen_q, seqlen_k):
        self.text, self.handle = text, ctypes.c_void_p()
        _require_int32(seqlen_q=seqlen_q, seqlen_k=seqlen_k)
        _check(_library.spark_attention_mask_create(text.encode(), seqlen_q, seqlen_k,
                                                    ctypes.byref(self.handle)))  # fmt: skip

    def __del__(self, destroy=_destroy):
        destroy(self.handle)


def _require_int32(**sizes):
    """ctypes cuts what is larger, without a word."""
    for name, size in sizes.items():
        if not -(2**31) <= size < 2**31:
            raise ValueError(f"{name} is {size}; allowed: up to {2**31 - 1}")


def problem(*, prepared=None, **fields):
    """Fields that are not given have their defaults. `prepared` is a Mask, in the place of `mask`.
    Raises ValueError for what the struct's types cannot hold."""
    _require_int32(**{name: fields[name] for name in _SIZES if name in fields})
    seed = operator.index(fields.get("seed", 0))
    if not -(2**63) <= seed < 2**64:
        raise ValueError(f"seed is {seed}; allowed: numbers of 64 bits")
    if fields.get("softmax_scale", 0.0) != 0:  # float32 would make it the default, which 0 says
        _arguments.scale_of(fields["softmax_scale"])
    of = Problem(struct_bytes=ctypes.sizeof(Problem), allow_slow=ALLOW_SLOW, **fields)
    if of.backend == CUDA:
        of.generation = _GENERATION
    if prepared is not None:
        of.prepared_mask, of.prepared = prepared.handle, prepared
    return of


def accumulator_of(name):
    if _arguments.text_of("accumulator", name, ", ".join(ACCUMULATORS)) not in ACCUMULATORS:
        raise ValueError(f"accumulator is {name!r}; allowed: {', '.join(ACCUMULATORS)}")
    return ACCUMULATORS[name]


def dropout_scale_of(name):
    if _arguments.text_of("dropout_scale", name, ", ".join(DROPOUT_SCALES)) not in DROPOUT_SCALES:
        raise ValueError(f"dropout_scale is {name!r}; allowed: {', '.join(DROPOUT_SCALES)}")
    return DROPOUT_SCALES[name]


def why_unsupported(of, of_pass):
    """None where the pass would run, else the reason."""
    if not _library.spark_attention_supports(of, of_pass):
        return None
    return _library.spark_attention_last_error().decode()


def why_varlen_unsupported(of, of_pass):
    """The same of packed sequences, whose number is the problem's batch."""
    if not _library.spark_attention_varlen_supports(of, of_pass):
        return None
    return _library.spark_attention_last_error().decode()


def why_unsupported_passes(of, is_varlen=False, passes=(FORWARD, BACKWARD)):
    """The first reason of a pass that would not run; None where all would."""
    ask = why_varlen_unsupported if is_varlen else why_unsupported
    return next((reason for reason in (ask(of, each) for each in passes) if reason), None)


def require(of, of_pass):
    """Raises the reason why a pass would not run."""
    _check(_library.spark_attention_supports(of, of_pass))


def kernel_name(of, of_pass):
    name = ctypes.c_char_p()
    _check(_library.spark_attention_kernel_name(of, of_pass, ctypes.byref(name)))
    return name.value.decode()


def workspace_bytes(of, of_pass):
    count = ctypes.c_size_t()
    _check(_library.spark_attention_workspace_bytes(of, of_pass, ctypes.byref(count)))
    return count.value


def forward(of, tensors, workspace=None, byte_count=0, stream=None):
    """`tensors` by ctypes.byref."""
    _check(_library.spark_attention_forward_with_workspace(of, tensors, workspace, byte_count,
                                                           stream))  # fmt: skip


def backward(of, tensors, workspace=None, byte_count=0, stream=None):
    """`tensors` by ctypes.byref."""
    _check(_library.spark_attention_backward(of, tensors, workspace, byte_count, stream))


def varlen_workspace_bytes(of, of_pass):
    count = ctypes.c_size_t()
    _check(_library.spark_attention_varlen_workspace_bytes(of, of_pass, ctypes.byref(count)))
    return count.value


def varlen_forward(of, cu_seqlens_q, cu_seqlens_k, tensors, workspace=None, byte_count=0,
                   stream=None):  # fmt: skip
    _check(_library.spark_attention_varlen_forward(of, cu_seqlens_q, cu_seqlens_k, tensors,
                                                   workspace, byte_count, stream))  # fmt: skip


def varlen_backward(of, cu_seqlens_q, cu_seqlens_k, tensors, workspace=None, byte_count=0,
                    stream=None):  # fmt: skip
    _check(_library.spark_attention_varlen_backward(of, cu_seqlens_q, cu_seqlens_k, tensors,
                                                    workspace, byte_count, stream))  # fmt: skip


def dropout_mask(of, address, stream=None):
    """Fills batch * heads * seqlen_q * seqlen_k bytes at the address, in memory of the problem's
    backend, and gives the scale of what is kept."""
    scale = ctypes.c_float()
    _check(_library.spark_attention_dropout_mask(of, address, ctypes.byref(scale), stream))
    return scale.value


def xla_handler(platform, of_pass):
    """A custom call's handler in XLA's foreign function interface (kernels/api/xla.cc)."""
    return getattr(_library, f"spark_attention_xla_{platform}_{of_pass}")


def _serves(of_pass, head_dim=64, accumulator=0, batch=1):
    of = problem(backend=EMULATED, batch=batch, heads=1, seqlen_q=1, seqlen_k=1, head_dim=head_dim,
                 accumulator=accumulator)  # fmt: skip
    return why_unsupported(of, of_pass) is None


_head_dims = {}


def head_dims(accumulator):
    """Those that kernels of the accumulator, by its name, have both passes of. Asked once: compiled
    code, which cannot look into the library, knows what was asked before."""
    if accumulator not in _head_dims:
        number = ACCUMULATORS[accumulator]
        _head_dims[accumulator] = tuple(d for d in range(1, 513) if _serves(FORWARD, d, number)
                                        and _serves(BACKWARD, d, number))  # fmt: skip
    return _head_dims[accumulator]


HEAD_DIMS = head_dims("fp32")
def _most_entries():
    """By halving."""
    served, refused = 1, 2**31 - 1
    while refused - served > 1:
        middle = (served + refused) // 2
        served, refused = (middle, refused) if _serves(FORWARD, batch=middle) else (served, middle)
    return served


MOST_ENTRIES = _most_entries()  # of a batch, and heads: a grid has no more
