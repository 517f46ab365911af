"""A user's layer: weights, x and d_y from a safetensors file, under sparkbench's names
(reference/encoder/README.md). sparkbench has checked the file for missing and misshapen tensors."""

import json
import math

import peer_layer

DTYPES = {"F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64"}


def read_file(torch, path):
    """{name: tensor} for everything in a file."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        begin = file.tell()
        tensors = {}
        for name, entry in header.items():
            if name == "__metadata__" or entry["dtype"] not in DTYPES:
                continue
            first, end = entry["data_offsets"]
            file.seek(begin + first)
            dtype = getattr(torch, DTYPES[entry["dtype"]])
            count = math.prod(entry["shape"])
            flat = torch.frombuffer(bytearray(file.read(end - first)), dtype=dtype, count=count)
            tensors[name] = flat.reshape(entry["shape"])
    return tensors


def read_tensors(torch, case, path, device="cuda"):
    """({name: weight}, x, d_y), fp16. d_y is 0 if missing from the file: forward passes do not read
    it."""
    tensors = {name: x.to(device).half() for name, x in read_file(torch, path).items()}
    weights = {name: tensors[name] for name in peer_layer.shapes_of_weights(case.shape)}
    x = tensors["x"].view(case.tokens_shape)
    d_y = tensors["d_y"].view(x.shape) if "d_y" in tensors else torch.zeros_like(x)
    return weights, x, d_y
