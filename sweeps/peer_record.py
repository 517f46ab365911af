"""Records of peers, as results/sparkbench.run.schema.json describes them."""

import datetime
import fnmatch
import json
import math
import os
import platform
import statistics

MAX_SAMPLES = 1000
MIN_SECONDS = 0.3  # of sampling per case
MAX_SECONDS = 10.0
BLOCK_SAMPLES = 10  # the stop rule wants their median to repeat
LEAST_BLOCKS = 5
NORMAL_QUARTILE_RANGE = 2 * statistics.NormalDist().inv_cdf(0.75)  # third quartile - first
REFERENCES = ("torch-unfused", "torch-math")
FLOP_CONVENTION = (  # sweeps/work.h
    "fwd: 4*B*H*Sq*Sk*D, halved when causal (4*D per visible pair when Sq != Sk); bwd: 2.5 times "
    "fwd; fwd+bwd: 3.5 times fwd"
)
MASK_WARNING = {
    "code": "W-OWN-DROPOUT-MASK",
    "message": "the kernel draws a dropout mask of its own: its errors are those of the same "
    "problem without dropout",
    "value": None,
}


def fnv1a(data):
    """64 bits, 16 hexadecimal digits."""
    value = 0xCBF29CE484222325
    for byte in data.encode():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return f"{value:016x}"


def quantile(ordered, q):
    """Linear interpolation between order statistics."""
    position = q * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def relative_deviation(samples):
    return statistics.stdev(samples) / statistics.fmean(samples) if len(samples) > 1 else 0.0


def relative_median_error(samples):
    """Standard error of the median / median, from the quartiles, as in results/study/statistics.h.
    """
    if len(samples) < 2:
        return 0.0
    ordered = sorted(samples)
    deviation = (quantile(ordered, 0.75) - quantile(ordered, 0.25)) / NORMAL_QUARTILE_RANGE
    error = math.sqrt(math.pi / 2) * deviation / math.sqrt(len(samples))
    return error / quantile(ordered, 0.5)


def relative_median_error_of_blocks(samples):
    """The larger of the error over the samples and the error over the medians of their blocks."""
    blocks = range(0, len(samples) - BLOCK_SAMPLES + 1, BLOCK_SAMPLES)
    medians = [statistics.median(samples[first : first + BLOCK_SAMPLES]) for first in blocks]
    return max(relative_median_error(samples), relative_median_error(medians))


def relative_drift(samples):
    """|median of the second half - median of the first half| / median of all."""
    half = len(samples) // 2
    if half == 0:
        return 0.0
    difference = statistics.median(samples[-half:]) - statistics.median(samples[:half])
    return abs(difference) / statistics.median(samples)


def why_stop(samples, seconds, arguments):
    """"time", "noise", "samples", or None to continue: the rule of harness/timing/stop_rule.h."""
    is_full = len(samples) >= MAX_SAMPLES
    is_enough = len(samples) >= arguments.min_samples and seconds >= MIN_SECONDS
    if is_full or is_enough:
        has_blocks = len(samples) >= LEAST_BLOCKS * BLOCK_SAMPLES
        is_quiet = relative_median_error_of_blocks(samples) <= arguments.max_noise
        if has_blocks and is_quiet and relative_drift(samples) <= 2 * arguments.max_noise:
            return "noise"
    if is_full:
        return "samples"
    return "time" if seconds >= MAX_SECONDS else None


def summarize(samples):
    ordered = sorted(samples)
    return {
        "median": quantile(ordered, 0.5),
        "mean": statistics.fmean(samples),
        "min": ordered[0],
        "max": ordered[-1],
        "stdev": statistics.stdev(samples) if len(samples) > 1 else 0.0,
        "q1": quantile(ordered, 0.25),
        "q3": quantile(ordered, 0.75),
        "samples": list(samples),
    }


def finite(value):
    """None for a number that is not finite."""
    return value if math.isfinite(value) else None


def mask_work_of(case):
    """The mask's visible work; for the reference that stands in for the peers, nothing else."""
    plan = "pairs_executed partial_share analysis_us metadata_bytes".split()
    why = f"{case.kernel} tells of no plan of tiles"
    return {**case.planned["mask_work"], **dict.fromkeys(plan), "why_no_plan": why}


def add_mask_plan(record, plan):
    """For a peer with a block plan: peer_flex.py, peer_bsr.py."""
    record["mask_work"].update(plan, why_no_plan=None)


def begin_case(case, position, method):
    """The fields of case `position` of the sweep that are known before it runs. PyTorch applies
    dropout_p without rounding."""
    seed = case.problem["seed"]
    return {
        "id": case.id,
        "config_hash": fnv1a(f"{case.id}\nseed={seed}\n{json.dumps(method, sort_keys=True)}"),
        "kernel": case.kernel,
        "role": "reference" if case.kernel in REFERENCES else "fused",
        "accumulator": "fp32",
        "problem": {**case.problem, "dropout_p_applied": case.problem["dropout_p"]},
        "status": "ok",
        "reason": None,
        "valid": True,
        "warnings": [],
        "time_ms": None,
        "noise": None,
        "sampling": None,
        "clock_mhz": None,
        "flops": case.planned["flops"],
        "bytes": case.planned["bytes"],
        "tflops": None,
        "gbps": None,
        "peak_fraction": None,
        "bandwidth_fraction": None,
        "memory_bytes": None,
        "accuracy": None,
        "emulation": None,
        "speedup": None,
        "repro": case.repro,
        "device": "cuda:0",
        "position": position,
        "elapsed_s": None,
        "libraries": None,
        "device_state": None,
        "provenance": None,
        "mask_work": mask_work_of(case),
        "input": case.planned["input"],
        "input_scale": case.planned["input_scale"],
    }


