"""Runs `sparkbench run` on tensors that NumPy wrote, and compares with attention in NumPy's fp64.

    program_numpy_test.py SPARKBENCH

Shares no code with the program: it implements the file format, the definition of attention and
its gradients again. Exits with 77, which CTest counts as skipped, without NumPy.
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: no NumPy")
    sys.exit(77)

DTYPES = {"F16": np.float16, "F32": np.float32}
LARGEST_ERROR = {"volta-fp32acc": 1e-3, "volta-fp16acc": 3e-3}  # sum|got - want| / sum|want|


def bfloat16(values):
    """The nearest BF16 numbers, ties to even, as their bits."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def write_safetensors(path, tensors):
    """`tensors`: name -> (dtype, array of the elements)."""
    header, data = {}, b""
    for name, (dtype, array) in tensors.items():
        begin = len(data)
        data += array.tobytes()
        header[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    file = path.read_bytes()
    data = 8 + struct.unpack("<Q", file[:8])[0]
    tensors = {}
    for name, entry in json.loads(file[8:data]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        elements = np.frombuffer(file[data + begin : data + end], DTYPES[entry["dtype"]])
        tensors[name] = elements.reshape(entry["shape"]).astype(np.float64)
    return tensors


def attention(q, k, v, d_o, causal):
    """Outputs and gradients of [batch, seqlen, heads, head_dim] tensors."""
    q, k, v, d_o = (x.astype(np.float64).transpose(0, 2, 1, 3) for x in (q, k, v, d_o))
    scale = 1 / np.sqrt(q.shape[-1])
    s = scale * q @ k.transpose(0, 1, 3, 2)
    if causal:
        row, column = np.ogrid[: s.shape[2], : s.shape[3]]
        s[:, :, column > row + s.shape[3] - s.shape[2]] = -np.inf
    with np.errstate(divide="ignore"):
        peak = np.maximum(s.max(-1, keepdims=True), -1e300)
        lse = peak + np.log(np.exp(s - peak).sum(-1, keepdims=True))
        p = np.where(np.isneginf(s), 0, np.exp(s - np.maximum(lse, -1e300)))
    o = p @ v
    ds = p * (d_o @ v.transpose(0, 1, 3, 2) - (d_o * o).sum(-1, keepdims=True))
    outputs = {
        "o": o,
        "dq": scale * ds @ k,
        "dk": scale * ds.transpose(0, 1, 3, 2) @ q,
        "dv": p.transpose(0, 1, 3, 2) @ d_o,
    }
    outputs = {name: x.transpose(0, 2, 1, 3) for name, x in outputs.items()}
    return outputs | {"lse": np.where(np.isneginf(lse), -np.inf, lse)[..., 0]}


def relative_error(got, want):
    """NaN if only one of them is finite."""
    seen = np.isfinite(want)
    if got.shape != want.shape or not np.array_equal(seen, np.isfinite(got)):
        return np.nan
    return np.abs(got[seen] - want[seen]).sum() / np.abs(want[seen]).sum()


def stored(values, dtype):
    """The elements in a file of `dtype`, and as fp16 for the kernels."""
    if dtype == "BF16":
        bits = bfloat16(values)
        return bits, (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float16)
    elements = values.astype(DTYPES[dtype])
    return elements, elements.astype(np.float16)


def check(sparkbench, folder, shape, dtype, causal, kernel):
    """Whether the saved outputs are close to NumPy's. `shape`: batch, heads, lengths, head_dim."""
    batch, heads, seqlen_q, seqlen_k, head_dim = shape
    random = np.random.default_rng(seed=1)
    taken, to_write = {}, {}
    for name, seqlen in {"q": seqlen_q, "k": seqlen_k, "v": seqlen_k, "d_o": seqlen_q}.items():
        values = random.standard_normal((batch, seqlen, heads, head_dim))
        elements, taken[name] = stored(values, dtype)
        to_write[name] = (dtype, elements)
    source, target = folder / "in.safetensors", folder / "out.safetensors"
    write_safetensors(source, to_write)
    subprocess.run(
        [sparkbench, "run", "--device", "emulated-v100", "--kernel", kernel, "--pass", "fwd+bwd",
         "--dropout", "0",
         "--causal", str(causal).lower(), "--tensors", source, "--save-outputs", target, "-q"],
        check=True)  # fmt: skip
    want = attention(**taken, causal=causal)
    errors = {name: relative_error(x, want[name]) for name, x in read_safetensors(target).items()}
    figures = ", ".join(f"{name} {error:.2e}" for name, error in errors.items())
    print(f"{kernel} {dtype} {shape} causal={causal}: {figures}")
    is_near = [error < LARGEST_ERROR[kernel] for error in errors.values()]
    return errors.keys() == want.keys() and all(is_near)


def main():
    sparkbench = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        passed = [
            check(sparkbench, folder, (2, 3, 65, 65, 64), "F16", False, "volta-fp32acc"),
            check(sparkbench, folder, (1, 2, 100, 37, 128), "F32", True, "volta-fp32acc"),
            check(sparkbench, folder, (2, 2, 33, 130, 64), "BF16", True, "volta-fp16acc"),
        ]
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
