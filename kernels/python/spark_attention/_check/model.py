"""Whether a model's attention would run on the kernels: one pass of it under sa.sdpa()."""

import collections
import importlib
import importlib.util
import inspect
import os
import pathlib
import sys
import traceback

RETURNS = (
    "(module, inputs), where module is a torch.nn.Module, and inputs are a dict of keyword "
    "arguments, a tuple of positional ones, or one tensor, on the module's device"
)


class ModelError(Exception):
    """The model cannot be run; the text says why."""


def load(name):
    """The factory that "module:factory" or "path/file.py:factory" names."""
    where, _, attribute = name.rpartition(":")
    if not where or not attribute:
        raise ModelError(f"--model is {name!r}; allowed: module:factory, or path/file.py:factory")
    try:
        module = _module_of_file(where) if where.endswith(".py") else importlib.import_module(where)
    except Exception as error:
        raise ModelError(f"--model {name}: {where} cannot be imported: {_told(error)}") from error
    factory = getattr(module, attribute, None)
    if not callable(factory):
        functions = [key for key, value in vars(module).items()
                     if inspect.isfunction(value) and value.__module__ == module.__name__]  # fmt: skip
        what = "is not a function" if hasattr(module, attribute) else "is not there"
        allowed = f"{where} has {', '.join(functions) or 'no functions'}"
        raise ModelError(f"--model {name}: {attribute} {what}; {allowed}")
    return factory


def _module_of_file(path):
    spec = importlib.util.spec_from_file_location("spark_attention_checked_model", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(pathlib.Path(path).resolve().parent))  # as for a program that is run
    spec.loader.exec_module(module)
    return module


def _told(error):
    """The error, and the line that raised it."""
    files = [line for line in traceback.extract_tb(error.__traceback__) if line.filename[:1] != "<"]
    return f"{type(error).__name__}: {error} ({files[-1].filename}:{files[-1].lineno})"


def made(name):
    """(module, args, kwargs) of the factory's."""
    import torch

    factory = load(name)
    try:
        found = factory()
    except Exception as error:
        raise ModelError(f"--model {name}: the factory raised {_told(error)}") from error
    module, inputs = found if isinstance(found, tuple) and len(found) == 2 else (found, None)
    if not isinstance(module, torch.nn.Module):
        raise _wrong_return(name, f"a {type(module).__name__}")
    if inputs is None:
        inputs = getattr(module, "dummy_inputs", None)  # models of transformers have them
    if isinstance(inputs, torch.Tensor):
        return module, (inputs,), {}
    if isinstance(inputs, (tuple, list)):
        return module, tuple(inputs), {}
    if isinstance(inputs, dict):
        return module, (), inputs
    what = "without inputs" if inputs is None else f"with inputs that are a {type(inputs).__name__}"
    raise _wrong_return(name, f"{type(module).__name__} {what}")


def _wrong_return(name, what):
    return ModelError(f"--model {name}: the factory returned {what}; allowed: {RETURNS}")


def check(name):
    """What the model's pass observed, a dict. Raises ModelError."""
    import torch

    from .. import _attention, _sdpa

    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else the profiler complains of a missing GPU
    module, args, kwargs = made(name)
    over = "operator" if hasattr(torch.library, "get_kernel") else "name"  # PyTorch 2.9, and before
    trains = module.training
    _attention.explain(reset=True)
    try:
        with _sdpa.sdpa(over=over), torch.autograd.profiler.profile(use_kineto=False) as profile:
            with torch.set_grad_enabled(trains):
                out = module(*args, **kwargs)
            if trains:
                _loss_of(out).backward()
    except Exception as error:
        raise ModelError(f"--model {name}: the model's pass raised {_told(error)}") from error
    lines = _lines()
    return {"name": name, "class": type(module).__name__, "passes": 2 if trains else 1, "over": over,
            "served": [line for line in lines if line[1].startswith("ran ")],
            "left": [line for line in lines if line[1].startswith("left to PyTorch: ")],
            "notes": [line for line in lines if not line[1].startswith(("ran ", "left to PyTorch: "))],
            "by_pytorch": _by_pytorch(_counts(profile))}  # fmt: skip


def _lines():
    """explain()'s, as (how often, what)."""
    from .. import _ledger

    return [(count, line) for line, count in _ledger.lines()]


def _loss_of(out):
    """The output's own loss, or the sum of what has a gradient."""
    import torch

    loss = getattr(out, "loss", None)
    if isinstance(loss, torch.Tensor):
        return loss
    leaves = [leaf for leaf in torch.utils._pytree.tree_leaves(out)
              if isinstance(leaf, torch.Tensor) and leaf.requires_grad]  # fmt: skip
    if not leaves:
        raise ValueError(
            "the model is in training mode, and no output has a gradient; model.eval() checks the "
            "forward pass alone"
        )
    return sum(leaf.float().sum() for leaf in leaves)


FAST_PATH = "aten::_native_multi_head_attention"  # also that of nn.TransformerEncoderLayer
# PyTorch's operators, and what a user would want to know of each.
OPERATORS = {
    FAST_PATH: "the fast path of nn.TransformerEncoderLayer or nn.MultiheadAttention in eval(). On a "
    "GPU and without a mask it calls SDPA, so it may be served as well; else it computes attention "
    "itself",
    "aten::_scaled_dot_product_flash_attention": "SDPA's flash attention, out of sa.sdpa()'s reach",
    "aten::_scaled_dot_product_cudnn_attention": "SDPA's cuDNN attention, out of sa.sdpa()'s reach",
    "aten::_scaled_dot_product_flash_attention_for_cpu": "SDPA's flash attention for the CPU",
    "aten::_scaled_dot_product_attention_math": "SDPA's math, with a matrix of all scores",
}
_SOFTMAX = "aten::_softmax"
_STEPS = (
    "softmax outside of SDPA: attention in steps (attn_implementation='eager' of transformers), if it "
    "is attention"
)


def _counts(profile):
    return collections.Counter({event.key: event.count for event in profile.key_averages()})


def _by_pytorch(counts):
    """(how often, what) of attention that PyTorch computed. Attention in steps is known by its
    softmax alone."""
    found = [(counts[name], what) for name, what in OPERATORS.items() if counts[name]]
    in_operators = counts["aten::_scaled_dot_product_attention_math"]
    in_operators += counts[FAST_PATH]
    outside = counts[_SOFTMAX] - in_operators
    if outside > 0:
        found.append((outside, _STEPS))
    return found
