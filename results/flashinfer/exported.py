"""Runs as a trace set: definitions/, workloads/ and traces/."""

import collections
import json
import math
import pathlib
import uuid

from . import definitions

OP = "attention"
# By the status of a case, or the code of its reason.
STATUSES = {"ok": "PASSED", "incorrect": "INCORRECT_NUMERICAL", "failed": "RUNTIME_ERROR"}
NOT_EVALUATED = {
    "skipped": "cases that were skipped",
    "unverified": "cases that were not verified",
    "predicted": "cases that were predicted",
}


def read_run(path):
    file = pathlib.Path(path)
    file = file / "run.json" if file.is_dir() else file
    try:
        run = json.loads(file.read_text("utf-8"))
        run["cases"], run["environment"]["device"]["name"], run["run"]["started_at"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"RUN {path}: {error or type(error).__name__}; allowed: a folder of --out, or a file of "
            "--json"
        ) from error
    return run


def workload_of(problem):
    names = ["q", "k", "v"] + (["d_o"] if problem["pass"] != "fwd" else [])
    key = {name: problem[name] for name in (*definitions.VARIABLE, "scale", "seed")}
    known = json.dumps([definitions.name_of(problem), key], sort_keys=True)
    return {
        "uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, "sparkbench:" + known)),
        "axes": {name: problem[name] for name in definitions.VARIABLE},
        "inputs": {
            **{name: {"type": "random"} for name in names},
            "softmax_scale": {"type": "scalar", "value": problem["scale"]},
        },
    }


def accuracies_of(case):
    accuracy = case["accuracy"]
    if not accuracy:
        return []
    each = [accuracy] if "output" in accuracy else accuracy.values()
    return [known for known in each if known]


def largest(accuracies, metric):
    """NaN, as FlashInfer-Bench spells it, if an output is not finite."""
    values = [accuracy[metric] for accuracy in accuracies]
    is_finite = all(value is not None and math.isfinite(value) for value in values)
    return max(values) if is_finite else "NaN"


def correctness_of(case):
    accuracies = accuracies_of(case)
    extra = ("rel_l2", "error_over_unfused", "bitwise_repeatable")
    return {
        "max_relative_error": largest(accuracies, "max_rel"),
        "max_absolute_error": largest(accuracies, "max_abs"),
        "extra": {each["output"]: {name: each.get(name) for name in extra} for each in accuracies},
    }


def performance_of(case):
    """0 for a reference that was not timed beside the case: the default there."""
    latency, speedup = case["time_ms"]["median"], case["speedup"]
    return {
        "latency_ms": latency,
        "reference_latency_ms": speedup["over_median_ms"] if speedup else 0.0,
        "speedup_factor": speedup["ratio"] if speedup else 0.0,
    }


def status_of(case):
    reason = (case["reason"] or {}).get("code")
    if reason == "E-TIMEOUT":
        return "TIMEOUT"
    if case["status"] == "incorrect" and not accuracies_of(case):
        return "RUNTIME_ERROR"  # another finding than an output's error
    return STATUSES[case["status"]]


def log_of(case):
    reason = case["reason"]
    lines = [f"{reason['code']}: {reason['message']}"] if reason else []
    lines += [f"{warning['code']}: {warning['message']}" for warning in case["warnings"]]
    return "\n".join([*lines, f"repeat: {case['repro']}"])


def environment_of(case, run):
    provenance = case.get("provenance") or {}
    libraries = {
        "sparkbench": provenance.get("version") or run["build"]["version"],
        "driver": provenance.get("driver_version") or run["environment"]["driver_version"],
        **(case.get("libraries") or {}),
    }
    return {
        "hardware": provenance.get("device_name") or run["environment"]["device"]["name"],
        "libs": {name: str(version) for name, version in libraries.items() if version},
    }


def why_no_trace(case):
    if case["status"] in NOT_EVALUATED:
        return NOT_EVALUATED[case["status"]]
    if case["status"] == "ok" and not (case["time_ms"] and case["valid"]):
        return "correct cases without a valid time"
    return definitions.why_none(case)


def trace_of(case, run):
    status = status_of(case)
    evaluation = {
        "status": status,
        "environment": environment_of(case, run),
        "timestamp": run["run"]["started_at"],
        "log": log_of(case),
        "correctness": correctness_of(case) if status in ("PASSED", "INCORRECT_NUMERICAL") else None,
        "performance": performance_of(case) if status == "PASSED" else None,
    }
    return {
        "definition": definitions.name_of(case["problem"]),
        "workload": workload_of(case["problem"]),
        "solution": case["kernel"],
        "evaluation": evaluation,
    }


def write_lines(path, objects):
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(each, sort_keys=True, allow_nan=False) + "\n" for each in objects)
    path.write_text("".join(lines), encoding="utf-8")


def export(paths, folder):
    """(how many traces, {why: how many cases were left out})"""
    traces, known = collections.defaultdict(list), {}
    left_out = collections.Counter()
    for path in paths:
        run = read_run(path)
        for case in run["cases"]:
            if why := why_no_trace(case):
                left_out[why] += 1
                continue
            trace = trace_of(case, run)
            traces[trace["definition"]].append(trace)
            known[trace["definition"]] = definitions.definition_of(case["problem"])
    for name, of_definition in traces.items():
        definition = folder / "definitions" / OP / f"{name}.json"
        definition.parent.mkdir(parents=True, exist_ok=True)
        definition.write_text(json.dumps(known[name], indent=2) + "\n", encoding="utf-8")
        write_lines(folder / "traces" / OP / f"{name}.jsonl", of_definition)
        workloads = {trace["workload"]["uuid"]: trace["workload"] for trace in of_definition}
        write_lines(
            folder / "workloads" / OP / f"{name}.jsonl",
            ({"definition": name, "workload": each, "solution": None, "evaluation": None}
             for each in workloads.values()),
        )  # fmt: skip
    return sum(map(len, traces.values())), left_out
