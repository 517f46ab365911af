#!/usr/bin/env python3
"""A fake `sparkbench sweep --dry-run --json -` (and encoder) for tests. It plans the cases of its
own small grid in the program's format, whatever the preset."""

import argparse
import itertools
import json
import sys

PRODUCTS = {"fwd": 2, "bwd": 5, "fwd+bwd": 7}


def add_lengths(planned, lengths):
    """From "5x7+0x3": rows and keys of each sequence."""
    pairs = [[int(number) for number in pair.split("x")] for pair in lengths.split("+")]
    for name, of_each in zip(("q", "k"), zip(*pairs)):
        planned["cu_seqlens_" + name] = [0, *itertools.accumulate(of_each)]
        planned["problem"]["seqlen_" + name] = max(of_each)
    planned["problem"]["batch"] = len(pairs)
    planned["id"] += "/lengths-0123456789abcdef"
    return planned


def plan(direction, head_dim, seqlen, seqlen_k, mask, dropout_p, flags):
    batch, heads = int(flags.batch), int(flags.heads)
    heads_k = int(flags.heads_k or heads)
    pairs = batch * heads * seqlen * seqlen_k
    tensors = 2 * 2 * head_dim * (heads * seqlen + heads_k * seqlen_k)
    io_bytes = batch * (tensors + heads * 4 * seqlen)
    groups = "" if heads_k == heads else f"/hk{heads_k}"
    case_id = (
        f"unfused-fp16/{direction}/b{batch}/h{heads}/sq{seqlen}/sk{seqlen_k}/d{head_dim}"
        f"/{mask.replace('/', '~')}/p{dropout_p:g}{'' if flags.input == 'normal' else '/' + flags.input}{groups}"
    )
    return {
        "id": case_id,
        "config_hash": "0123456789abcdef",
        "kernel": "unfused-fp16",
        "problem": {
            "pass": direction,
            "batch": batch,
            "heads": heads,
            "heads_k": heads_k,
            "seqlen_q": seqlen,
            "seqlen_k": seqlen_k,
            "head_dim": head_dim,
            "causal": mask == "causal",
            "mask": mask,
            "dropout_p": dropout_p,
            "dropout_scale": flags.dropout_scale,
            "dropout_p_applied": round(dropout_p * 256) / 256,
            "scale": head_dim**-0.5,
            "seed": int(flags.seed),
            "lengths": None,
            "total_q": None,
            "total_k": None,
            "lengths_hash": None,
            "zones_hash": None,
        },
        "mask_work": {
            "pairs_visible": pairs,
            "density": 1.0,
            "pairs_executed": pairs,
            "partial_share": None,
            "analysis_us": None,
            "metadata_bytes": None,
            "why_no_plan": "an unfused computation has no tiles: it computes all pairs",
        },
        "input": flags.input,
        "input_scale": 1,
        "flops": PRODUCTS[direction] * pairs * head_dim * (1 if mask == "causal" else 2),
        "bytes": io_bytes,
        "memory_bytes": {
            "io": io_bytes, "workspace": 0, "peak": None, "predicted": io_bytes, "unfused": None,
        },
        "repro": "sparkbench sweep --device emulated-v100 --kernel unfused-fp16 --pass "
        f"{direction} --mask {mask} --headdim {head_dim} --seqlen {seqlen} --seed {flags.seed}",
    }  # fmt: skip


def add_layer(planned, rest, flags):
    """One value for every axis but the rest. FLOPs and bytes of stages are made up."""
    problem, hidden = planned["problem"], int(flags.hidden)
    problem["heads"] = problem["heads_k"] = hidden // problem["head_dim"]
    problem["layer"] = {
        "hidden": hidden, "ffn": int(flags.ffn), "activation": flags.activation,
        "norm": flags.norm, "bias": flags.bias == "true", "rest": rest,
    }  # fmt: skip
    weights = 2 * (4 * hidden * hidden + 2 * hidden * int(flags.ffn) + 4 * hidden)
    weights += 2 * (5 * hidden + int(flags.ffn)) * problem["layer"]["bias"]
    names = "qkv mha proj ln1 ff1 ff2 ln2".split()
    stage = {"flops": 1000, "bytes": 100, "launches": 1, "predicted_ms": None, "time_ms": None}
    planned["layer"] = {
        "launches": len(names), "weight_bytes": weights, "peak_bytes": 1, "attention_share": None,
        "gap_ms": None, "graph_ms": None, "stages": [{"name": name, **stage} for name in names],
        "errors": [],
    }  # fmt: skip
    parts = planned["id"].split("/")
    parts[3] = f"h{problem['heads']}"
    parts += [f"hidden{hidden}", f"ffn{flags.ffn}", flags.activation, f"norm-{flags.norm}"]
    parts += [] if problem["layer"]["bias"] else ["bias-false"]
    planned["id"] = "/".join([*parts, f"rest-{rest}"])
    planned["repro"] = planned["repro"].replace(" sweep ", " encoder ") + f" --rest {rest}"
    return planned


OF_LAYERS = {"hidden": "128", "ffn": "96", "activation": "gelu-tanh", "norm": "post", "bias": "true"}


def main(argv):
    is_layer = argv[1] == "encoder"
    if not is_layer and argv[1] != "sweep" or argv[2:6] != ["--dry-run", "--json", "-", "--device"]:
        sys.exit(f"sparkbench: these are not the flags of the peers: {argv[1:]}")
    parser = argparse.ArgumentParser(prog="sparkbench: sweep", usage="", allow_abbrev=False)
    defaults = {"pass": "fwd", "headdim": "64,128", "seqlen": "512,1024", "mask": "full,causal"}
    defaults |= {"dropout": "0,0.1", "batch": "1", "heads": "2", "seed": "0", "input": "normal"}
    defaults |= {"device": None, "kernel": None, "preset": None, "seqlen-k": None}
    defaults |= {"heads-k": None, "dropout-scale": "applied", "lengths": None}
    defaults |= {**OF_LAYERS, "rest": "fused"} if is_layer else {}
    for flag, default in defaults.items():
        parser.add_argument("--" + flag, default=default)
    flags = parser.parse_args(argv[5:])
    lists = [getattr(flags, name).split(",") for name in ("pass", "headdim", "seqlen", "mask")]
    cases = []
    for direction, head_dim, seqlen, mask, dropout in itertools.product(
        *lists, flags.dropout.split(",")
    ):
        if not seqlen.isdigit():
            sys.stderr.write(f"sparkbench: --seqlen: cannot read '{seqlen}'\n")
            return 2
        seqlen_k = int(flags.seqlen_k or seqlen)
        planned = plan(direction, int(head_dim), int(seqlen), seqlen_k, mask, float(dropout), flags)
        if is_layer:
            alike = [json.loads(json.dumps(planned)) for _ in flags.rest.split(",")]
            cases += [add_layer(one, rest, flags) for one, rest in zip(alike, flags.rest.split(","))]
        else:
            cases.append(add_lengths(planned, flags.lengths) if flags.lengths else planned)
    json.dump({"cases": cases}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
