"""scikit-build-core, with a version that tells what a wheel is for: 0.1.0+cu129.sm70, or 0.1.0+cpu.

pip hides what CMake says of a build that succeeds, and shows the version. So CMake is asked ahead
(.cmake/CudaChoice.cmake), and a GPU that cannot be built for ends the installation there.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys

from scikit_build_core import build
from scikit_build_core.build import (  # noqa: F401: hooks of PEP 517 as they are
    get_requires_for_build_editable,
    get_requires_for_build_wheel,
)

ROOT = pathlib.Path(__file__).resolve().parents[2]
_label = None


def cmake_options(config_settings, environment):
    """The options that scikit-build-core gives CMake, from each place where it takes some."""
    options = shlex.split(environment.get("CMAKE_ARGS", ""))
    options += [f"-D{define}" for define in environment.get("SKBUILD_CMAKE_DEFINE", "").split(";")
                if define]  # fmt: skip
    for key, value in (config_settings or {}).items():
        name = key[len("skbuild."):] if key.startswith("skbuild.") else key
        if name.startswith("cmake.define."):
            options.append(f"-D{name[len('cmake.define.'):]}={value}")
        elif name == "cmake.args":
            options += value.split(";") if isinstance(value, str) else value
    return [option for option in options if option.startswith("-D")]


def find_label(config_settings):
    """What the wheel is for. Where CMake refuses that, shows its words and ends."""
    ran = subprocess.run(
        ["cmake", *cmake_options(config_settings, os.environ), "-DSKBUILD=2", "-P",
         ROOT / ".cmake" / "cuda_label.cmake"], text=True, capture_output=True)  # fmt: skip
    sys.stderr.write(ran.stderr)
    if ran.returncode:
        raise SystemExit(1)
    return ran.stdout.strip()


def dynamic_metadata(field, settings=None):
    """The version, as scikit-build-core asks for it."""
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"project\(sparkbench VERSION ([0-9.]+)", text).group(1) + "+" + _label


def _labelled(hook):
    def run(folder, config_settings=None, *more):
        global _label
        _label = find_label(config_settings)
        return hook(folder, config_settings, *more)

    return run


build_wheel = _labelled(build.build_wheel)
build_editable = _labelled(build.build_editable)
prepare_metadata_for_build_wheel = _labelled(build.prepare_metadata_for_build_wheel)
prepare_metadata_for_build_editable = _labelled(build.prepare_metadata_for_build_editable)
