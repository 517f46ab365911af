"""Cases of runs in the form that figures need, from run.json, a file of --json, a folder of --out,
or a CSV."""

import csv
import dataclasses
import json
import math
import pathlib

GRADIENTS = ("dq", "dk", "dv")

# Two cases have the same problem if these agree, by the names of --where. The kernel is separate.
AXES = (
    "device",
    # The attention's model, in a preset that names models; None otherwise.
    "model",
    "pass",
    "head_dim",
    "mask",
    "dropout",
    "dropout_scale",
    "dtype",
    "layout",
    "input",
    "input_scale",
    "batch",
    "heads",
    "heads_k",
    "seqlen",
    "seqlen_k",
    "lengths",
    # For an encoder layer; None for attention by itself.
    "hidden",
    "ffn",
    "activation",
    "norm",
    "bias",
    "rest",
)

# Marks in place of a bar or a point, by the code of a record's `reason`.
MARKS = {
    "E-OUT-OF-MEMORY": "OOM",
    "E-OOM-PREDICTED": "OOM",
    "E-UNSUPPORTED": "n/s",
    "E-TIMEOUT": "timeout",
    "E-ONLY-PREDICTED": "",
}
MARK_MEANINGS = {
    "OOM": "out of memory",
    "n/s": "not supported",
    "wrong": "incorrect, so not timed",
    "failed": "did not run",
    "–": "not in the run",
}


@dataclasses.dataclass(frozen=True)
class Interval:
    """A value and its uncertainty on either side."""

    low: float
    value: float
    high: float

    def inverse(self, factor):
        return Interval(factor / self.high, factor / self.value, factor / self.low)

    def over(self, other):
        """The ratio, with the uncertainty of both."""
        return Interval(self.low / other.high, self.value / other.value, self.high / other.low)

    def around(self, value):
        """The same relative uncertainty around another value."""
        factor = value / self.value
        return Interval(self.low * factor, value, self.high * factor)


@dataclasses.dataclass(frozen=True)
class Case:
    run: str  # the user's name for the run
    id: str
    kernel: str
    is_gpu: bool
    axes: dict
    status: str
    mark: str  # for a case without a time: "OOM", "n/s", ...; else ""
    measured: Interval | None  # ms: the median, and the interquartile range of the samples
    predicted: Interval | None  # ms: the likely time, and its band
    median_error: float  # relative; 0 if unknown
    flops: float
    bytes: float
    speedup: tuple | None  # the record's own: the baseline kernel, whose samples alternate, and the
                           # ratio
    predicted_speedup: tuple | None  # the baseline kernel, and the Interval of the model's own band
    errors: dict  # {"rel_l1": 0.0002}; NaN if an output is not finite; unknown metrics are absent
    memory: dict  # {"peak", "predicted", "unfused"} in bytes, those that are known
    peak: tuple | None  # TFLOP/s and GB/s of the device
    chip: str | None  # the predicted chip: "V100-SXM2"
    stages: dict = dataclasses.field(default_factory=dict)  # for a layer: {"qkv": ms, ...}
    software: str | None = None  # by which the predicted time is multiplied: "launches=1.3"

    @property
    def time(self):
        return self.measured or self.predicted

    @property
    def kind(self):
        """Whether its time is, or would be, measured or predicted."""
        if self.predicted and not self.measured:
            return "predicted"
        return self.kind_of_result

    @property
    def kind_of_result(self):
        """Where its outputs were computed; a prediction has none."""
        return "measured" if self.is_gpu else "emulated"

    @property
    def kind_of_memory(self):
        return "measured" if "peak" in self.memory else "predicted"

    def problem(self):
        return tuple(self.axes[axis] for axis in AXES)


def number(value):
    """None for null, an empty cell, or a number that is not finite."""
    found = float(value) if value not in (None, "") else math.nan
    return found if math.isfinite(found) else None


class Fields:
    """A JSON case, or a CSV row, whose columns join the names of the JSON levels."""

    def __init__(self, record, is_flat):
        self._record, self._is_flat = record, is_flat

    def text(self, *path):
        """None if there is no such field. A CSV omits `problem` and `accuracy` from its names."""
        if self._is_flat:
            names = [name for name in path if name not in ("problem", "accuracy", "provenance")]
            return self._record.get("_".join(names)) or None
        value = self._record
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def number(self, *path):
        return number(self.text(*path))


def _mask(fields):
    """Records from before other masks existed have no mask name."""
    causal = str(fields.text("problem", "causal")).lower()
    return fields.text("problem", "mask") or ("causal" if causal == "true" else "full")


def _layer_axes(fields):
    def text(name):
        value = fields.text("problem", "layer", name)
        return None if value is None else str(value).lower()

    def whole(name):
        value = fields.number("problem", "layer", name)
        return None if value is None else int(value)

    texts = {name: text(name) for name in ("activation", "norm", "bias", "rest")}
    return {"hidden": whole("hidden"), "ffn": whole("ffn"), **texts}


