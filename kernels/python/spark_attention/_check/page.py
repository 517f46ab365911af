"""The report as a page of text."""

import textwrap

from . import accuracy, runs_on

_WIDTH = 100
_NONE = {"GPU driver": "none", "PyTorch's CUDA": "none: PyTorch is built for the CPU alone"}
_ROW = "{:6} {:>8} {:>11} {:>5} {:>6} {:>7}" + " {:>10}" * 4 + " {:>5}"
_REMEDIES = {
    "left to PyTorch: dtype float32": "model.half(), or torch.autocast(..., dtype=torch.float16)",
    "left to PyTorch: dtype bfloat16": "model.half(); of transformers 'spark_bf16cast'",
    "left to PyTorch: attn_mask is given": "sa.attention(mask=...) or sa.attention_varlen(); of "
    "transformers attn_implementation='spark', which serves padding",
    "left to PyTorch: is_causal with other lengths": "torch.nn.attention.bias.causal_lower_right()",
}


def text_of(report):
    sections = {"Versions": _versions(report["versions"]), "Cards": _cards(report)}
    sections["Results"] = _results(report)
    if report["model"]:
        sections[f"Model {report['model']['name']}"] = _model(report["model"])
    sections["Verdict"] = _verdict(report)
    return "\n\n".join("\n".join([title, *_indented(lines)]) for title, lines in sections.items())


def _indented(lines):
    """Long lines go on below, further in."""
    return [part for line in lines
            for part in textwrap.wrap(line, _WIDTH, initial_indent="  ", subsequent_indent="      ",
                                      break_long_words=False, break_on_hyphens=False)]  # fmt: skip


def _versions(versions):
    library, package = versions["library"], versions["package"]
    built = " ".join(f"sm_{sm}" for sm in library["architectures"])
    code = f"code for {built}" if built else "built without CUDA: no code for GPUs"
    toolkit = f", by CUDA {library['toolkit']}" if library["toolkit"] else ""
    rows = [("package", package["version"] or "not installed, imported from"), ("", package["path"]),
            ("library", f"{library['version']}, {code}{toolkit} ({library['why']})"),
            ("", library["path"])]  # fmt: skip
    hidden = (
        {"package", "library"} if versions["PyTorch"] else {"package", "library", "PyTorch's CUDA"}
    )
    rows += [(name, value or _NONE.get(name, "not installed"))
             for name, value in versions.items() if name not in hidden]  # fmt: skip
    return [f"{name:16}{value}" for name, value in rows]


def _cards(report):
    cards = report["cards"]
    if not cards:
        return [
            "none: CPU tensors run on the emulated V100, slowly. SDPA has no GPU kernels to choose"
        ]
    return [line for card in cards for line in _card(card)]


def _card(card):
    name = f"{card['device'] or 'GPU'}  {card['name']}, sm_{card['compute_capability']}"
    lines = [f"{name}: {'NO CODE in this library' if card['no_code'] else 'this library has code'}"]
    if card["device"] is None:
        lines.append(
            "PyTorch is not installed, or does not reach this GPU: torch.cuda.is_available()"
        )
    kernels = {served["head_dim"]: served.get("refused") or f"forward {served['forward']}, backward "
               f"{served['backward']}" for served in card["kernels"]}  # fmt: skip
    lines += [f"head_dim {sizes}: {of}" for of, sizes in _joined(kernels)]
    lines += _choices(card["sdpa"])
    return [lines[0], *(f"    {line}" for line in lines[1:])]


def _joined(items):
    """(value, its keys in one text), for each value of a dict."""
    return [(value, ", ".join(str(key) for key in items if items[key] == value))
            for value in dict.fromkeys(items.values())]  # fmt: skip


def _choices(rows):
    """SDPA's."""
    taken = {f"{row['head_dim']}{' with dropout' if row['dropout_p'] else ''}":
             (row["choice"], ", ".join(row["possible"])) for row in rows}  # fmt: skip
    lines = [f"SDPA by itself takes {choice}: causal fp16 training, head_dim {shapes}; possible are "
             f"{possible}" for (choice, possible), shapes in _joined(taken)]  # fmt: skip
    if any(row["choice"] != "efficient_attention" for row in rows):
        lines.append("sa.sdpa() takes the place of efficient_attention: the kernels are reached only "
                     "within torch.nn.attention.sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION)")  # fmt: skip
    return lines


def _results(report):
    rows, by = report["accuracy"], "PyTorch" if report["versions"]["PyTorch"] else "NumPy"
    if not rows:
        return ["not computed: neither PyTorch nor NumPy is installed"]
    lines = ["The largest error against fp64 in 1e-4 of the largest number, and in brackets that of "
             f"{by}'s math in fp16. Allowed is twice that, and three times for gradients."]  # fmt: skip
    titles = "device", "head_dim", "q x k", "heads", "causal", "dropout", *accuracy.NAMES, ""
    lines.append(_ROW.format(*titles))
    lines += map(_result, rows)
    skipped = [card for card in report["cards"] if not runs_on(card)]
    return lines + [
        f"{card['device'] or card['name']}: not computed, see above" for card in skipped
    ]


def _result(row):
    of = row["case"]
    numbers = [f"{1e4 * error:.1f} ({1e4 * row['math'][name]:.1f})"
               for name, error in row["errors"].items()]  # fmt: skip
    heads = f"{of['heads']}/{of['heads_k']}" if of["heads"] != of["heads_k"] else of["heads"]
    return _ROW.format(row["device"], of["head_dim"], f"{of['seqlen_q']} x {of['seqlen_k']}", heads,
                       "yes" if of["causal"] else "no", of["dropout_p"], *(numbers or ["-"] * 4),
                       "ok" if row["ok"] else "WRONG")  # fmt: skip


def _model(model):
    passes = "a forward pass" if model["passes"] == 1 else "a forward and a backward pass"
    lines = [f"{model['class']}, {passes} under sa.sdpa()"]
    lines += _counted("served", model["served"]) or ["served: nothing"]
    lines += _counted("not served", model["left"], _REMEDIES)
    lines += _counted("note", model["notes"])
    return lines + _counted("PyTorch ran", model["by_pytorch"])


def _counted(title, lines, remedies=()):
    found = []
    for count, line in lines:
        remedy = next((remedies[start] for start in remedies if line.startswith(start)), None)
        line = line.removeprefix("left to PyTorch: ").removeprefix("ran ")
        found.append(f"{title}: {count} x {line}" + (f". Instead: {remedy}" if remedy else ""))
    return found


def _verdict(report):
    return report["findings"] or ["ok"]
