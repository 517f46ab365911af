"""harness/plugin/sparkbench_kernel.h and harness/python/sparkbench_host.h as ctypes."""

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char_p,
    c_float,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
)

OK, UNSUPPORTED, OUT_OF_MEMORY, ERROR = range(4)
CUDA, HOST = range(2)
FP16, BF16, FP32 = range(3)
FORWARD, BACKWARD, FORWARD_BACKWARD = range(3)
FULL, BAND, PREFIX, PATTERN = range(4)
ACCUMULATORS = {"fp32": 0, "fp16": 1}

GELU_TANH, GELU_ERF, RELU = range(3)
WEIGHTS = (
    "w_qkv", "w_o", "w_1", "w_2", "b_qkv", "b_o", "b_1", "b_2", "gamma_1", "beta_1", "gamma_2",
    "beta_2",
)  # fmt: skip

SEES = CFUNCTYPE(c_int32, c_void_p, c_int32, c_int32, c_int32, c_int32)
SEES_KEYS = CFUNCTYPE(None, c_void_p, c_int32, c_int32, c_int32, POINTER(c_uint8))


class Layer(Structure):
    _fields_ = [
        ("struct_bytes", c_size_t),
        ("hidden", c_int32),
        ("ffn", c_int32),
        ("activation", c_int32),
        ("is_pre_norm", c_int32),
        ("has_bias", c_int32),
        ("rest_is_fused", c_int32),
    ]


class Problem(Structure):
    _fields_ = [
        ("struct_bytes", c_size_t),
        ("backend", c_int32),
        ("sm", c_int32),
        ("device", c_int32),
        ("dtype", c_int32),
        ("pass", c_int32),
        ("batch", c_int32),
        ("heads", c_int32),
        ("heads_k", c_int32),
        ("seqlen_q", c_int32),
        ("seqlen_k", c_int32),
        ("head_dim", c_int32),
        ("softmax_scale", c_float),
        ("deterministic", c_int32),
        ("mask_kind", c_int32),
        ("mask_left", c_int32),
        ("mask_right", c_int32),
        ("mask_prefix", c_int32),
        ("mask", c_char_p),
        ("sees", SEES),
        ("mask_context", c_void_p),
        ("dropout_p", c_float),
        ("dropout_scale", c_float),
        ("seed", c_uint64),
        ("dropout_offset", c_uint64),
        ("cu_seqlens_q", POINTER(c_int32)),
        ("cu_seqlens_k", POINTER(c_int32)),
        ("total_q", c_int64),
        ("total_k", c_int64),
        ("sees_keys", SEES_KEYS),
        ("mask_per_head", c_int32),
        ("layer", POINTER(Layer)),
        ("layout", c_int32),
    ]


class Tensor(Structure):
    """sparkbench_input and sparkbench_output."""

    _fields_ = [
        ("data", c_void_p),
        ("batch_stride", c_int64),
        ("seqlen_stride", c_int64),
        ("head_stride", c_int64),
    ]


class LayerTensors(Structure):
    _fields_ = [
        ("struct_bytes", c_size_t),
        ("x", c_void_p),
        ("weights", c_void_p * len(WEIGHTS)),
        ("y", c_void_p),
        ("d_y", c_void_p),
        ("dx", c_void_p),
        ("d_weights", c_void_p * len(WEIGHTS)),
    ]


class Tensors(Structure):
    _fields_ = [
        ("struct_bytes", c_size_t),
        ("q", Tensor),
        ("k", Tensor),
        ("v", Tensor),
        ("o", Tensor),
        ("lse", c_void_p),
        ("d_o", Tensor),
        ("dq", Tensor),
        ("dk", Tensor),
        ("dv", Tensor),
        ("cu_seqlens_q", c_void_p),
        ("cu_seqlens_k", c_void_p),
        ("layer", POINTER(LayerTensors)),
    ]


# A returned string is an address: ctypes keeps no bytes alive for a callback's result.
SUPPORTS = CFUNCTYPE(c_void_p, POINTER(Problem))
WORKSPACE_BYTES = CFUNCTYPE(c_size_t, POINTER(Problem))
PREPARE = CFUNCTYPE(c_int32, POINTER(Problem), c_void_p, c_void_p, POINTER(c_void_p))
RUN = CFUNCTYPE(c_int32, c_void_p, POINTER(Tensors), c_void_p)
PEAK_BYTES = CFUNCTYPE(c_size_t, c_void_p)
DESTROY = CFUNCTYPE(None, c_void_p)
LAST_ERROR = CFUNCTYPE(c_void_p)


class Kernel(Structure):
    _fields_ = [
        ("struct_bytes", c_size_t),
        ("name", c_char_p),
        ("summary", c_char_p),
        ("version", c_char_p),
        ("backend", c_int32),
        ("accumulator", c_int32),
        ("draws_own_dropout", c_int32),
        ("has_no_lse", c_int32),
        ("supports", SUPPORTS),
        ("workspace_bytes", WORKSPACE_BYTES),
        ("prepare", PREPARE),
        ("forward", RUN),
        ("backward", RUN),
        ("peak_bytes", PEAK_BYTES),
        ("destroy", DESTROY),
        ("last_error", LAST_ERROR),
        ("outputs", RUN),
        ("dtypes", c_uint32),
        ("computes_layers", c_int32),
    ]


LOAD = CFUNCTYPE(c_void_p, c_char_p, c_uint32)
LOAD_ERROR = CFUNCTYPE(c_void_p)
TEXT_OF = CFUNCTYPE(c_void_p, c_void_p)


class Host(Structure):
    _fields_ = [
        ("struct_bytes", c_size_t),
        ("worker_command", POINTER(c_char_p)),
        ("load", LOAD),
        ("load_error", LOAD_ERROR),
        ("item_of", TEXT_OF),
        ("file_of", TEXT_OF),
    ]


def known_part(struct):
    """A copy of a struct whose maker may know fewer fields: those read as 0."""
    whole = type(struct)()
    size = min(struct.struct_bytes, ctypes.sizeof(struct))
    ctypes.memmove(ctypes.byref(whole), ctypes.byref(struct), size)
    return whole
