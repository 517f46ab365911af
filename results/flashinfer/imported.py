"""Workloads of FlashInfer-Bench as command lines of sparkbench."""

import collections
import json
import re
import shlex
import struct

RAGGED = {"num_qo_heads": "--heads", "num_kv_heads": "--heads-k", "head_dim": "--headdim"}
DENSE = {"heads": "--heads", "heads_k": "--heads-k", "head_dim": "--headdim",
         "batch": "--batch", "seqlen_q": "--seqlen", "seqlen_k": "--seqlen-k"}  # fmt: skip
OWN = re.compile(r"sparkbench_attention_(fwd|bwd|fwd_bwd)_([a-z]+(?:-\d+)*)_h\d+_kv\d+_d\d+")
INTEGERS = {"I32": "i", "I64": "q"}


def read_lines(path):
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            trace = json.loads(line)
            trace["definition"], trace["workload"]["axes"], trace["workload"]["inputs"]
            yield trace
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}:{number}: no trace: {error}") from error


def definitions_in(folder):
    known = {}
    for path in sorted((folder / "definitions").rglob("*.json")):
        definition = json.loads(path.read_text("utf-8"))
        known[definition["name"]] = definition
    return known


def integers_of(path, key):
    """A tensor of integers in a safetensors file."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    entry = json.loads(data[8 : 8 + size]).get(key)
    if entry is None or entry["dtype"] not in INTEGERS:
        raise ValueError(f"{path} has no tensor '{key}' of {' or '.join(INTEGERS)}")
    begin, end = (8 + size + offset for offset in entry["data_offsets"])
    kind = INTEGERS[entry["dtype"]]
    return struct.unpack(f"<{(end - begin) // struct.calcsize(kind)}{kind}", data[begin:end])


def offsets_of(workload, name, folder):
    spec = workload["inputs"].get(name) or {}
    if spec.get("type") != "safetensors":
        raise ValueError(f"workload {workload['uuid']}: {name} is no tensor in a file")
    return integers_of(folder / spec["path"], spec["tensor_key"])


def axes_of(definition, workload):
    constants = {
        name: axis["value"] for name, axis in definition["axes"].items() if axis["type"] == "const"
    }
    return constants | workload["axes"]


def flags_of(names, axes):
    return [word for name, flag in names.items() for word in (flag, str(axes[name]))]


def scale_is_usual(workload, name, head_dim):
    spec = workload["inputs"].get(name) or {}
    return "value" not in spec or abs(spec["value"] * head_dim**0.5 - 1) < 1e-4


def ragged_line(definition, workload, folder, lengths_folder):
    axes = axes_of(definition, workload)
    ends = [offsets_of(workload, name, folder) for name in ("qo_indptr", "kv_indptr")]
    rows, keys = ([b - a for a, b in zip(of, of[1:])] for of in ends)
    file = lengths_folder / f"{workload['uuid']}.txt"
    lengths_folder.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{q} {k}\n" for q, k in zip(rows, keys)), encoding="utf-8")
    mask = "causal" if "causal" in definition["name"] else "full"
    return ["--lengths", f"file:{file}", *flags_of(RAGGED, axes), "--mask", mask, "--dropout", "0"]


def own_line(definition, workload):
    direction, mask = OWN.fullmatch(definition["name"]).groups()
    axes = axes_of(definition, workload)
    return ["--pass", direction.replace("_", "+"), *flags_of(DENSE, axes), "--mask",
            mask.replace("-", ":"), "--dropout", "0"]  # fmt: skip


def why_none(trace, known):
    definition = known.get(trace["definition"])
    if definition is None:
        return "workloads of a definition that is not in the folder"
    is_own = OWN.fullmatch(definition["name"])
    if not is_own and definition["op_type"] != "gqa_ragged":
        return f"workloads of op_type {definition['op_type']}; allowed: gqa_ragged, attention"
    scale = "softmax_scale" if is_own else "sm_scale"
    head_dim = axes_of(definition, trace["workload"])["head_dim"]
    if not scale_is_usual(trace["workload"], scale, head_dim):
        return "workloads with a softmax scale other than 1 / sqrt(head_dim)"
    return ""


def lines_of(folder, lengths_folder):
    """([command line], {why: how many workloads were left out})"""
    known, lines, left_out = definitions_in(folder), [], collections.Counter()
    files = sorted((folder / "workloads").rglob("*.jsonl"))
    if not files:
        raise ValueError(f"{folder}: no workloads/**/*.jsonl; allowed: the folder of a trace set")
    for trace in (trace for file in files for trace in read_lines(file)):
        if why := why_none(trace, known):
            left_out[why] += 1
            continue
        definition, workload = known[trace["definition"]], trace["workload"]
        if definition["op_type"] == "gqa_ragged":
            words = ragged_line(definition, workload, folder, lengths_folder)
        else:
            words = own_line(definition, workload)
        lines.append(shlex.join(["sparkbench", "sweep", *words]))
    return lines, left_out
