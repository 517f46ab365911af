"""The operators under the transforms of torch.func (grad, vmap, jacrev, ...), and what they refuse: there
is no derivative in forward mode, and none of the backward pass.
"""

import torch
from torch.autograd import forward_ad

from . import _library

NO_FORWARD_MODE = ("attention has no derivative in forward mode (jvp, jacfwd, hessian, dual numbers); "
                   "allowed: reverse mode (grad, vjp, jacrev), or PyTorch's math attention, which "
                   "sdpa_kernel(SDPBackend.MATH) takes")  # fmt: skip

# None of these names is promised by PyTorch.
_functorch = getattr(torch._C, "_functorch", None)
active = getattr(_functorch, "peek_interpreter_stack", lambda: None)


def has_tangent(tensors):
    """Whether a dual number of torch.autograd.forward_ad is among them."""
    if getattr(forward_ad, "_current_level", 0) < 0:
        return False
    return any(t is not None and forward_ad.unpack_dual(t).tangent is not None for t in tensors)


def refuse_tangents(*tensors):
    """Operators see tensors without their derivatives: the results would have none, without a word."""
    if has_tangent(tensors):
        raise _library.UnsupportedError(NO_FORWARD_MODE)


def why_left_to_pytorch(*tensors):
    """PyTorch's own operators have all derivatives, so calls of SDPA that want one of these are its."""
    if torch.compiler.is_compiling():
        return None
    if active() is not None:
        return "a transform of torch.func"
    return "a derivative in forward mode" if has_tangent(tensors) else None


def no_second_derivative(ctx, *_):
    raise _library.UnsupportedError("the backward pass of attention has no derivative of its own")


def _no_setup(ctx, inputs, output):
    pass


def register(library, name, backward=no_second_derivative, setup_context=_no_setup, vmap=None):
    """Registers the derivative of library's operator, in eager code and under torch.func; vmap is a rule
    of torch.autograd.Function, by default one call for each entry."""
    operator = getattr(getattr(torch.ops, library.ns), name).default
    torch.library.register_autograd(
        f"{library.ns}::{name}", backward, setup_context=lambda ctx, inputs, output: setup_context(
            ctx, inputs, output), lib=library,
    )  # fmt: skip
    defaults = [argument.default_value for argument in operator._schema.arguments]

    class Transformed(torch.autograd.Function):
        @staticmethod
        def forward(*arguments):
            return operator(*arguments)

        @staticmethod
        def jvp(ctx, *_):
            raise _library.UnsupportedError(NO_FORWARD_MODE)

        @staticmethod
        def vmap(info, in_dims, *arguments):
            if vmap is not None:
                return vmap(operator, info, in_dims, *arguments)
            return each(operator, info, in_dims, *arguments)

    Transformed.setup_context = staticmethod(setup_context)
    Transformed.backward = staticmethod(backward)

    def transformed(*arguments):
        """The dispatcher leaves out what has its default."""
        return Transformed.apply(*arguments, *defaults[len(arguments) :])

    if _functorch is not None:
        library.impl(name, transformed, "FuncTorchDynamicLayerFrontMode")


def entry_of(in_dims, arguments, i):
    return [argument if dim is None else argument.select(dim, i)
            for argument, dim in zip(arguments, in_dims)]  # fmt: skip


def each(operator, info, in_dims, *arguments):
    """A call for each entry, which has the bits that it has alone."""
    results = [operator(*entry_of(in_dims, arguments, i)) for i in range(info.batch_size)]
    if isinstance(results[0], torch.Tensor):
        return torch.stack(results), 0
    return tuple(map(torch.stack, zip(*results))), (0,) * len(results[0])


def as_batch(tensor_count):
    """The rule of operators whose first arguments are tensors with a batch in front, followed by a seed
    and options: all entries are one call with a larger batch. With a seed, which counts a batch's
    entries, or with sinks of each entry, they are a call each."""

    def rule(operator, info, in_dims, *arguments):
        tensors, (seed, *_) = arguments[:tensor_count], arguments[tensor_count:]
        entries = info.batch_size * tensors[0].shape[1 if in_dims[0] == 0 else 0]
        is_of_each = any(dim is not None for dim in in_dims[tensor_count:])
        if seed is not None or is_of_each or entries > _library.MOST_ENTRIES:
            return each(operator, info, in_dims, *arguments)
        merged = [_in_front(t, dim, info.batch_size).flatten(0, 1) for t, dim in zip(tensors, in_dims)]
        results = operator(*merged, *arguments[tensor_count:])
        return tuple(t.unflatten(0, (info.batch_size, -1)) for t in results), (0,) * len(results)

    return rule


def _in_front(tensor, dim, count):
    return tensor.expand(count, *tensor.shape) if dim is None else tensor.movedim(dim, 0)


def draw_each(operator, info, in_dims, like):
    """The rule of draw_seed(), by vmap's own randomness."""
    if info.randomness == "error":
        raise RuntimeError("dropout under torch.vmap; allowed: vmap(..., randomness='different'), or "
                           "'same'")  # fmt: skip
    of_one = entry_of(in_dims, [like], 0)[0]
    if info.randomness == "same":
        return operator(of_one), None
    return torch.stack([operator(of_one) for _ in range(info.batch_size)]), 0
