#!/usr/bin/env python3
"""Verifies and times PyTorch's own attention, beside sparkbench's kernels.

    sweeps/torch_peers.py [--preset paper-forward] [--kernel 'torch-*'] [--json FILE]

The back ends of torch.nn.functional.scaled_dot_product_attention, each by itself, on the cases and
by the method of `sparkbench sweep`, whose records and exit codes it gives. Inputs are normal,
fp16, [batch, seqlen, heads, head_dim] in memory, and require gradients, as in a training step.
"""

import argparse
import contextlib
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import peer_cases
import peer_record
import peer_timer

KERNELS = {
    "torch-math": "MATH",
    "torch-efficient": "EFFICIENT_ATTENTION",
    "torch-flash": "FLASH_ATTENTION",
    "torch-cudnn": "CUDNN_ATTENTION",
}
TOLERANCE_FLOOR = 2.0**-11  # half a unit in the last place of fp16
REL_FLOOR = 1e-3
CHECKED_HEADS = 4  # of the first to the last, evenly spread
GRADIENTS = ("dq", "dk", "dv")


class Attention:
    """A problem's tensors and one back end's passes over them."""

    def __init__(self, torch, case, seed, dropout_p):
        self.torch, self.case, self.dropout_p = torch, case, dropout_p
        generator = torch.Generator("cuda").manual_seed(seed)
        shape = (case.batch, case.seqlen, case.heads, case.head_dim)

        def draw():
            tensor = torch.randn(shape, generator=generator, device="cuda", dtype=torch.float16)
            return tensor.transpose(1, 2)  # a view: [batch, heads, seqlen, head_dim]

        self.inputs = [draw().requires_grad_() for _ in range(3)]
        self.d_o = draw()
        self.o = None

    def forward(self):
        backend = getattr(self.torch.nn.attention.SDPBackend, KERNELS[self.case.kernel])
        with self.torch.nn.attention.sdpa_kernel(backend):
            self.o = self.torch.nn.functional.scaled_dot_product_attention(
                *self.inputs, dropout_p=self.dropout_p, is_causal=self.case.causal
            )

    def backward(self):
        return self.torch.autograd.grad(self.o, self.inputs, self.d_o, retain_graph=True)

    def launch(self):
        """Enqueues the case's pass; a backward pass starts from the last forward's O."""
        if self.case.direction != "bwd":
            self.forward()
        if self.case.direction != "fwd":
            self.backward()

    def outputs(self):
        """{"o": ...}, or the three gradients."""
        self.forward()
        if self.case.direction == "fwd":
            return {"o": self.o.detach()}
        return dict(zip(GRADIENTS, self.backward()))


def unfused(torch, attention, head, dtype):
    """O, or gradients, of one (batch, head): matmul, masked softmax, matmul, in `dtype`."""
    q, k, v = (x.detach()[head].to(dtype).requires_grad_() for x in attention.inputs)
    scores = (q @ k.T) * (1 / attention.case.head_dim**0.5)
    if attention.case.causal:
        hidden = torch.ones(scores.shape, dtype=torch.bool, device="cuda").triu(1)
        scores = scores.masked_fill(hidden, float("-inf"))
    o = torch.softmax(scores, -1) @ v
    if attention.case.direction == "fwd":
        return {"o": o.detach()}
    return dict(zip(GRADIENTS, torch.autograd.grad(o, (q, k, v), attention.d_o[head].to(dtype))))


def errors_of(got, want):
    """Metrics of reference/error_metrics.h, of fp64 tensors of equal shape."""
    is_wrong = got.isfinite() != want.isfinite()
    both = got.isfinite() & want.isfinite()
    g, w = got[both], want[both]
    error = (g - w).abs()
    position = (got - want).abs().nan_to_num(float("inf")).argmax()
    squares = (g * g + w * w).sum().item()
    return {
        "checked_elements": want.numel(),
        "max_abs": error.max().item(),
        "mean_abs": error.mean().item(),
        "rmse": error.square().mean().sqrt().item(),
        "rel_l1": (error.sum() / w.abs().sum()).item(),
        "rel_l2": (error.square().sum() / w.square().sum()).sqrt().item(),
        "mean_rel": (error / w.abs().clamp(min=REL_FLOOR)).mean().item(),
        "max_rel": (error / w.abs().clamp(min=REL_FLOOR)).max().item(),
        "rel_floor": REL_FLOOR,
        "cosine_diff": 1 - 2 * (g * w).sum().item() / squares,
        "mismatches": (error > 1e-5 + 1e-3 * w.abs()).sum().item() + is_wrong.sum().item(),
        "nonfinite": is_wrong.sum().item(),
        "worst_index": position.item(),
        "worst_got": got.flatten()[position].item(),
        "worst_want": want.flatten()[position].item(),
        "want_max_abs": w.abs().max().item(),
    }


