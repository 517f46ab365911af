#!/usr/bin/env python3
"""Writes what the cycle model predicts of the kernels into this folder's pages.

    kernels/volta/predicted_tables.py build/harness/sparkbench{,-model}          # writes
    kernels/volta/predicted_tables.py build/harness/sparkbench{,-model} --check  # 1 when a page is stale

The figures are those of kernels/volta/cycles.json, which both programs hold. A table stands between
two marks, `<!-- NAME: begin -->` and `<!-- NAME: end -->`; everything else on a page is left alone.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGES = [HERE / "predicted.md", HERE.parents[1] / "README.md",
         HERE.parent / "baselines" / "acsr" / "README.md", HERE.parent / "python" / "README.md",
         *(HERE.parents[1] / page for page in ("harness/model/README.md", "results/record/README.md",
                                               "results/published/predicted/README.md"))]  # fmt: skip
PUBLISHED = HERE.parents[1] / "harness" / "model" / "published_v100.json"
CLASSES = {
    "fused-forward": "fused forward, CUTLASS in xformers",
    "chain-forward": "unfused chain forward, aligned rows",
    "chain-forward-unaligned": "the same, seqlen 82 and 197",
    "chain-backward": "unfused chain backward, aligned rows",
    "chain-backward-unaligned": "the same, seqlen 82 and 197",
    "layer-forward": "BERT-large layer forward, eager PyTorch",
    "layer-training": "the same, forward and backward",
}
NAMES = {
    "volta-fp32acc": "FP32-ACC",
    "volta-fp16acc": "FP16-ACC",
}
PASSES = {"fwd": "forward", "bwd": "backward"}
TILES = (32, 64, 80, 96, 128, 256)  # columns of the products: kernels/volta/instances.h
# Tiles that have an instance for exactly as many columns, and a "/padded" one for fewer.
PADDED = {"bwd": (64,), "bwd-dq": (64, 128)}


def ask(program, *arguments):
    run = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        print(run.stderr, end="", file=sys.stderr)
        sys.exit(2)
    return json.loads(run.stdout)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def with_band(band, scale=1.0, form="{:.0f}"):
    low, likely, high = (form.format(scale * band[end]) for end in ("low", "likely", "high"))
    return f"{likely} ({low}-{high})"


def model_error(classes):
    """As sparkbench says it below its tables: results/study/prediction_check.cc."""

    def error_of(name):
        found = [each for each in classes if each["class"] == name]
        errors = sum(each["points"] * each["mean_error"] for each in found)
        return round(100 * errors / sum(each["points"] for each in found))

    return (
        f"On published V100 times the model is off by {error_of('fused-forward')} % in the mean (fused forward), "
        f"{error_of('chain-forward')} and {error_of('chain-backward')} % (unfused forward, backward)."
    )


def published(classes):
    """The model against times that others published: `sparkbench-model against`."""
    rows = []
    for each in classes:
        rows.append([
            CLASSES[each["class"]] + (", held out" if each["held_out"] else ""),
            str(each["points"]), f"{each['mean_ratio']:.2f}", f"{100 * each['mean_error']:.0f} %",
            f"{each['worst_ratio']:.2f}", f"{each['in_band']}",
        ])  # fmt: skip
    head = ["", "points", "mean ratio", "mean error", "worst ratio", "inside the band"]
    return table(head, rows)


def main_loops(instances):
    """Share of tensor peak in the main loop, per cent."""
    shares = {each["kernel"]: each["likely_tensor_share"] for each in instances}
    rows = []
    for way, of_pass in PASSES.items():
        for kernel, name in NAMES.items():
            ids = [f"{kernel}/{way}/d{dim}{drop}" for drop in ("", "/dropout") for dim in (64, 128)]
            if all(each in shares for each in ids):
                rows.append([f"{of_pass} {name}"] + [with_band(shares[i], 100) for i in ids])
    return table(["", "d64", "d128", "d64, dropout", "d128, dropout"], rows)


# Where a gradient's bits must not depend on the order of blocks, a kernel has dK and dV, one dQ.
GRADIENTS = {**{way: (way, "") for way in PASSES}, "dK, dV alone": ("bwd", "/deterministic"),
             "dQ alone": ("bwd-dq", "")}  # fmt: skip


def tiles(instances):
    """The same by columns of a tile, without dropout and with it."""
    shares = {each["kernel"]: each["likely_tensor_share"]["likely"] for each in instances}
    rows = []
    for label, (way, suffix) in GRADIENTS.items():
        for kernel, name in NAMES.items():
            pairs = [
                [f"{kernel}/{way}/d{dim}{drop}{suffix}" for drop in ("", "/dropout")]
                for dim in TILES
            ]
            if all(each in shares for pair in pairs for each in pair):
                rows.append([f"{PASSES.get(label, label)} {name}"] + [
                    ", ".join(f"{100 * shares[each]:.0f}" for each in pair) for pair in pairs
                ])  # fmt: skip
    return table(["", *(f"d{dim}" for dim in TILES)], rows)


def packed(instances):
    """The same of packed sequences, FP32-ACC, and of the instances that pad as many columns."""
    shares = {each["kernel"]: each["likely_tensor_share"]["likely"] for each in instances}
    columns = [(64, ""), (64, "/dropout"), (96, ""), (128, ""), (128, "/dropout")]
    rows = []
    for label, (way, suffix) in GRADIENTS.items():
        row = [PASSES.get(label, label)]
        for dim, drop in columns:
            kinds = ("/packed", padding_of(way, dim))
            ids = [f"volta-fp32acc/{way}/d{dim}{drop}{kind}{suffix}" for kind in kinds]
            row.append(", ".join(f"{100 * shares[each]:.0f}" for each in ids))
        rows.append(row)
    return table(["", *(f"d{dim}{drop.replace('/', ', ')}" for dim, drop in columns)], rows)


def sparse(instances):
    """The same of the loops over a pattern's full tiles, and of those that know no list."""
    shares = {each["kernel"]: each["likely_tensor_share"]["likely"] for each in instances}
    rows = []
    columns = [(dim, drop) for drop in ("", "/dropout") for dim in (64, 128, 256)]
    for way, of_pass in {**PASSES, "bwd-dq": "dQ alone"}.items():
        for kernel, name in NAMES.items():
            ids = [f"{kernel}/{way}/d{dim}{drop}" for dim, drop in columns]
            if all(each in shares for each in ids):
                rows.append([f"{of_pass} {name}"] + [
                    f"{100 * shares[f'{each}/sparse']:.0f}, {100 * shares[each]:.0f}" for each in ids
                ])  # fmt: skip
    return table(["", *(f"d{dim}{drop.replace('/', ', ')}" for dim, drop in columns)], rows)


