"""A layer's part of a record: results/sparkbench.run.schema.json, `layer` of a case."""

import peer_layers
import peer_record
from peer_layer_stages import STAGES

NO_LAUNCHES = {
    "code": "W-NO-LAUNCHES",
    "message": "PyTorch's profiler sees no kernels here: the record has no `layer`, whose launches "
    "it counts",
    "value": None,
}


def begin_case(case, position, method):
    """As for attention, for a case whose rest is PyTorch's too."""
    record = peer_record.begin_case(case, position, method)
    record["role"] = "reference" if case.kernel == peer_layers.REFERENCE else "fused"
    record["layer"] = None
    return record


def add_layer(record, case, launches, peak_bytes, errors):
    """`peak_bytes` excludes the weights. Stages are added later, for an eager layer only."""
    weight_bytes = case.planned["layer"]["weight_bytes"]
    peer_record.add_memory(record, case, weight_bytes + peak_bytes)
    if launches == 0:
        record["warnings"].append(NO_LAUNCHES)
        return
    record["layer"] = {
        "launches": launches,
        "weight_bytes": weight_bytes,
        "peak_bytes": peak_bytes,
        "attention_share": None,
        "gap_ms": None,
        "graph_ms": None,
        "stages": [],
        "errors": errors,
    }


def add_stages(record, case, launches, times):
    """From {stage: kernels} and {stage: median ms}. FLOPs and bytes come from the plan, for a layer
    that runs one operation at a time."""
    planned = {stage["name"]: stage for stage in case.planned["layer"]["stages"]}
    record["layer"]["stages"] = [
        {
            "name": name,
            "flops": planned[name]["flops"],
            "bytes": planned[name]["bytes"],
            "launches": launches[name],
            "predicted_ms": None,
            "time_ms": times[name],
        }
        for name in STAGES
    ]
    total = sum(times.values())
    record["layer"]["attention_share"] = times["mha"] / total
    record["layer"]["gap_ms"] = record["time_ms"]["median"] - total