def add_accuracy(record, accuracy, why_incorrect, warnings=()):
    """`accuracy` is that of o, or {"dq": ..., "dk": ..., "dv": ...} and perhaps "o"."""
    record["accuracy"] = accuracy
    record["warnings"] += warnings
    if record["problem"]["dropout_p"] > 0:
        record["warnings"].append(MASK_WARNING)
    if why_incorrect:
        record["status"] = "incorrect"
        record["reason"] = {"code": "E-INCORRECT", "message": why_incorrect}


def leave_unverified(record, why):
    """For a case that runs but whose result is not checked."""
    record["status"] = "unverified"
    record["reason"] = {"code": "E-UNVERIFIED", "message": why}


def add_timing(record, samples, stop_reason, is_held=True):
    """An incorrect case keeps its time and gets no throughput."""
    record["time_ms"] = summarize(samples)
    record["noise"] = relative_deviation(samples)
    record["sampling"] = {
        "count": len(samples),
        "stop_reason": stop_reason,
        "median_error": relative_median_error_of_blocks(samples),
        "flagged": 0,
        "held": is_held,
    }
    seconds = record["time_ms"]["median"] * 1e-3
    record["gbps"] = record["bytes"] / seconds * 1e-9
    if record["status"] != "incorrect":
        record["tflops"] = record["flops"] / seconds * 1e-12


def add_memory(record, case, peak_bytes):
    """PyTorch allocates without a prediction; the peak is its allocator's."""
    workspace = max(0, peak_bytes - case.io_bytes)
    record["memory_bytes"] = {
        "io": case.io_bytes,
        "workspace": workspace,
        "peak": peak_bytes,
        "predicted": case.io_bytes,
        "unfused": None,
    }


def end_without_result(record, status, code, message):
    """`status` is "skipped" or "failed"."""
    record["status"] = status
    record["reason"] = {"code": code, "message": message}


def utc_now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0].split(":", 1)[1].strip() if names else platform.machine()


def describe_sampling(arguments, l2_bytes):
    """Null for Triton's do_bench, which decides by itself."""
    if arguments.timer == "do_bench":
        names = "cache flush_bytes warmup_ms min_samples max_noise min_seconds max_seconds"
        names += " block_samples duty_cycle"
        return {**dict.fromkeys(names.split()), "held": False}
    return {
        "cache": arguments.cache,
        "flush_bytes": 2 * l2_bytes if arguments.cache == "cold" else 0,
        "warmup_ms": arguments.warmup_ms,
        "min_samples": arguments.min_samples,
        "max_noise": arguments.max_noise,
        "min_seconds": MIN_SECONDS,
        "max_seconds": MAX_SECONDS,
        "held": True,
        "block_samples": BLOCK_SAMPLES,
        "duty_cycle": arguments.duty_cycle,
    }


def make_method(arguments, flop_convention, l2_bytes, has_backward):
    return {
        **describe_sampling(arguments, l2_bytes),
        "timeout_s": None,
        "statistic": "median",
        "flop_convention": flop_convention,
        "input": "tensors" if arguments.tensors else "normal",
        "input_file": os.path.basename(arguments.tensors) if arguments.tensors else None,
        "input_hash": None,
        "oracle": None if arguments.no_verify else "exact-fp64",
        "tolerance_ratio": None if arguments.no_verify else arguments.tolerance_ratio,
        "deterministic": False if has_backward else None,
    }


def begin_run(argv, arguments, build, device, method):
    started_at = utc_now()
    return {
        "schema": {"name": "sparkbench.run", "version": "1.10.0"},
        "run": {
            "id": fnv1a(f"{started_at}{argv}{os.getpid()}"),
            "started_at": started_at,
            "finished_at": None,
            "argv": list(argv),
            "resolved": {
                name: str(value) for name, value in vars(arguments).items() if value is not None
            },
            "tags": dict(tag.split("=", 1) for tag in arguments.tag),
            "seed": arguments.seed,
            "complete": False,
            "exit_code": None,
            "resumed_from": None,
            "merged_from": None,
        },
        "build": build,
        "environment": {
            "os": platform.platform(),
            "cpu": cpu_name(),
            "driver_version": None,
            "cuda_driver": None,
            "cuda_runtime": build["cuda_toolkit"],
            "cublas_version": None,
            "device": device,
        },
        "method": method,
        "cases": [],
    }


def provenance_of(run):
    """For the cases that the run measures: results/record/provenance.h."""
    build, environment = run["build"], run["environment"]
    return {
        "run_id": run["run"]["id"],
        "version": build["version"],
        "git_sha": build["git_sha"],
        "git_dirty": build["git_dirty"],
        "device_name": environment["device"]["name"],
        "device_kind": environment["device"]["kind"],
        "device_uuid": environment["device"].get("uuid"),
        "driver_version": environment["driver_version"],
    }


def why_nothing_ran(run):
    """One line for each name or glob of --kernel of which no case ran: session/nothing_ran.h."""
    whys = []
    for glob in run["run"]["resolved"]["kernel"].split(","):
        cases = [case for case in run["cases"] if fnmatch.fnmatchcase(case["kernel"], glob)]
        if cases and all(case["status"] == "skipped" for case in cases):
            reason = cases[0]["reason"]["message"]
            whys.append(f"--kernel: '{glob}': none of its {len(cases)} cases ran: {reason}")
    return whys


def exit_code_of(run):
    """1: a finding; 4: a case failed; 2: a kernel never ran; 130: interrupted."""
    statuses = {case["status"] for case in run["cases"]}
    if not run["run"]["complete"]:
        return 130
    if "incorrect" in statuses or "failed" in statuses:
        return 1 if "incorrect" in statuses else 4
    return 2 if why_nothing_ran(run) else 0
