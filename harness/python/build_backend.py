"""The build backend of kernels/python: scikit-build-core, with a version that says for which GPUs."""

import importlib.util
import pathlib
import sys

NAME = "kernels_python_build_backend"
if NAME not in sys.modules:  # its version is made by one hook and asked for by another
    path = pathlib.Path(__file__).resolve().parents[2] / "kernels" / "python" / "build_backend.py"
    spec = importlib.util.spec_from_file_location(NAME, path)
    sys.modules[NAME] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[NAME])
globals().update(
    {name: value for name, value in vars(sys.modules[NAME]).items() if not name.startswith("__")}
)
