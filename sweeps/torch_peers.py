#!/usr/bin/env python3
"""Verifies and times PyTorch's own attention for comparison with sparkbench's kernels.

    sweeps/torch_peers.py [--preset paper-forward] [--kernel 'torch-*'] [--json FILE]
    sweeps/torch_peers.py --layer encoder [--preset paper-encoder] [--kernel 'torch-*'] [--json FILE]

Runs each back end of torch.nn.functional.scaled_dot_product_attention; torch-unfused, the chain
that they replace; and spark_attention, if it is installed. Cases, method, records and exit codes
are those of `sparkbench sweep`. With --layer encoder it runs PyTorch's encoder layers on the
cases of `sparkbench encoder`. Other flags go to `sparkbench sweep --dry-run` (or encoder's),
which plans the cases.
"""

import argparse
import contextlib
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import peer_layers
import peer_libraries
import peer_masks
import peer_nvml
import peer_patterns
import peer_record
import peer_timer
import sparkbench_cases
from peer_attention import PEERS
from peer_check import Check, attention_of


def run_case(torch, timer, case, record, arguments, nvml):
    """Always completes the record."""
    begin = time.perf_counter()
    if why := peer_masks.why_unsupported(case):
        peer_record.end_without_result(record, "skipped", "E-UNSUPPORTED", why)
        return
    try:
        if why := peer_patterns.why_other_pairs(torch, case):
            peer_record.end_without_result(record, "failed", "E-MASK", why)
            return
        if not arguments.no_verify:
            peer_record.add_accuracy(record, *Check(torch, case, arguments).verify())
            if case.mask.near_misses() and record["status"] != "ok":
                return  # its mask, and so the meaning of its time, is unknown
        else:
            peer_record.leave_unverified(record, "its result was not checked")
        torch.cuda.empty_cache()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        attention = attention_of(torch, case, arguments.seed, case.problem["dropout_p"])
        attention.forward()
        if plan := getattr(attention.passes, "mask_plan", None):
            peer_record.add_mask_plan(record, plan())
        samples, stop_reason = timer.time(attention.launch)
        record["device_state"] = nvml.state()
        peer_record.add_timing(record, samples, stop_reason, arguments.timer == "held")
        peer_record.add_memory(record, case, torch.cuda.max_memory_allocated() - before)
    except torch.cuda.OutOfMemoryError as error:
        peer_record.end_without_result(record, "failed", "E-OUT-OF-MEMORY", str(error))
    except RuntimeError as error:
        is_declined = isinstance(error, NotImplementedError) or "No available kernel" in str(error)
        code = "E-UNSUPPORTED" if is_declined else "E-RUN"
        status = "skipped" if is_declined else "failed"
        peer_record.end_without_result(record, status, code, str(error))
    finally:
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


def describe_device(torch, nvml):
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
        "peak_tflops": None,
        "peak_gbps": None,
        "peak_source": None,
        **nvml.describe(),
    }


def line_of(record):
    text = f"{record['id']:<64} {record['status']}"
    if record["time_ms"]:
        text += f"  {record['time_ms']['median']:.4f} ms"
    if record["tflops"]:
        text += f"  {record['tflops']:.1f} TFLOP/s"
    return text + (f"  {record['reason']['message']}" if record["reason"] else "")


def load_torch():
    """Exit status 3, as for a missing device."""
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
    """From 0.01 to 1, as in `sparkbench sweep --duty-cycle`."""
    value = float(text)
    if not 0.01 <= value <= 1:
        raise argparse.ArgumentTypeError(f"'{text}' is outside 0.01 to 1")
    return value


def make_parser():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="Further flags, --headdim and --mask and all other axes, are `sparkbench sweep`'s, or "
        "`sparkbench encoder`'s.",
        allow_abbrev=False,
    )
    names = f"names or globs of {', '.join(PEERS)}; of layers {', '.join(peer_layers.LAYERS)}"
    parser.add_argument("--layer", choices=("encoder",), help="whole layers, not attention alone")
    parser.add_argument("--preset", help="see `sparkbench list`; default: none")
    parser.add_argument("--kernel", default="*", help=names)
    parser.add_argument("--sparkbench", help="the program, unless it is in build/ or on the PATH")
    parser.add_argument("--seed", type=int, default=0, help="of the inputs")
    parser.add_argument("--tensors", help="of a layer: a safetensors file of weights, x and d_y")
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


def runner_of(torch, arguments):
    """(function that begins a case's record, function that completes it)"""
    if arguments.layer is None:
        return peer_record.begin_case, run_case
    import peer_layer_record
    import peer_layer_run  # which needs PyTorch

    return peer_layer_record.begin_case, peer_layer_run.Runner(torch).run_case


def sweep(torch, cases, arguments, argv):
    begin, complete = runner_of(torch, arguments)
    timer = peer_timer.make_timer(torch, arguments)
    has_backward = any(case.direction != "fwd" for case in cases)
    l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
    method = peer_record.make_method(
        arguments, peer_record.FLOP_CONVENTION, l2_bytes, has_backward
    )
    nvml = peer_nvml.Nvml(peer_nvml.uuid_of(torch.cuda.get_device_properties(0)))
    build, device = describe_build(torch), describe_device(torch, nvml)
    run = peer_record.begin_run(argv, arguments, build, device, method)
    run["environment"]["driver_version"] = nvml.driver_version
    with contextlib.suppress(KeyboardInterrupt):
        for position, case in enumerate(cases):
            record = begin(case, position, method)
            record["libraries"] = peer_libraries.libraries_of(torch, case.kernel, arguments.timer)
            record["provenance"] = peer_record.provenance_of(run)
            complete(torch, timer, case, record, arguments, nvml)
            run["cases"].append(record)
            print(line_of(record), file=sys.stderr, flush=True)
        run["run"]["complete"] = True
    run["run"]["finished_at"] = peer_record.utc_now()
    run["run"]["exit_code"] = peer_record.exit_code_of(run)
    return run


def main(argv):
    arguments, flags = make_parser().parse_known_args(argv[1:])
    if arguments.tensors and arguments.layer is None:
        print("torch_peers.py: --tensors: is of layers alone; see --layer", file=sys.stderr)
        return 2
    try:
        if arguments.layer is None:
            cases = sparkbench_cases.plan_cases(arguments, flags, list(PEERS))
        else:
            cases = peer_layers.plan_layers(arguments, flags)
    except sparkbench_cases.CasesError as error:
        print(f"torch_peers.py: {error}", file=sys.stderr)
        return error.exit_code
    if arguments.dry_run:
        print("\n".join(case.id for case in cases))
        return 0
    run = sweep(load_torch(), cases, arguments, argv)
    if run["run"]["complete"]:
        for why in peer_record.why_nothing_ran(run):
            print(f"torch_peers.py: {why}", file=sys.stderr)
    if arguments.json:
        write_run(run, arguments.json)
    return run["run"]["exit_code"]


if __name__ == "__main__":
    sys.exit(main(sys.argv))