def _stages(fields):
    """{stage: ms}, measured or else predicted; empty if there are none."""
    stages = fields.text("layer", "stages")
    if not isinstance(stages, list):
        return {}
    times = {
        stage["name"]: number(stage["time_ms"]) or number((stage["predicted_ms"] or {}).get("likely"))
        for stage in stages
    }
    return {} if None in times.values() else times


def _axes(fields, device):
    def whole(name):
        value = fields.number("problem", name)
        return None if value is None else int(value)

    heads = whole("heads")
    return {
        "device": fields.text("provenance", "device_name") or device or fields.text("device"),
        "model": fields.text("model"),
        "pass": fields.text("problem", "pass"),
        "head_dim": whole("head_dim"),
        "mask": _mask(fields),
        "dropout": fields.number("problem", "dropout_p"),
        "dropout_scale": fields.text("problem", "dropout_scale") or "applied",
        "dtype": fields.text("problem", "dtype") or "fp16",
        "layout": fields.text("problem", "layout") or "bshd",
        "input": fields.text("input"),
        "input_scale": fields.number("input_scale"),
        "batch": whole("batch"),
        "heads": heads,
        "heads_k": whole("heads_k") or heads,
        "seqlen": whole("seqlen_q"),
        "seqlen_k": whole("seqlen_k"),
        "lengths": fields.text("problem", "lengths"),
        **_layer_axes(fields),
    }


def _interval(fields, path, low, value, high):
    found = [fields.number(*path, name) for name in (low, value, high)]
    if found[1] is None:
        return None
    return Interval(found[0] or found[1], found[1], found[2] or found[1])


def _errors(fields, is_forward):
    """Errors of the worst output. Early records computed metrics over finite elements only, and had
    none for the forward pass before a backward one."""
    outputs = [()] if is_forward else [(name,) for name in GRADIENTS]
    if not is_forward and fields.number("accuracy", "o", "nonfinite") is not None:
        outputs.append(("o",))
    errors = {}
    for metric in ("rel_l1", "rel_l2", "max_abs"):
        values = []
        for output in outputs:
            broken = fields.number("accuracy", *output, "nonfinite")
            values.append(math.nan if broken else fields.number("accuracy", *output, metric))
        if None not in values:
            errors[metric] = math.nan if any(map(math.isnan, values)) else max(values)
    return errors


def _speedup(fields):
    over, ratio = fields.text("speedup", "over"), fields.number("speedup", "ratio")
    return (over, ratio) if over and ratio else None


def _predicted_speedup(fields):
    over = fields.text("predicted", "speedup", "over")
    band = _interval(fields, ("predicted", "speedup"), "low", "likely", "high")
    return (over, band) if over and band else None


def _software(fields):
    name = fields.text("predicted", "software", "name")
    return f"{name}={fields.number('predicted', 'software', 'factor'):g}" if name else None


def _mark(fields):
    status = fields.text("status") or "ok"
    if status in ("ok", "unverified", "predicted"):
        return ""
    code = fields.text("reason", "code")
    return MARKS.get(code, "wrong" if status == "incorrect" else "failed")


def _case(fields, run, device, peak):
    axes = _axes(fields, device)
    memory = {
        name: fields.number("memory_bytes", name) for name in ("peak", "predicted", "unfused")
    }
    return Case(
        run=run,
        id=fields.text("id"),
        kernel=fields.text("kernel"),
        is_gpu=not (fields.text("device") or "cuda").startswith("emulated"),
        axes=axes,
        status=fields.text("status") or "ok",
        mark=_mark(fields),
        measured=_interval(fields, ("time_ms",), "q1", "median", "q3"),
        predicted=_interval(fields, ("predicted", "time_ms"), "low", "likely", "high"),
        median_error=fields.number("sampling", "median_error") or 0.0,
        flops=fields.number("flops") or 0.0,
        bytes=fields.number("bytes") or 0.0,
        speedup=_speedup(fields),
        predicted_speedup=_predicted_speedup(fields),
        errors=_errors(fields, axes["pass"] == "fwd"),
        memory={name: size for name, size in memory.items() if size is not None},
        peak=peak,
        chip=fields.text("predicted", "chip"),
        stages=_stages(fields),
        software=_software(fields),
    )


def _peak_of(document):
    device = (document.get("environment") or {}).get("device") or {}
    rates = number(device.get("peak_tflops")), number(device.get("peak_gbps"))
    return device.get("name"), None if None in rates else rates


def read_run(path):
    """The cases of a run. Throws ValueError, naming the file, if it is not a run."""
    path = pathlib.Path(path)
    name = path.resolve().parent.name if path.stem == "run" else path.stem
    file = path / "run.json" if path.is_dir() else path
    try:
        if file.suffix == ".csv":
            with open(file, newline="", encoding="utf-8") as stream:
                return [_case(Fields(row, True), name, None, None) for row in csv.DictReader(stream)]
        with open(file, encoding="utf-8") as stream:
            document = json.load(stream)
        device, peak = _peak_of(document)
        return [_case(Fields(each, False), name, device, peak) for each in document["cases"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"RUN {path}: {error or type(error).__name__}; allowed: a folder of --out, a file of "
            "--json, or a cases.csv"
        ) from error
