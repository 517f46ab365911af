"""The cases of a sweep of peers, read from `sparkbench sweep --dry-run --json -`: its grid, its
presets, ids, FLOPs and bytes are sparkbench's own."""

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
# The reference that every machine has, and that declines no problem, stands for the peers.
STANDS_FOR_PEERS = ("--device", "emulated-v100", "--kernel", "unfused-fp16")
OF_STAND_IN = ("--device", "--kernel")
# Of an id: kernel, pass, b, h, sq, sk, d, mask, p. Whatever else makes a problem stands behind them,
# where it is not as usual: "hk2", where heads share keys, and "lengths-" of packed sequences they
# know too.
KNOWN_PARTS = 9
KNOWN_BEHIND = re.compile("hk[0-9]+|lengths-[0-9a-f]{16}")


class CasesError(Exception):
    """What kept the cases from being read, in a line, and the exit code that says so."""

    def __init__(self, message, exit_code=2):
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True)
class Case:
    """A peer on a problem that sparkbench planned for its reference."""

    kernel: str
    planned: dict

    @property
    def id(self):
        return self.kernel + self.planned["id"].removeprefix(self.planned["kernel"])

    @property
    def unknown_parts(self):
        """Of the id: what would be another problem than the peers compute."""
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
        """Where packed sequences begin, and the last one ends; None where all are alike."""
        return self.planned.get("cu_seqlens_q")

    @property
    def cu_seqlens_k(self):
        return self.planned.get("cu_seqlens_k")

    @property
    def lengths(self):
        """(rows, keys) of each packed sequence; None where all are alike."""
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
        """[rows, head_dim] of a (sequence, head) of a packed tensor."""
        sequence, head = place
        offsets = self.cu_seqlens_k if name in ("k", "v", "dk", "dv") else self.cu_seqlens_q
        return tensor[offsets[sequence] : offsets[sequence + 1], head]

    def mask_of(self, mask, sequence):
        """A mask of the batch as one of its sequences has it."""
        if self.lengths is None:
            return mask
        return peer_masks.Mask(mask.name, *self.lengths[sequence])

    @property
    def group_size(self):
        """Heads that read the same keys."""
        return self.problem["heads"] // self.problem["heads_k"]

    @property
    def mask(self):
        name = self.problem["mask"]
        kind = peer_patterns.Pattern if peer_patterns.is_pattern(name) else peer_masks.Mask
        return kind(name, self.problem["seqlen_q"], self.problem["seqlen_k"])

    @property
    def io_bytes(self):
        """Of the tensors."""
        return self.planned["memory_bytes"]["io"]

    @property
    def repro(self):
        """The flags that repeat it, for the peers."""
        return peers_line(["--kernel", self.kernel], self.planned["repro"], OF_STAND_IN)


def peers_line(own, repro, without):
    """The flags of `repro`, a line of sparkbench's, but for those of `without`, behind our own."""
    kept, skips = [], False
    for word in shlex.split(repro)[2:]:  # without "sparkbench sweep"
        if not skips and word not in without:
            kept.append(word)
        skips = not skips and word in without
    return shlex.join(["sweeps/torch_peers.py", *own, *kept])


def find_sparkbench(path):
    """The program of that path; else the one built beside the sources, else that of PATH."""
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
    """In the order of `known`; a glob that selects nothing is an error."""
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
    """Without a preset the axes are as sparkbench has them by default."""
    return ["--preset", arguments.preset] if arguments.preset else []


def plan_cases(arguments, flags, kernels):
    """Cases of one problem are neighbours. `flags` go to sparkbench. Raises CasesError."""
    names = select_kernels(arguments.kernel, kernels)
    flags = [*preset_flag(arguments), "--seed", str(arguments.seed), *flags]
    plan = read_plan(find_sparkbench(arguments.sparkbench), flags)
    cases = [Case(name, planned) for planned in plan for name in names]
    return [case for case in cases if case.lengths is not None or case.kernel not in OF_LENGTHS]
