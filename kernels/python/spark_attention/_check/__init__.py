"""python -m spark_attention check: what there is, whether it computes right, and what would run."""

import math

from . import accuracy, environment

OK, FINDING, USAGE, ENVIRONMENT = 0, 1, 2, 3  # exit statuses


def collect(model_name=None):
    """The report, of Python's own types alone. Raises model.ModelError."""
    from . import model

    cards = environment.cards()
    report = {"versions": environment.versions(), "cards": cards}
    # Before the passes: its name may be wrong.
    of_model = None if model_name is None else model.check(model_name)
    report["accuracy"] = _accuracy(cards, report["versions"])
    report["model"] = of_model
    report["findings"] = findings(report)
    return report


def _accuracy(cards, versions):
    if versions["PyTorch"] is None and versions["NumPy"] is None:
        return []
    devices = [card["device"] for card in cards if runs_on(card)]
    return [row for device in ("cpu", *devices) for row in accuracy.check(device)]


def runs_on(card):
    return bool(card["kernels"]) and all("refused" not in served for served in card["kernels"])


def findings(report):
    """A line for each thing that is wrong."""
    lines = [card["no_code"] for card in report["cards"] if card["no_code"]]
    for row in report["accuracy"]:
        if not row["ok"]:
            wrong = ", ".join(
                f"{name} is off by {row['errors'][name]:.1e}, above {row['allowed'][name]:.1e}"
                for name in row["wrong"]
            )
            of_case = ", ".join(f"{name} {value}" for name, value in row["case"].items())
            lines.append(f"{row['device']}, {of_case}: {row['failed'] or wrong}")
    return lines


def as_json(value):
    """The report without numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: as_json(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
