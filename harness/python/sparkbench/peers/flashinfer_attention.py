"""FlashInfer's prefill kernels, which have no backward pass: pip install flashinfer-python. Its plan
is made once for a problem."""

import torch
from flashinfer import BatchPrefillWithRaggedKVCacheWrapper

import sparkbench

from ._common import version_of

WORKSPACE_BYTES = 128 << 20


@sparkbench.kernel(
    name="flashinfer", version=version_of("flashinfer-python", "torch"), backends=("cuda",),
    prepare=True, masks=("full", "causal", "window"), varlen=True, gqa=True, autograd=False,
)  # fmt: skip
def flashinfer(problem):
    """FlashInfer's ragged prefill"""
    device = torch.device("cuda", problem.device)

    def offsets(lengths):
        ends = torch.tensor([0, *lengths]).cumsum(0)
        return ends.to(device, torch.int32)

    wrapper = BatchPrefillWithRaggedKVCacheWrapper(
        torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=device), "NHD"
    )
    wrapper.plan(
        offsets([q for q, _ in problem.lengths]), offsets([k for _, k in problem.lengths]),
        problem.heads, problem.heads_k, problem.head_dim, causal=problem.causal,
        window_left=problem.window[0], sm_scale=problem.softmax_scale,
        q_data_type=getattr(torch, problem.dtype),
    )  # fmt: skip

    def attention(q, k, v):
        return wrapper.run(*(x.reshape(-1, *x.shape[-2:]) for x in (q, k, v))).view(q.shape)

    return attention


@flashinfer.supports
def why_not(problem):
    return "flashinfer has no backward pass" if problem.has_backward else None
