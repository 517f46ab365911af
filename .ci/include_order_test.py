#!/usr/bin/env python3
"""The order of includes: of rooms as README.md has it, inside kernels/ as kernels/README.md does.

A file includes from its own layer and from those above it in LAYERS. Files include each other in no
ring. Tests and benchmarks include what they like, and nothing else includes theirs.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def kernels_rooms():
    """The first column of the table in kernels/README.md, in its order."""
    table = (ROOT / "kernels/README.md").read_text("utf-8").split("\n\n")[1]
    names = re.findall(r"^\| \[?`?([\w/]+[/.])", table, re.MULTILINE)
    return [f"kernels/{name}" for name in names if name != "testing/"]


ROOMS = kernels_rooms()
BEFORE, AFTER = ROOMS[: ROOMS.index("kernels/volta/")], ROOMS[ROOMS.index("kernels/registry.") :]
# A file belongs to the layer that has the longest beginning of its path.
LAYERS = [
    *([room] for room in BEFORE),
    # Tiles of m8n8k4 and of wgmma, which other folders use, too.
    ["kernels/volta/tile/", "kernels/hopper/tile/"],
    [f"kernels/volta/{name}.h" for name in ("padding", "short_blocks")],
    PASSES := ["kernels/volta/backward/", "kernels/volta/forward/"],
    KERNELS := ["kernels/"],
    *([room] for room in AFTER),
    ["reference/"],
    ["sweeps/"],
    ["results/"],
    ["harness/environment_error.h"],
    MODEL := ["harness/model/"],
    ["harness/"],
    ["harness/model/tool/"],
]  # fmt: skip
SOURCES = ("*.h", "*.cc", "*.cu", "*.cuh")
# Layers whose folders do not know each other.
FOLDERS_APART = (PASSES, KERNELS)
# All that the harness's other rooms see of the model.
PREDICTOR = "harness/model/predictor.h"
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def is_test(path):
    name = pathlib.PurePath(path).name
    return name.startswith("test_") or re.search(r"_(test|benchmark)\.\w+$", name) is not None


def layer_of(path):
    """None of what a build writes."""
    found = [(len(start), i) for i, layer in enumerate(LAYERS) for start in layer
             if path.startswith(start)]  # fmt: skip
    return max(found)[1] if found else None


def why_wrong(path, included):
    """Empty where the arrow goes up the table."""
    here, there = layer_of(path), layer_of(included)
    if is_test(path) or there is None:
        return ""
    if is_test(included):
        return "is of tests"
    if there > here:
        return "is further down"
    if LAYERS[there] is MODEL and path.startswith("harness/") and included != PREDICTOR:
        if not path.startswith("harness/model/"):
            return f"is the model's own: only {PREDICTOR} is for others"
    if here == there and LAYERS[here] in FOLDERS_APART:
        folder = 2 if LAYERS[here] is PASSES else 1
        if path.split("/")[folder] != included.split("/")[folder]:
            return "is another folder's"
    return ""


def find_ring(includes):
    """Files that include each other, the first one again at the end; empty where there is none."""
    done, path = set(), []

    def visit(file):
        if file in path:
            return [*path[path.index(file) :], file]
        if file in done:
            return []
        path.append(file)
        ring = next(filter(None, map(visit, includes.get(file, ()))), [])
        path.pop()
        done.add(file)
        return ring

    return next(filter(None, map(visit, includes)), [])


def self_check():
    """That it would see what it looks for."""
    assert why_wrong("kernels/tile/mask.h", "kernels/volta/tile/quad_grid.h")
    assert why_wrong("kernels/volta/forward/steps.h", "kernels/ampere/steps.h")
    assert why_wrong("kernels/volta/tile/quad_grid.h", "kernels/volta/forward/steps.h")
    assert why_wrong("kernels/volta/forward/steps.h", "kernels/volta/backward/block.h")
    assert why_wrong("kernels/volta/forward/steps.h", "kernels/volta/dispatch.h")
    assert not why_wrong("kernels/volta/dispatch.h", "kernels/volta/forward/steps.h")
    assert not why_wrong("kernels/volta/backward/block.h", "kernels/volta/padding.h")
    assert not why_wrong("kernels/baselines/acsr/volta/config.h", "kernels/volta/tile/quad_grid.h")
    assert why_wrong("kernels/mask/key_mask.h", "kernels/problem/attention.h")
    assert why_wrong("kernels/tile/mask.h", "kernels/launch/attention_kernel.h")
    assert why_wrong("kernels/registry.h", "kernels/mask/test_masks.h")
    assert why_wrong("harness/plan/case_start.cc", "harness/model/predict/cycles_file.h")
    assert why_wrong("harness/model/predict/cycles_file.h", "harness/devices/device.h")
    assert why_wrong("harness/cli/program.cc", "harness/model/tool/model_program.h")
    assert not why_wrong("harness/plan/case_start.cc", PREDICTOR)
    assert not why_wrong("harness/model/sass/cuobjdump.cc", "harness/environment_error.h")
    assert not why_wrong("harness/model/tool/predict.cc", "harness/model/predict/cycles_file.h")
    assert not why_wrong("harness/model/tool/predict.cc", "harness/cli/commands.h")
    assert not why_wrong("kernels/volta/mask_test.cc", "reference/exact/exact.h")
    assert find_ring({"a": ["b"], "b": ["c"], "c": ["b"]}) == ["b", "c", "b"]
    assert not find_ring({"a": ["b", "c"], "b": ["c"]})


def main():
    self_check()
    rooms = ("kernels", "reference", "sweeps", "results", "harness")
    files = [path.relative_to(ROOT).as_posix() for room in rooms for pattern in SOURCES
             for path in (ROOT / room).rglob(pattern)]  # fmt: skip
    includes = {file: INCLUDE.findall((ROOT / file).read_text("utf-8")) for file in files}
    wrong = [f"{file}: {other} {why}" for file, others in includes.items() for other in others
             if (why := why_wrong(file, other))]  # fmt: skip
    if ring := find_ring(includes):
        wrong.append("a ring: " + " -> ".join(ring))
    print("\n".join(wrong) or f"{sum(map(len, includes.values()))} includes of {len(files)} files")
    return 1 if wrong or len(files) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
