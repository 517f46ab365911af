"""The program in this process: libsparkbench_host.so, and what it asks of Python."""

import ctypes
import importlib.util
import os
import pathlib
import signal
import sys

from . import _abi, _items, _table


class Loader:
    """sparkbench_host's functions."""

    def __init__(self):
        self._tables = {}  # item -> [Table]: loaded once
        self._by_address = {}
        self._error = None

    def load(self, item, index):
        self._error = None
        text = item.decode(errors="replace")
        try:
            if text not in self._tables:
                tables = _items.tables_of(text)
                if tables is None:
                    return None
                self._tables[text] = tables
                self._by_address.update((table.address, table) for table in tables)
            tables = self._tables[text]
            return tables[index].address if index < len(tables) else None
        except _items.ItemError as error:
            self._error = str(error).encode()
        except BaseException as error:
            self._error = _table.describe(error).encode(errors="replace")
        return None

    def load_error(self):
        return _table.address_of(self._error)

    def item_of(self, address):
        return self._by_address[address].item_address

    def file_of(self, address):
        return self._by_address[address].file_address


def library_path():
    """The one in this package, or the one that SPARKBENCH_HOST_LIBRARY names."""
    inside = pathlib.Path(__file__).with_name("libsparkbench_host.so")
    return os.environ.get("SPARKBENCH_HOST_LIBRARY") or str(inside)


def runs_cases(argv):
    """Whether this process will load kernels: it is a worker, or has none."""
    flags = {word.split("=")[0] for word in argv}
    return bool(flags & {"--worker", "--in-process", "--dry-run", "--profile", "--save-outputs"})


def has_python_kernels(argv):
    values = [word.split("=", 1)[1] for word in argv if word.startswith("--kernel=")]
    values += [value for flag, value in zip(argv, argv[1:]) if flag == "--kernel"]
    return any(_items.is_python(item) for value in values for item in value.split(","))


def load_library(argv):
    """PyTorch first if its kernels are going to run: each of its CUDA libraries is then its own, and
    not one of another version that the program linked to."""
    if runs_cases(argv) and has_python_kernels(argv) and importlib.util.find_spec("torch"):
        import torch  # noqa: F401
    try:
        library = ctypes.CDLL(library_path())
    except OSError as error:
        print(f"sparkbench: {error}: pip install ./harness/python builds it", file=sys.stderr)
        raise SystemExit(3) from error
    library.sparkbench_main.restype = ctypes.c_int
    library.sparkbench_main.argtypes = [
        ctypes.c_int, ctypes.POINTER(ctypes.c_char_p), ctypes.POINTER(_abi.Host),
    ]  # fmt: skip
    return library


def reset_signals():
    """As a program that is not Python's starts: it ends of Ctrl-C and of a closed pipe."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def main(argv):
    """Runs `sparkbench argv[1:]`; returns its exit status."""
    reset_signals()
    library, loader = load_library(argv), Loader()
    words = [b"sparkbench", *(os.fsencode(word) for word in argv[1:])]
    # -u: what a kernel prints before it kills the process is shown with its case.
    command = [os.fsencode(word) for word in (sys.executable, "-u", "-m", "sparkbench")]
    host = _abi.Host(
        struct_bytes=ctypes.sizeof(_abi.Host),
        worker_command=(ctypes.c_char_p * (len(command) + 1))(*command, None),
        load=_abi.LOAD(loader.load),
        load_error=_abi.LOAD_ERROR(loader.load_error),
        item_of=_abi.TEXT_OF(loader.item_of),
        file_of=_abi.TEXT_OF(loader.file_of),
    )
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    return library.sparkbench_main(
        len(words), (ctypes.c_char_p * (len(words) + 1))(*words, None), ctypes.byref(host)
    )