# With a sink a window is a pattern, and not the mask that kernels without lists know.
PATTERNS = ("window:1024+sink:1", "window:256+sink:1", "window:128+sink:1", "blocked:128",
            "strided:16", "strided:128", "window:128+causal-strided:128",
            "dilated:128:4", "nd:128x128:40x40")  # fmt: skip


def pattern_times(program):
    """Useful TFLOP/s at 16k, likely, forward and backward."""
    columns = [(way, dim) for dim in (64, 128, 256) for way in PASSES]
    rows = []
    for mask in PATTERNS:
        row = [f"`{mask}`"]
        for way, dim in columns:
            sweep = ["sweep", "--kernel", "volta-fp32acc", "--pass", way, "--headdim", str(dim),
                     "--seqlen", "16k", "--batch", "1", "--heads", str(2048 // dim),
                     "--mask", mask, "--dropout", "0", "--device", "emulated-v100", "--dry-run",
                     "-q", "--json", "-"]  # fmt: skip
            (case,) = ask(program, *sweep)["cases"]
            row.append(with_band(tflops_of(case)))
        rows.append(row)
    return table(["", *(f"{PASSES[way]}, d{dim}" for way, dim in columns)], rows)


CHAIN_PATTERNS = ("window:1024", "window:256", "window:128", "band:128:128", "blocked:128",
                  "strided:128")  # fmt: skip


def chain_times(program):
    """Likely milliseconds at 16k of the unfused chain, of the fused kernel, and their ratio."""
    columns = [(way, dim) for way in PASSES for dim in (64, 128)]
    sweep = ["sweep", "--device", "emulated-v100", "--preset", "paper-forward", "--seqlen", "16k",
             "--kernel", "acsr-unfused,volta-fp32acc", "--dropout", "0", "--pass", ",".join(PASSES),
             "--mask", ",".join(CHAIN_PATTERNS), "--dry-run", "-q", "--json", "-"]  # fmt: skip
    likely = {}
    for case in ask(program, *sweep)["cases"]:
        problem = case["problem"]
        key = (case["kernel"], problem["mask"], problem["pass"], problem["head_dim"])
        likely[key] = case["predicted"]["time_ms"]["likely"]
    rows = []
    for mask in CHAIN_PATTERNS:
        row = [f"`{mask}`"]
        for column in columns:
            chain, fused = (
                likely[kernel, mask, *column] for kernel in ("acsr-unfused", "volta-fp32acc")
            )
            row.append(f"{chain:.2f} / {fused:.2f} = {chain / fused:.1f}")
        rows.append(row)
    return table(["", *(f"{PASSES[way]}, d{dim}" for way, dim in columns)], rows)


def padding_of(way, tile):
    """The end of the id of an instance that serves fewer columns than its tile has."""
    return "/padded" if tile in PADDED.get(way, ()) else ""


def instance_of(way, head_dim, drop):
    """What tells the instance of a head_dim apart, and the columns that it multiplies."""
    tile = next(columns for columns in TILES if head_dim <= columns)
    return f"d{tile}{drop}{padding_of(way, tile) if head_dim < tile else ''}", tile


def head_dims(instances):
    """Share of tensor peak by useful FLOPs: those of padding are none."""
    shares = {each["kernel"]: each["likely_tensor_share"] for each in instances}
    rows = []
    for head_dim in (16, 32, 40, 48, 64, 72, 80, 96, 112, 128, 160, 192, 224, 256):
        row = [str(head_dim), f"d{instance_of('fwd', head_dim, '')[1]}"]
        for way in PASSES:
            for drop in ("", "/dropout"):
                name, tile = instance_of(way, head_dim, drop)
                useful = 100 * head_dim / tile
                row.append(with_band(shares[f"volta-fp32acc/{way}/{name}"], useful))
        rows.append(row)
    head = ["head_dim", "instance", "forward", "with dropout", "backward", "with dropout"]
    return table(head, rows)


def tflops_of(case):
    """Of the useful FLOPs; the slow end of the time is the low end of the rate."""
    ms = case["predicted"]["time_ms"]
    rate = case["flops"] / 1e9
    return {"low": rate / ms["high"], "likely": rate / ms["likely"], "high": rate / ms["low"]}


def selected(cases, **wanted):
    """By sequence length: the cases whose problem has these values."""
    return {
        case["problem"]["seqlen_q"]: case
        for case in cases
        if all({**case["problem"], **case}[key] == value for key, value in wanted.items())
    }


def by_length(cases, way, mask, cell):
    """A row for each kernel, head dimension and dropout."""
    lengths = sorted({case["problem"]["seqlen_q"] for case in cases})
    rows = []
    for kernel, name in NAMES.items():
        for dropout in (0.0, 0.1):
            for dim in (64, 128):
                found = selected(cases, kernel=kernel, head_dim=dim, mask=mask, dropout_p=dropout)
                if found:
                    label = f"{name} d{dim}" + (", dropout" if dropout else "")
                    rows.append([label] + [cell(found[length]) for length in lengths])
    return table([f"{PASSES[way]}, {mask}"] + [str(length) for length in lengths], rows)


def speedup_cell(case):
    faster = case["predicted"]["speedup"]
    return with_band(faster, form="{:.1f}") if faster else "-"


# A layer of a causal language model in training.
TRAINING = (
    "sweep --kernel volta-fp32acc --pass fwd,fwd+bwd --headdim 64,128 --seqlen 1k,2k,4k --causal true "
    "--dropout 0.1 --total-tokens 16384 --hidden 2048 --batch auto --heads auto "
    "--device emulated-v100 --dry-run"
).split()


def training(cases):
    """Milliseconds, and times the unfused computation."""
    rows = []
    for way, name in (("fwd", "forward"), ("fwd+bwd", "training step")):
        for dim in (64, 128):
            found = [case for case in cases
                     if case["problem"]["pass"] == way and case["problem"]["head_dim"] == dim]  # fmt: skip
            found.sort(key=lambda case: case["problem"]["seqlen_q"])
            rows.append([f"{name}, head_dim {dim}"] + [
                f"{with_band(case['predicted']['time_ms'], form='{:.1f}')} ms, {speedup_cell(case)} times"
                for case in found])  # fmt: skip
    return table(["seqlen", "1024", "2048", "4096"], rows)


def headline(cases, error):
    case = selected(cases, kernel="volta-fp32acc", head_dim=64, mask="full", dropout_p=0.0)[4096]
    rate, faster = tflops_of(case), case["predicted"]["speedup"]
    return (
        f"By that model FP32-ACC forward at head_dim 64 and seqlen 4096, full mask, no dropout, is likely to reach "
        f"{rate['likely']:.0f} TFLOP/s\n({rate['low']:.0f} to {rate['high']:.0f}), "
        f"{faster['likely']:.1f} times the unfused computation ({faster['low']:.1f} to "
        f"{faster['high']:.1f}).\n{error}"
    )


def tables(program, model):
    """Texts by the name of their marks."""
    instances = ask(model, "predict", "--json")["instances"]
    texts = {"main loops": main_loops(instances), "head dims": head_dims(instances),
             "tiles": tiles(instances), "packed": packed(instances),
             "sparse": sparse(instances), "pattern times": pattern_times(program),
             "chain times": chain_times(program)}  # fmt: skip
    classes = ask(model, "against", str(PUBLISHED), "--json")["classes"]
    texts["published"], texts["model error"] = published(classes), model_error(classes)
    texts["training"] = training(ask(program, *TRAINING, "-q", "--json", "-")["cases"])
    for way, preset in (("fwd", "paper-forward"), ("bwd", "paper-backward")):
        sweep = ["sweep", "--device", "emulated-v100", "--preset", preset, "--dry-run", "-q"]
        every = ask(program, *sweep, "--json", "-")["cases"]
        cases = [case for case in every if case["kernel"] in NAMES and case["predicted"]]
        for mask in ("full", "causal"):
            texts[f"{PASSES[way]} {mask}"] = by_length(
                cases, way, mask, lambda case: with_band(tflops_of(case))
            )
        texts[f"{PASSES[way]} speedup"] = by_length(cases, way, "full", speedup_cell)
        if way == "fwd":
            texts["headline"] = headline(cases, texts["model error"])
    return texts


def filled(page, texts):
    def put(match):
        name = match.group(1)
        return f"<!-- {name}: begin -->\n{texts[name]}\n<!-- {name}: end -->"

    names = "|".join(map(re.escape, texts))
    marks = rf"<!-- ({names}): begin -->\n.*?<!-- \1: end -->"
    return re.sub(marks, put, page, flags=re.DOTALL)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", help="sparkbench")
    parser.add_argument("model", help="sparkbench-model")
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    texts = tables(arguments.program, arguments.model)
    pages = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    for name in texts:
        if f"<!-- {name}: begin -->" not in pages:
            sys.exit(f"no page has the marks of {name}")
    stale = []
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        new = filled(page, texts)
        if new == page:
            continue
        stale.append(path)
        if not arguments.check:
            path.write_text(new, encoding="utf-8")
    for path in stale:
        print(f"{path.relative_to(HERE.parents[1])} {'is stale' if arguments.check else 'written'}")
    sys.exit(1 if arguments.check and stale else 0)


if __name__ == "__main__":
    main()
