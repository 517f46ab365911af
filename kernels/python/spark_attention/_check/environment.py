"""What there is: versions, cards, and which kernels serve on them."""

import importlib.metadata
import importlib.util
import pathlib
import platform

from .. import _gpus, _library

HEAD_DIMS = (64, 128)
_PACKAGE = pathlib.Path(__file__).parents[1]
PASSES = {"forward": _library.FORWARD, "backward": _library.BACKWARD}
_REFUSALS = (_library.UnsupportedError, _library.NoDeviceCodeError, _library.DeviceError)


def imported_torch():
    """PyTorch; None where it is not installed."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    return torch


def library_record():
    """What the library tells about itself. `toolkit` is the CUDA that built it; None: none."""
    info = _library.build_info()
    return {"version": _library.version(), "path": _library.path(),
            "architectures": info["architectures"], "toolkit": info["cuda"] or None,
            "why": info["why"]}  # fmt: skip


def versions():
    torch = imported_torch()
    return {
        "package": {"version": _installed("spark-attention"), "path": str(_PACKAGE)},
        "library": library_record(),
        "Python": platform.python_version(),
        "PyTorch": torch and torch.__version__,
        "PyTorch's CUDA": torch and torch.version.cuda,
        "GPU driver": _gpus.driver_version(),
        "NumPy": _installed("numpy"),
        "JAX": _installed("jax"),
        "transformers": _installed("transformers"),
    }


def _installed(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def cards():
    """A dict for each GPU. `device` is PyTorch's name of it, None where PyTorch does not reach it."""
    torch = imported_torch()
    if torch is None or not torch.cuda.is_available():
        return [_card(None, name, sm) for name, sm in _gpus.visible_gpus()]
    found = []
    for i in range(torch.cuda.device_count()):
        of = torch.cuda.get_device_properties(i)
        found.append(_card(f"cuda:{i}", of.name, 10 * of.major + of.minor))
    return found


def _card(device, name, sm):
    no_code = _gpus.why_refused([(name, sm)], _library.build_info())
    card = {"device": device, "name": name, "compute_capability": sm, "no_code": no_code,
            "kernels": [], "sdpa": []}  # fmt: skip
    if device is not None:
        card["sdpa"] = sdpa_choices(device)
    if device is not None and no_code is None:
        index = int(device.partition(":")[2])
        card["kernels"] = [_served(index, head_dim) for head_dim in HEAD_DIMS]
    return card


def _served(index, head_dim):
    try:
        return {"head_dim": head_dim, **kernels(_library.CUDA, index, head_dim)}
    except _REFUSALS as error:
        return {"head_dim": head_dim, "refused": str(error)}


def kernels(backend, index, head_dim):
    """{pass: the kernel's name} of a causal training step with dropout and sums in fp32."""
    of = _library.problem(backend=backend, device=index, batch=2, heads=8, seqlen_q=1024, seqlen_k=1024,
                          head_dim=head_dim, mask=b"causal", dropout_p=0.1)  # fmt: skip
    return {name: _library.kernel_name(of, of_pass) for name, of_pass in PASSES.items()}


_CAN_USE = ("flash_attention", "efficient_attention", "cudnn_attention")  # the last from 2.5


def sdpa_choices(device):
    """What PyTorch's SDPA takes by itself for fp16 training shapes, and what else it could take."""
    torch = imported_torch()
    found = []
    for head_dim in HEAD_DIMS:
        for dropout_p in (0.0, 0.1):
            q = torch.empty(
                2, 8, 1024, head_dim, dtype=torch.float16, device=device, requires_grad=True
            )
            choice = torch._fused_sdp_choice(q, q, q, None, dropout_p, True)
            found.append({"head_dim": head_dim, "dropout_p": dropout_p,
                          "choice": torch.nn.attention.SDPBackend(choice).name.lower(),
                          "possible": _possible(torch, q, dropout_p)})  # fmt: skip
    return found


def _possible(torch, q, dropout_p):
    backends = torch.backends.cuda
    given = q, q, q, None, dropout_p, True
    try:
        of = backends.SDPAParams(*given, False)
    except TypeError:  # before 2.5, which has no enable_gqa
        of = backends.SDPAParams(*given)
    asked = {name: getattr(backends, f"can_use_{name}", None) for name in _CAN_USE}
    return [*(name for name, ask in asked.items() if ask is not None and ask(of, False)), "math"]
