"""The stages of an eager layer, each by itself. The layer is cut between its stages, so that each
stage computes the gradients of its own inputs and weights only, and nothing else runs between
stages.

results/ and reference/encoder/README.md define the stages. For pre-LN, ln1 comes before qkv, ln2
after proj, and the last residual belongs to ff2.
"""

import statistics
from dataclasses import dataclass
from typing import Callable

STAGES = ("qkv", "mha", "proj", "ln1", "ff1", "ff2", "ln2")  # in a record's order
PASSES = 20  # the median is over this many


@dataclass(frozen=True)
class Stage:
    name: str
    run: Callable  # from its inputs to its outputs, one or several
    inputs: tuple  # names of tensors
    outputs: tuple
    modules: tuple  # the modules with its parameters


def stages_of(layer):
    """In execution order; `layer` is an EncoderLayer."""
    norm_1, norm_2, branch = layer.norm_1, layer.norm_2, layer.branch

    def summed_and_normed(a, x):
        h = x + branch(a)
        return h, norm_2(h)

    attends = [
        Stage("mha", layer.mha, ("qkv",), ("o",), ()),
        Stage("proj", layer.proj, ("o",), ("a",), (layer.out_product,)),
    ]
    product = (layer.in_product,)
    if layer.is_pre:
        return [
            Stage("ln1", norm_1, ("x",), ("n1",), (norm_1,)),
            Stage("qkv", layer.qkv, ("n1",), ("qkv",), product),
            *attends,
            Stage("ln2", summed_and_normed, ("a", "x"), ("h", "n2"), (norm_2,)),
            Stage("ff1", layer.ff1, ("n2",), ("g",), (layer.up,)),
            Stage("ff2", lambda g, h: h + branch(layer.ff2(g)), ("g", "h"), ("y",), (layer.down,)),
        ]
    return [
        Stage("qkv", layer.qkv, ("x",), ("qkv",), product),
        *attends,
        Stage("ln1", lambda a, x: norm_1(x + branch(a)), ("a", "x"), ("h",), (norm_1,)),
        Stage("ff1", layer.ff1, ("h",), ("g",), (layer.up,)),
        Stage("ff2", layer.ff2, ("g",), ("f",), (layer.down,)),
        Stage("ln2", lambda f, h: norm_2(h + branch(f)), ("f", "h"), ("y",), (norm_2,)),
    ]


class StagedLayer:
    """One pass over the stages. Each stage runs in the context `around(name)`."""

    def __init__(self, torch, layer):
        self.torch, self.layer = torch, layer
        self.stages = stages_of(layer.module)
        self.has_backward = layer.case.direction != "fwd"
        self.counts_forward = layer.case.direction != "bwd"

    def run(self, around, uncounted):
        """(y, {name: gradient of "x", or of a parameter by its name}). A forward pass that is not
        part of the case runs in `uncounted(name)`."""
        around_forward = around if self.counts_forward else uncounted
        with self.layer.setting(), self.torch.set_grad_enabled(self.has_backward):
            tensors, tape = self.forward(around_forward)
            gradients = self.backward(tape, around) if self.has_backward else {}
        return tensors["y"], gradients

    def forward(self, around):
        tensors, tape = {"x": self.layer.x.detach()}, []
        for stage in self.stages:
            inputs = [
                tensors[name].detach().requires_grad_(self.has_backward) for name in stage.inputs
            ]
            with around(stage.name):
                outputs = stage.run(*inputs)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            tensors.update(zip(stage.outputs, outputs))
            tape.append((stage, inputs, outputs))
        return tensors, tape

    def backward(self, tape, around):
        of_tensors, of_parameters = {"y": self.layer.d_y}, {}
        for stage, inputs, outputs in reversed(tape):
            parameters = [x for owner in stage.modules for x in owner.parameters()]
            given = [of_tensors.pop(name) for name in stage.outputs]
            with around(stage.name):
                found = self.torch.autograd.grad(outputs, [*inputs, *parameters], given)
                for name, gradient in zip(stage.inputs, found):
                    # Sums the gradients of a tensor that two stages read.
                    known = of_tensors.get(name)
                    of_tensors[name] = gradient if known is None else known + gradient
            of_parameters.update((id(x), dx) for x, dx in zip(parameters, found[len(inputs) :]))
        named = {
            name: of_parameters[id(parameter)]
            for name, parameter in self.layer.parameters().items()
        }
        return {"x": of_tensors["x"], **named}


class EventsAround:
    """CUDA events before and after each stage. The cache may be flushed before the first one."""

    def __init__(self, torch, flush):
        self.torch, self.flush, self.pairs = torch, flush, []

    def __call__(self, name):
        self.name = name
        return self

    def __enter__(self):
        if self.flush is not None and not self.pairs:
            self.flush.zero_()
        events = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.begin, self.end = events
        self.begin.record()

    def __exit__(self, *_error):
        self.end.record()
        self.pairs.append((self.name, self.begin, self.end))

    def sums(self):
        """{stage: ms}, forward and backward together, once everything is done."""
        ms = dict.fromkeys(STAGES, 0.0)
        for name, begin, end in self.pairs:
            ms[name] += begin.elapsed_time(end)
        return ms


def time_stages(torch, staged, hold, flush, ignore):
    """{stage: median ms}. `hold` blocks the stream until a pass is queued, so that launches are not
    timed; `flush` empties the cache, or is None."""
    passes = []
    for _ in range(PASSES):
        events = EventsAround(torch, flush)
        hold()
        staged.run(events, ignore)
        torch.cuda.synchronize()
        passes.append(events.sums())
    return {name: statistics.median(one[name] for one in passes) for name in STAGES}
