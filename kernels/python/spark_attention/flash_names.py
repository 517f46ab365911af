"""FlashAttention-2's names for code that imports flash_attn itself:

    import spark_attention.flash_names
    spark_attention.flash_names.install()        # before `import flash_attn` anywhere
    from flash_attn import flash_attn_func       # spark_attention.flash's

Nothing is written to disk, and a flash_attn that was imported before is an error. Beyond the
functions there are flash_attn.flash_attn_interface, flash_attn.bert_padding and
flash_attn.layers.rotary's apply_rotary_emb. importlib finds the package too, and
importlib.metadata its version: transformers asks both.
"""

import importlib.machinery
import importlib.metadata
import pathlib
import sys
import types

import torch

from . import _s_dmask, flash
from .rotary import apply_rotary_emb

VERSION = "2.8.4"  # whose signatures these are


def install():
    if "flash_attn" in sys.modules:
        if getattr(sys.modules["flash_attn"], "is_spark_attention", False):
            return
        raise RuntimeError("flash_attn is imported already, and is another: install() comes before")
    functions = {name: getattr(flash, name) for name in dir(flash) if name.startswith("flash_attn_")}
    _module("flash_attn", is_spark_attention=True, __version__=VERSION, __path__=[], **functions)
    _module("flash_attn.flash_attn_interface", USE_TRITON_ROCM=False,
            _get_block_size_n=_block_size_n, **functions)  # fmt: skip
    _module("flash_attn.bert_padding", pad_input=pad_input, unpad_input=unpad_input,
            index_first_axis=index_first_axis)  # fmt: skip
    _module("flash_attn.layers", __path__=[])
    _module("flash_attn.layers.rotary", apply_rotary_emb=apply_rotary_emb)
    sys.meta_path.insert(0, _Finder())


class _Distribution(importlib.metadata.Distribution):
    """What pip would have written of flash-attn."""

    _FILES = {"METADATA": f"Metadata-Version: 2.1\nName: flash-attn\nVersion: {VERSION}\n",
              "top_level.txt": "flash_attn\n"}  # fmt: skip

    def read_text(self, filename):
        return self._FILES.get(filename)

    def locate_file(self, path):
        return pathlib.Path(__file__).parent / path


class _Finder(importlib.metadata.DistributionFinder):
    def find_spec(self, fullname, path, target=None):
        return None

    def find_distributions(self, context=importlib.metadata.DistributionFinder.Context()):
        if context.name is None or context.name.lower().replace("_", "-") == "flash-attn":
            yield _Distribution()


def _module(name, **contents):
    module = types.ModuleType(name, __doc__)
    is_package = "__path__" in contents
    module.__spec__ = importlib.machinery.ModuleSpec(name, None, origin=__file__, is_package=is_package)
    module.__package__ = name if is_package else name.rpartition(".")[0]
    vars(module).update(contents)
    sys.modules[name] = module
    parent, _, own = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], own, module)


def _block_size_n(device, head_dim, is_dropout, is_causal):
    return _s_dmask.block_size_n(head_dim, is_dropout)


def index_first_axis(tensor, indices):
    """Rows of [rows, ...]."""
    return tensor.index_select(0, indices)


def unpad_input(hidden_states, attention_mask, unused_mask=None):
    """The tokens of [batch, seqlen, ...] that a mask of [batch, seqlen] has, and those of
    unused_mask: (tokens, their indices, cu_seqlens, the longest, how many of attention_mask each
    sample has)."""
    kept = attention_mask if unused_mask is None else attention_mask + unused_mask
    lengths = kept.sum(-1, dtype=torch.int32)
    indices = kept.flatten().nonzero().flatten()
    cu_seqlens = torch.nn.functional.pad(lengths.cumsum(0, dtype=torch.int32), (1, 0))
    tokens = index_first_axis(hidden_states.flatten(0, 1), indices)
    return (tokens, indices, cu_seqlens, lengths.max().item(),
            attention_mask.sum(-1, dtype=torch.int32))  # fmt: skip


def pad_input(hidden_states, indices, batch, seqlen):
    """The tokens back in [batch, seqlen, ...], with zeros between them."""
    padded = hidden_states.new_zeros(batch * seqlen, *hidden_states.shape[1:])
    return padded.index_copy(0, indices, hidden_states).unflatten(0, (batch, seqlen))
