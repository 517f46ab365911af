"""Kernels as the harness calls them: the table of sparkbench_kernel.h, filled with callbacks.

No exception leaves a callback: it becomes a status, and its type and message are last_error()."""

import ctypes
import gc
import itertools
import traceback

from . import _abi, _layer_plan, _plan, _problem
from ._frameworks import framework

_last_error = b""
_plans = {}
_plan_numbers = itertools.count(1)
_prepared = (None, None)  # key and Prepared of the last problem: the harness prepares it again


def set_error(text):
    global _last_error
    _last_error = text.encode(errors="replace")


def address_of(text):
    """Of bytes that somebody keeps."""
    return None if text is None else ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value


def describe(error):
    """ValueError: its first line (attention.py:12)"""
    lines = str(error).strip().splitlines() or [""]
    text = f"{type(error).__name__}: {lines[0]}" if lines[0] else type(error).__name__
    own = __file__.rsplit("/", 1)[0] + "/_"
    frames = [x for x in traceback.extract_tb(error.__traceback__) if not x.filename.startswith(own)]
    if frames:
        text += f" ({frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno})"
    return text


def status_of(error, used):
    if used is not None and used.is_out_of_memory(error):
        return _abi.OUT_OF_MEMORY
    if isinstance(error, MemoryError):
        return _abi.OUT_OF_MEMORY
    return _abi.UNSUPPORTED if isinstance(error, NotImplementedError) else _abi.ERROR


class Table:
    """One kernel on one backend. Must live as long as the process."""

    def __init__(self, kernel, backend, item):
        self.kernel, self.item = kernel, item
        self.framework = None  # imported when it is first needed
        self._reason = b""
        self._texts = [
            None if text is None else str(text).encode()
            for text in (kernel.name, kernel.summary, self._version(), item, kernel.file)
        ]
        self._callbacks = {
            "supports": _abi.SUPPORTS(self._supports),
            "prepare": _abi.PREPARE(self._prepare),
            "forward": _abi.RUN(self._forward),
            "destroy": _abi.DESTROY(self._destroy),
            "last_error": _abi.LAST_ERROR(lambda: address_of(_last_error)),
            "outputs": _abi.RUN(self._outputs),
        }
        if kernel.has_backward:
            self._callbacks["backward"] = _abi.RUN(self._backward)
        if backend == "cuda":
            self._callbacks["peak_bytes"] = _abi.PEAK_BYTES(self._peak_bytes)
        name, summary, version = self._texts[:3]
        self.struct = _abi.Kernel(
            struct_bytes=ctypes.sizeof(_abi.Kernel), name=name, summary=summary, version=version,
            backend=_abi.CUDA if backend == "cuda" else _abi.HOST,
            accumulator=_abi.ACCUMULATORS[kernel.accumulator],
            draws_own_dropout=int(kernel.draws_own_dropout), has_no_lse=0,
            dtypes=1 << _abi.FP16 | 1 << _abi.BF16,
            computes_layers=int(kernel.computes_layers), **self._callbacks,
        )  # fmt: skip

    @property
    def address(self):
        return ctypes.addressof(self.struct)

    @property
    def item_address(self):
        return address_of(self._texts[3])

    @property
    def file_address(self):
        return address_of(self._texts[4])

    def _version(self):
        """The kernel's, or its framework's."""
        try:
            return self.kernel.version or framework(self.kernel.tensors).version
        except Exception:
            return None

    def _guard(self, do):
        """A status. SystemExit and KeyboardInterrupt are a kernel's failure, too."""
        try:
            do()
            return _abi.OK
        except BaseException as error:
            set_error(describe(error))
            status = status_of(error, self.framework)
            error.__traceback__ = None  # whose frames hold tensors
            return status

    def _supports(self, pointer):
        try:
            problem = _problem.Problem(pointer.contents)
            try:
                self.framework = framework(self.kernel.tensors)
            except ImportError as error:
                why = f"{self.kernel.name} needs {self.kernel.tensors}, which is missing: {error}"
            else:
                why = self.framework.why_not(problem) or self.kernel.why_not(problem)
        except BaseException as error:
            why = f"supports() failed: {describe(error)}"
        if not why:
            return None
        self._reason = str(why).encode(errors="replace")
        return address_of(self._reason)

    def _prepare(self, pointer, _workspace, stream, plan_at):
        def do():
            self.framework = framework(self.kernel.tensors)
            plan_at[0] = self._new_plan(_problem.Problem(pointer.contents), stream)

        return self._guard(do)

    def _new_plan(self, problem, stream):
        global _prepared
        key = (self.address, stream, _key_of(problem))
        if _prepared[0] != key:
            _prepared = (None, None)  # whose memory goes first
            gc.collect()
            kind = _layer_plan.PreparedLayer if self.kernel.computes_layers else _plan.Prepared
            _prepared = (key, kind(self.kernel, self.framework, problem, stream))
        else:
            _prepared[1].problem.sees.follow(problem.sees)
        number = next(_plan_numbers)
        _plans[number] = _prepared[1].new_plan()
        return number

    def _forward(self, number, tensors, stream):
        return self._guard(lambda: _plans[number].forward(tensors.contents, stream))

    def _backward(self, number, tensors, stream):
        return self._guard(lambda: _plans[number].backward(tensors.contents, stream))

    def _outputs(self, number, tensors, stream):
        def do():
            located = _plans[number].outputs(stream)
            out = tensors.contents
            if self.kernel.computes_layers:
                _layer_plan.tell(located, out.layer.contents)
                return
            for name in ("o", "dq", "dk", "dv"):
                setattr(out, name, _tensor_of(located.get(name)))
            out.lse = located["lse"].address if "lse" in located else None

        return self._guard(do)

    def _peak_bytes(self, number):
        try:
            return _plans[number].peak_bytes()
        except BaseException:
            return 0

    def _destroy(self, number):
        def do():
            plan = _plans.pop(number, None)
            if plan is not None:
                plan.framework.free_cache(plan.problem)

        self._guard(do)


def _key_of(problem):
    """What tells problems apart. `sees` points to memory of one call of prepare()."""
    return tuple((name, value) for name, value in vars(problem).items() if name != "sees")


def _tensor_of(located):
    if located is None:
        return _abi.Tensor()
    strides = list(located.strides)
    if len(strides) == 3:
        strides.insert(0, 0)
    return _abi.Tensor(located.address, *strides[:3])
