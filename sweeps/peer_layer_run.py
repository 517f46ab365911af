"""Runs a case of `--layer encoder`: verifies it, times it and completes its record."""

import contextlib
import gc
import statistics
import time

import peer_layer
import peer_layer_check
import peer_layer_file
import peer_layer_launches as launches
import peer_layer_record
import peer_layer_stages
import peer_layers
import peer_patterns
import peer_record
import peer_timer
import peer_verdict

DECLINES = ("No available kernel", "No viable backend")
FIRST_LAUNCHES = 3  # they compile, and detect the shapes of a scripted layer
LONGEST_MESSAGE = 400


def message_of(error):
    """In one line; compilers write pages."""
    text = " ".join(str(error).split())
    where = max((text.find(one) for one in DECLINES), default=-1)
    begin = max(0, where - LONGEST_MESSAGE // 2) if len(text) > LONGEST_MESSAGE else 0
    return text[begin : begin + LONGEST_MESSAGE]


def release(torch):
    """Frees the previous case: modules and graphs hold each other."""
    gc.collect()
    torch.cuda.empty_cache()


def measure_peak_over_weights(torch, layer):
    """Peak bytes, without the weights, while the layer computes its pass; includes the input and a
    mask's table. Workspaces that PyTorch keeps from pass to pass are not included."""
    release(torch)
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    layer.step()
    torch.cuda.synchronize()
    given = [layer.x, *layer.masks]
    given += [] if layer.case.direction == "fwd" else [layer.d_y]
    over_inputs = torch.cuda.max_memory_allocated() - before
    return over_inputs + sum(tensor.nbytes for tensor in given)


def time_graph(torch, layer, timer):
    """Median ms of the pass as a CUDA graph. A backward pass uses the stream of its forward pass,
    so both are on the graph's stream."""
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    layer.y = None
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        layer.launch()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            layer.launch()
    samples, _ = timer.time(graph.replay)
    layer.y = None
    return statistics.median(samples)


def add_graph_time(torch, layer, timer, record):
    if record["layer"] is None:
        return
    try:
        record["layer"]["graph_ms"] = time_graph(torch, layer, timer)
    except RuntimeError as error:
        message = f"the layer has no time as a CUDA graph: {message_of(error)}"
        record["warnings"].append(peer_verdict.warning("W-NO-GRAPH", message))


def add_stages(torch, layer, arguments, record):
    """For an eager layer. The stages of other layers cannot be separated."""
    if record["layer"] is None or peer_layers.way_of(layer.case.kernel) != "eager":
        return
    try:
        told = measure_stages(torch, layer, arguments)
    except torch.cuda.OutOfMemoryError as error:
        message = f"cut into its stages the layer does not fit into the memory: {message_of(error)}"
        record["warnings"].append(peer_verdict.warning("W-NO-STAGES", message))
        return
    peer_layer_record.add_stages(record, layer.case, *told)


def measure_stages(torch, layer, arguments):
    """({stage: kernels}, {stage: median ms})"""
    timer = peer_timer.Timer(torch, arguments)  # do_bench holds no stream
    staged = peer_layer_stages.StagedLayer(torch, layer)
    around = launches.marked(torch)
    events = launches.profile(torch, lambda: staged.run(around, ignore))
    counts = launches.kernels_by_stage(events, peer_layer_stages.STAGES)
    cycles = timer.hold_cycles(lambda: staged.run(ignore, ignore))
    times = peer_layer_stages.time_stages(
        torch,
        staged,
        lambda: torch.cuda._sleep(cycles),
        timer.flush if arguments.cache == "cold" else None,
        ignore,
    )
    return counts, times


def ignore(_name):
    """A no-op context for a stage."""
    return contextlib.nullcontext()


class Runner:
    """Runs the cases of a sweep. Tests choose `device` and `compiler`."""

    def __init__(self, torch, device="cuda", compiler="inductor"):
        self.torch, self.device, self.compiler = torch, device, compiler
        self.oracle = peer_layer_check.Oracle(torch, device)

    def run_case(self, torch, timer, case, record, arguments, nvml):
        """Always completes the record."""
        begin = time.perf_counter()
        if why := peer_layers.why_unsupported(case):
            peer_record.end_without_result(record, "skipped", "E-UNSUPPORTED", why)
            return
        try:
            if why := peer_patterns.why_other_pairs(torch, case):
                peer_record.end_without_result(record, "failed", "E-MASK", why)
                return
            self.measure(timer, case, record, arguments, nvml)
        except torch.cuda.OutOfMemoryError as error:
            peer_record.end_without_result(record, "failed", "E-OUT-OF-MEMORY", message_of(error))
        except RuntimeError as error:
            is_declined = isinstance(error, NotImplementedError)
            is_declined |= any(one in str(error) for one in DECLINES)
            status, code = ("skipped", "E-UNSUPPORTED") if is_declined else ("failed", "E-RUN")
            if is_declined:  # only with dropout, after it was verified without
                record.update(accuracy=None, warnings=[])
            peer_record.end_without_result(record, status, code, message_of(error))
        finally:
            torch._dynamo.reset()  # it holds compiled code
            release(torch)
            record["elapsed_s"] = time.perf_counter() - begin

    def tensors_of(self, case, arguments):
        if arguments.tensors:
            path = arguments.tensors
            return peer_layer_file.read_tensors(self.torch, case, path, self.device)
        return peer_layer.draw_tensors(self.torch, case, arguments.seed, self.device)

    def layer_of(self, case, tensors, dropout_p):
        return peer_layer.Layer(self.torch, case, tensors, dropout_p, self.device, self.compiler)

    def verified(self, case, tensors, record, arguments):
        """The layer without dropout, and the errors for its record."""
        layer, ratio = self.layer_of(case, tensors, 0.0), arguments.tolerance_ratio
        try:
            check = peer_layer_check.LayerCheck(self.torch, layer, ratio, self.oracle)
        except self.torch.cuda.OutOfMemoryError as error:
            layer.y = None
            message = f"the layer and its oracle do not fit into the memory: {message_of(error)}"
            record["warnings"].append(peer_verdict.warning("W-NOT-VERIFIED", message))
            peer_record.leave_unverified(record, message)
            return layer, []
        peer_record.add_accuracy(record, check.accuracy(), check.why_incorrect(), check.warnings())
        return layer, check.parts()

    def measure(self, timer, case, record, arguments, nvml):
        torch = self.torch
        tensors = self.tensors_of(case, arguments)
        dropout_p, layer, errors = case.problem["dropout_p"], None, []
        if not arguments.no_verify:
            layer, errors = self.verified(case, tensors, record, arguments)
        else:
            peer_record.leave_unverified(record, "its result was not checked")
        if layer is None or dropout_p > 0:
            layer = self.layer_of(case, tensors, dropout_p)
        release(torch)
        for _ in range(FIRST_LAUNCHES):
            layer.step()
        if case.direction == "bwd":
            layer.forward()
        events = launches.profile(torch, layer.launch)
        if why := peer_layers.why_another_attention(case.kernel, launches.operations_of(events)):
            peer_record.end_without_result(record, "failed", "E-RUN", why)
            return
        samples, stop_reason = timer.time(layer.launch)
        record["device_state"] = nvml.state()
        peer_record.add_timing(record, samples, stop_reason, arguments.timer == "held")
        layer.y = None
        peak_bytes = measure_peak_over_weights(torch, layer)
        count = launches.kernels_in(events)
        peer_layer_record.add_layer(record, case, count, peak_bytes, errors)
        add_stages(torch, layer, arguments, record)
        release(torch)
        add_graph_time(torch, layer, timer, record)
