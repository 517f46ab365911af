"""What an item of --kernel stands for: module:function, file.py:function, peers."""

import importlib
import importlib.util
import inspect
import os
import pathlib
import sys

from . import _table
from ._kernel import ItemError, Kernel


def is_python(item):
    """Whether the item is for this loader: not a name, a glob or a shared library."""
    path, _, function = item.partition(":")
    if path == "peers" or path.endswith(".py"):
        return True
    is_module = bool(path) and all(part.isidentifier() for part in path.split("."))
    return is_module and bool(function)


def names_of(module):
    """Its kernels, else its functions: what could have been meant."""
    own = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    kernels = [name for name, value in own.items() if isinstance(value, Kernel)]
    return kernels or [
        name for name, value in own.items()
        if inspect.isfunction(value) and value.__module__ == module.__name__
    ]  # fmt: skip


def import_module(path):
    """The module of this name or file."""
    if not path.endswith(".py"):
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        return importlib.import_module(path)
    file = pathlib.Path(path).resolve()
    if not file.is_file():
        raise ItemError(f"there is no file {path}")
    name = file.stem
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(file):
        return loaded
    if loaded is not None:
        name = "sparkbench_file_" + name  # a library of that name stays what it is
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))  # for its neighbours
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def kernels_of(item):
    """[(Kernel, the item that names it alone)]. Throws ItemError."""
    path, _, name = item.partition(":")
    if path == "peers":
        from . import peers

        return peers.kernels_of(name)
    try:
        module = import_module(path)
    except ItemError:
        raise
    except BaseException as error:
        raise ItemError(f"{path} cannot be imported: {_table.describe(error)}") from error
    if not name:
        kernels = [each for each in names_of(module) if isinstance(getattr(module, each), Kernel)]
        if not kernels:
            raise ItemError(
                f"names no function: {path}:NAME{_of(names_of(module))}; or mark kernels with "
                "@sparkbench.kernel"
            )
        return [(getattr(module, each), f"{path}:{each}") for each in kernels]
    found = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise ItemError(f"{path} has no '{name}'{_of(names_of(module))}")
        found = getattr(found, part)
    if isinstance(found, Kernel):
        return [(found, item)]
    if not callable(found):
        raise ItemError(f"is no function: {type(found).__name__}{_of(names_of(module))}")
    try:
        return [(Kernel(found), item)]
    except (TypeError, ValueError) as error:
        raise ItemError(f"cannot be called as a kernel: {error}") from error


def _of(names):
    return f"; allowed: {', '.join(names)}" if names else ""


def tables_of(item):
    """A Table for each kernel and backend of the item, or None if it is not for this loader. Throws
    ItemError."""
    if not is_python(item):
        return None
    return [
        _table.Table(kernel, backend, alone)
        for kernel, alone in kernels_of(item)
        for backend in kernel.backends
    ]
