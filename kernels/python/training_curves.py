#!/usr/bin/env python3
"""Does a model learn over these kernels as over PyTorch's math attention?

    python3 training_curves.py [--json curves.json] [--plot curves.svg]

A GPT and an encoder of four layers learn for 200 AdamW steps, seqlen 512, on a GPU: over math SDPA in
fp32 and in fp16, and over spark_attention in fp16 with FP32 and with FP16 accumulators, from three
seeds each. Exit status 1 where the loss in the end (the mean of the last 10 steps) differs from that of
math in fp16 of the same seed by more than the latter differ between seeds. It says nothing of speed.
"""

import argparse
import json
import os
import statistics
import sys

os.environ.setdefault("SPARK_ATTENTION_ALLOW_SLOW", "1")
os.environ.setdefault("SPARK_ATTENTION_GENERATION", "volta")

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

import small_models
import spark_attention as sa

TOKENS, LENGTH, BATCH, STEPS, SEEDS = 64, 512, 16, 200, (1, 2, 3)
MODELS = {"gpt": small_models.gpt_batch, "encoder": small_models.encoder_batch}


def by_math(qkv, is_causal):
    q, k, v = (tensor.transpose(1, 2) for tensor in qkv.unbind(2))
    with sdpa_kernel(SDPBackend.MATH):
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
    return out.transpose(1, 2)


def by_spark(accumulator):
    return lambda qkv, is_causal: sa.attention(*qkv.unbind(2), causal=is_causal,
                                               accumulator=accumulator)  # fmt: skip


WAYS = {
    "math fp32": (by_math, torch.float32),
    "math fp16": (by_math, torch.float16),
    "spark FP32-ACC": (by_spark("fp32"), torch.float16),
    "spark FP16-ACC": (by_spark("fp16"), torch.float16),
}


def curve(model_name, way, seed):
    attend, dtype = WAYS[way]
    is_causal = model_name == "gpt"
    torch.manual_seed(seed)
    model = small_models.Model(lambda qkv: attend(qkv, is_causal), tokens=TOKENS, length=LENGTH,
                               layers=4, width=256).cuda()  # fmt: skip
    return small_models.train(model, lambda: MODELS[model_name](TOKENS, BATCH, LENGTH), STEPS, dtype,
                              learning_rate=1e-3, device="cuda")  # fmt: skip


def in_the_end(losses):
    return statistics.fmean(losses[-10:])


def judge(curves):
    """Lines of a table, and whether all hold."""
    lines, holds = [], True
    for model, of_model in curves.items():
        reference = [in_the_end(losses) for losses in of_model["math fp16"]]
        spread = max(reference) - min(reference)
        for way, of_seeds in of_model.items():
            ends = [in_the_end(losses) for losses in of_seeds]
            off = max(abs(end - want) for end, want in zip(ends, reference))
            holds = holds and (off <= spread or not way.startswith("spark"))
            lines.append(f"{model:8} {way:15} {' '.join(f'{end:.5f}' for end in ends)}   furthest from "
                         f"math fp16: {off:.6f}, which differs by {spread:.6f} between seeds")
    return lines, holds


COLOURS = ("#7f7f7f", "#e69f00", "#0072b2", "#d55e00")  # Okabe and Ito's
STRIPE = 5.0  # points, of each colour where curves coincide, as the ways' of one seed do


def plot(curves, path):
    """Each way draws its stripes of a curve, so that all are seen where they coincide."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(10, 4), layout="constrained")
    for ax, (model, of_model) in zip(axes, curves.items()):
        for i, of_seeds in enumerate(of_model.values()):
            stripes = (i * STRIPE, (STRIPE, (len(of_model) - 1) * STRIPE))
            for losses in of_seeds:
                ax.plot(losses, color=COLOURS[i], lw=1.4, ls=stripes, dash_capstyle="butt")
        seeds = len(next(iter(of_model.values())))
        ax.set(title=f"{model}, {seeds} seeds", xlabel="step", ylabel="loss")
        ax.grid(alpha=0.3)
    handles = [plt.Line2D([], [], color=colour, lw=2) for colour in COLOURS]
    figure.legend(handles, list(WAYS), loc="outside upper center", ncols=len(WAYS), frameon=False)
    figure.supxlabel("where curves coincide their colours take turns", fontsize=9, color="#444444")
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="writes the curves")
    parser.add_argument("--plot", help="draws them: .svg or .png")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("training_curves.py: no GPU, and on a CPU the emulated V100 takes days")
    curves = {model: {way: [curve(model, way, seed) for seed in SEEDS] for way in WAYS}
              for model in MODELS}  # fmt: skip
    lines, holds = judge(curves)
    print("\n".join([f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}", *lines]))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"gpu": torch.cuda.get_device_name(), "torch": torch.__version__,
                       "curves": curves}, file)  # fmt: skip
    if arguments.plot:
        plot(curves, arguments.plot)
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
