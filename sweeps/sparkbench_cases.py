"""The cases of a sweep of peers, read from `sparkbench sweep --dry-run --json -`. The grid,
presets, ids, FLOPs and bytes are sparkbench's."""

import difflib
import fnmatch
import json
import pathlib
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass

import peer_masks
import peer_patterns
from peer_attention import OF_LENGTHS

BUILT = pathlib.Path(__file__).resolve().parent.parent / "build" / "harness" / "sparkbench"
# Peers use the plan of this baseline, which every machine has and which declines no problem.
STANDS_FOR_PEERS = ("--device", "emulated-v100", "--kernel", "unfused-fp16")
OF_STAND_IN = ("--device", "--kernel")
# Parts of an id: kernel, pass, b, h, sq, sk, d, mask, p. Further parts of an unusual problem follow
# them. The peers know "hk2" (heads share keys) and "lengths-" (varlen).
KNOWN_PARTS = 9
KNOWN_BEHIND = re.compile("hk[0-9]+|lengths-[0-9a-f]{16}")


class CasesError(Exception):
    """Why the cases could not be read, in one line, and the exit code for it."""

    def __init__(self, message, exit_code=2):
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True)
class Case:
    """A peer on a problem that sparkbench planned for its baseline."""

    kernel: str
    planned: dict

    @property
    def id(self):
        return self.kernel + self.planned["id"].removeprefix(self.planned["kernel"])

    @property
    def unknown_parts(self):
        """Parts of the id for problems that the peers do not support."""
        parts = [part for part in self.id.split("/") if not KNOWN_BEHIND.fullmatch(part)]
        return parts[KNOWN_PARTS:]

    @property
    def problem(self):
        return self.planned["problem"]

    @property
    def direction(self):
        return self.problem["pass"]

    @property
    def query_shape(self):
        """(batch, seqlen, heads, head_dim)"""
        return self.shape_of(self.problem["seqlen_q"], self.problem["heads"])

    @property
    def key_shape(self):
        return self.shape_of(self.problem["seqlen_k"], self.problem["heads_k"])

    def shape_of(self, seqlen, heads):
        return (self.problem["batch"], seqlen, heads, self.problem["head_dim"])

    @property
    def cu_seqlens_q(self):
        """The offsets of varlen sequences, with the end of the last one; None if all have one
        length."""
        return self.planned.get("cu_seqlens_q")

    @property
    def cu_seqlens_k(self):
        return self.planned.get("cu_seqlens_k")

    @property
    def lengths(self):
        """(rows, keys) of each varlen sequence; None if all have one length."""
        if self.cu_seqlens_q is None:
            return None
        of_q, of_k = (
            [end - begin for begin, end in zip(offsets, offsets[1:])]
            for offsets in (self.cu_seqlens_q, self.cu_seqlens_k)
        )
        return list(zip(of_q, of_k))

    @property
    def has_equal_lengths(self):
        """Whether each sequence has as many keys as rows."""
        lengths = self.lengths or [(self.problem["seqlen_q"], self.problem["seqlen_k"])]
        return all(of_q == of_k for of_q, of_k in lengths)

    def rows_of(self, tensor, name, place):
        """[rows, head_dim] of a (sequence, head) of a varlen tensor."""
        sequence, head = place
        offsets = self.cu_seqlens_k if name in ("k", "v", "dk", "dv") else self.cu_seqlens_q
        return tensor[offsets[sequence] : offsets[sequence + 1], head]

    def mask_of(self, mask, sequence):
        """The batch's mask for one of its sequences."""
        if self.lengths is None:
            return mask
        return peer_masks.Mask(mask.name, *self.lengths[sequence])

    @property
    def group_size(self):
        """Query heads per key head."""
        return self.problem["heads"] // self.problem["heads_k"]

    @property
    def mask(self):
        name = self.problem["mask"]
        kind = peer_patterns.Pattern if peer_patterns.is_pattern(name) else peer_masks.Mask
        return kind(name, self.problem["seqlen_q"], self.problem["seqlen_k"])

    @property
    def io_bytes(self):
        """Bytes of the tensors."""
        return self.planned["memory_bytes"]["io"]

    @property
    def repro(self):
        """The flags of torch_peers.py that repeat the case."""
        return peers_line(["--kernel", self.kernel], self.planned["repro"], OF_STAND_IN)


def peers_line(own, repro, without):
    """`own`, followed by the flags of `repro`, a sparkbench command line, without those in
    `without`."""
    kept, skips = [], False
    for word in shlex.split(repro)[2:]:  # without "sparkbench sweep"
        if not skips and word not in without:
            kept.append(word)
        skips = not skips and word in without
    return shlex.join(["sweeps/torch_peers.py", *own, *kept])


def find_sparkbench(path):
    """The program at that path; otherwise the one built from this checkout, otherwise that in PATH.
    """
    candidates = [path] if path else [str(BUILT), "sparkbench"]
    for candidate in candidates:
        if found := shutil.which(candidate):
            return found
    where = path or f"{BUILT}, nor on the PATH"
    raise CasesError(f"--sparkbench: no program {where}; build it, or say where it is")


def read_plan(sparkbench, flags, command="sweep"):
    """The cases of the stand-in, as sparkbench writes them."""
    command = [sparkbench, command, "--dry-run", "--json", "-", *STANDS_FOR_PEERS, *flags]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        reason = (result.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise CasesError(reason, result.returncode if result.returncode > 0 else 4)
    try:
        cases = json.loads(result.stdout)["cases"]
        if all("mask_work" in case for case in cases):
            return cases
    except (ValueError, KeyError, TypeError):
        pass
    raise CasesError(f"--sparkbench: {sparkbench} is of another version; build it anew")


def select_kernels(globs, known):
    """In the order of `known`. A glob that selects nothing is an error."""
    chosen = set()
    for glob in globs.split(","):
        matches = fnmatch.filter(known, glob)
        if not matches:
            near = difflib.get_close_matches(glob, known, n=1, cutoff=0.7)
            hint = f", did you mean '{near[0]}'?" if near else ""
            raise CasesError(f"--kernel: unknown '{glob}'{hint}; allowed: {', '.join(known)}")
        chosen.update(matches)
    return [name for name in known if name in chosen]


def preset_flag(arguments):
    """Without a preset the axes have sparkbench's defaults."""
    return ["--preset", arguments.preset] if arguments.preset else []


def plan_cases(arguments, flags, kernels):
    """Cases of one problem are adjacent. `flags` go to sparkbench. Raises CasesError."""
    names = select_kernels(arguments.kernel, kernels)
    flags = [*preset_flag(arguments), "--seed", str(arguments.seed), *flags]
    plan = read_plan(find_sparkbench(arguments.sparkbench), flags)
    cases = [Case(name, planned) for planned in plan for name in names]
    return [case for case in cases if case.lengths is not None or case.kernel not in OF_LENGTHS]