def checked_heads(case):
    """(batch, head) pairs."""
    pairs = case.batch * case.heads
    count = min(CHECKED_HEADS, pairs)
    chosen = sorted({round(i * (pairs - 1) / max(1, count - 1)) for i in range(count)})
    return [divmod(pair, case.heads) for pair in chosen]


def why_wrong(error, of_unfused, ratio):
    """Empty when it is acceptable; written so that NaN is not."""
    if error["nonfinite"]:
        return f"{error['nonfinite']} elements are not finite where the exact result is"
    for name, floor in (("rel_l2", 1.0), ("max_abs", error["want_max_abs"])):
        if not error[name] <= ratio * of_unfused[name] + TOLERANCE_FLOOR * floor:
            return f"{name} {error[name]:.3g} exceeds {ratio:g} x {of_unfused[name]:.3g} (unfused)"
    return ""


def position_of(flat, heads, shape):
    """(batch, row, head, dim) of an element of the checked heads, stacked."""
    rows, head_dim = shape
    which, inside = divmod(flat, rows * head_dim)
    batch, head = heads[which]
    return [batch, inside // head_dim, head, inside % head_dim]


def verify(torch, case, arguments):
    """(accuracy, why it is incorrect) without dropout, against fp64, of a sample of the heads."""
    attention = Attention(torch, case, arguments.seed, 0.0)
    outputs, again = attention.outputs(), attention.outputs()
    heads = checked_heads(case)
    exact = [unfused(torch, attention, head, torch.float64) for head in heads]
    rounded = [unfused(torch, attention, head, torch.float16) for head in heads]
    accuracy, why = {}, ""
    for name, output in outputs.items():
        want = torch.stack([of_head[name] for of_head in exact])
        got = torch.stack([output[head] for head in heads]).double()
        error = errors_of(got, want)
        of_unfused = errors_of(torch.stack([x[name] for x in rounded]).double(), want)
        problem = why_wrong(error, of_unfused, arguments.tolerance_ratio)
        why = why or (problem and f"{name}: {problem}")
        ratio = error["rel_l2"] / of_unfused["rel_l2"] if of_unfused["rel_l2"] else 0.0
        position = position_of(error.pop("worst_index"), heads, want.shape[1:])
        del error["want_max_abs"]
        accuracy[name] = {
            "output": name,
            "oracle": "exact-fp64",
            **{key: peer_record.finite(value) for key, value in error.items()},
            "worst_index": position,
            "error_ratio": peer_record.finite(ratio),
            "lse_max_abs": None,
            "dropout_kept_fraction": None,
            "mask_hash": None,
            "bitwise_repeatable": torch.equal(output, again[name]),
            "output_hash": None,
        }
    return accuracy.get("o", accuracy), why


def run_case(torch, timer, case, record, arguments):
    """Completes the record, whatever happens."""
    begin = time.perf_counter()
    try:
        if not arguments.no_verify:
            peer_record.add_accuracy(record, *verify(torch, case, arguments))
        torch.cuda.empty_cache()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        attention = Attention(torch, case, arguments.seed, case.dropout_p)
        attention.forward()
        samples, stop_reason = timer.time(attention.launch)
        peer_record.add_timing(record, samples, stop_reason, arguments.timer == "held")
        peer_record.add_memory(record, case, torch.cuda.max_memory_allocated() - before)
    except torch.cuda.OutOfMemoryError as error:
        peer_record.end_without_result(record, "failed", "E-OUT-OF-MEMORY", str(error))
    except RuntimeError as error:
        is_declined = "No available kernel" in str(error)
        code = "E-UNSUPPORTED" if is_declined else "E-RUN"
        status = "skipped" if is_declined else "failed"
        peer_record.end_without_result(record, status, code, str(error))
    record["elapsed_s"] = time.perf_counter() - begin


def describe_build(torch):
    cudnn = torch.backends.cudnn.version()
    return {
        "version": f"torch {torch.__version__}, cuDNN {cudnn}",
        "git_sha": torch.version.git_version,
        "git_dirty": None,
        "build_type": "release",
        "cxx_compiler": "unknown",
        "cuda_toolkit": torch.version.cuda,
        "cuda_archs": torch.cuda.get_arch_list(),
    }


def describe_device(torch):
    properties = torch.cuda.get_device_properties(0)
    return {
        "name": properties.name,
        "kind": "gpu",
        "arithmetic": "native",
        "sm": 10 * properties.major + properties.minor,
        "sm_count": properties.multi_processor_count,
        "l2_bytes": properties.L2_cache_size,
        "memory_bytes": properties.total_memory,
        "memory_available_bytes": torch.cuda.mem_get_info()[0],
        "sm_clock_max_mhz": None,
        "power_limit_w": None,
        "peak_tflops": None,
        "peak_gbps": None,
        "peak_source": None,
    }


def line_of(record):
    text = f"{record['id']:<64} {record['status']}"
    if record["time_ms"]:
        text += f"  {record['time_ms']['median']:.4f} ms"
    if record["tflops"]:
        text += f"  {record['tflops']:.1f} TFLOP/s"
    return text + (f"  {record['reason']['message']}" if record["reason"] else "")


def load_torch():
    """Exit status 3: as for a device that is not there."""
    try:
        import torch
        import torch.nn.attention
    except ImportError as error:
        print(f"torch_peers.py: PyTorch 2.3 or later is missing ({error})", file=sys.stderr)
        sys.exit(3)
    if not torch.cuda.is_available():
        print("torch_peers.py: PyTorch finds no CUDA device", file=sys.stderr)
        sys.exit(3)
    return torch


def duty_cycle(text):
    """From 0.01 to 1, as `sparkbench sweep --duty-cycle`."""
    value = float(text)
    if not 0.01 <= value <= 1:
        raise argparse.ArgumentTypeError(f"'{text}' is outside 0.01 to 1")
    return value


def make_parser():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    peer_cases.add_axis_flags(parser, list(KERNELS))
    parser.add_argument("--seed", type=int, default=0, help="of the inputs")
    parser.add_argument(
        "--timer",
        choices=("held", "do_bench"),
        default="held",
        help="sparkbench's method, or Triton's do_bench as it is (which minds no flag below)",
    )
    parser.add_argument("--cache", choices=("cold", "hot"), default="cold")
    parser.add_argument("--warmup-ms", type=float, default=25.0)
    parser.add_argument("--min-samples", type=int, default=20)
    parser.add_argument("--max-noise", type=float, default=0.005)
    parser.add_argument(
        "--duty-cycle", type=duty_cycle, default=0.5, help="busy part of the time"
    )
    parser.add_argument("--tolerance-ratio", type=float, default=2.0)
    parser.add_argument("--no-verify", action="store_true")
    parser.add_argument("--json", help="write the record; '-' is the standard output")
    parser.add_argument("--tag", action="append", default=[], help="K=V, kept in the record")
    parser.add_argument("--dry-run", action="store_true", help="list the cases and stop")
    return parser


def write_run(run, path):
    text = json.dumps(run, indent=2) + "\n"
    try:
        if path == "-":
            sys.stdout.write(text)
        else:
            pathlib.Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        print(f"torch_peers.py: {path}: {error}", file=sys.stderr)
        sys.exit(5)


def sweep(torch, cases, arguments, argv):
    timer = peer_timer.make_timer(torch, arguments)
    has_backward = any(case.direction != "fwd" for case in cases)
    l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
    method = peer_record.make_method(
        arguments, peer_cases.FLOP_CONVENTION, l2_bytes, has_backward
    )
    build, device = describe_build(torch), describe_device(torch)
    run = peer_record.begin_run(argv, arguments, build, device, method)
    with contextlib.suppress(KeyboardInterrupt):
        for position, case in enumerate(cases):
            record = peer_record.begin_case(case, position, arguments.seed, method)
            run_case(torch, timer, case, record, arguments)
            run["cases"].append(record)
            print(line_of(record), file=sys.stderr, flush=True)
        run["run"]["complete"] = True
    run["run"]["finished_at"] = peer_record.utc_now()
    run["run"]["exit_code"] = peer_record.exit_code_of(run)
    return run


def main(argv):
    parser = make_parser()
    arguments = parser.parse_args(argv[1:])
    try:
        cases = peer_cases.expand_cases(arguments, list(KERNELS))
    except argparse.ArgumentTypeError as error:
        parser.error(str(error))
    if arguments.dry_run:
        print("\n".join(case.id for case in cases))
        return 0
    run = sweep(load_torch(), cases, arguments, argv)
    if arguments.json:
        write_run(run, arguments.json)
    return run["run"]["exit_code"]


if __name__ == "__main__":
    sys.exit(main(sys.argv))
