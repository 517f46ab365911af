"""Times what PyTorch enqueues: by sparkbench's method, or by Triton's do_bench."""

import time

import peer_record


class Timer:
    """Times what a function enqueues, as harness/timing/gpu_timer.h does."""

    def __init__(self, torch, arguments):
        self.torch, self.arguments = torch, arguments
        l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
        self.flush = torch.empty(2 * l2_bytes, dtype=torch.uint8, device="cuda")

    def sample_batch(self, launch, hold_cycles):
        """The stream is held until all is queued, so that no launch latency is timed."""
        event = self.torch.cuda.Event
        starts = [event(enable_timing=True) for _ in range(peer_record.BLOCK_SAMPLES)]
        stops = [event(enable_timing=True) for _ in range(peer_record.BLOCK_SAMPLES)]
        self.torch.cuda._sleep(hold_cycles)
        for start, stop in zip(starts, stops):
            if self.arguments.cache == "cold":
                self.flush.zero_()
            start.record()
            launch()
            stop.record()
        self.torch.cuda.synchronize()
        return [start.elapsed_time(stop) for start, stop in zip(starts, stops)]

    def warm_up(self, launch):
        """Seconds that one launch takes the host."""
        begin, host_s, count = time.perf_counter(), 0.0, 0
        while count < 2 or (time.perf_counter() - begin) * 1e3 < self.arguments.warmup_ms:
            before = time.perf_counter()
            launch()
            host_s = time.perf_counter() - before
            self.torch.cuda.synchronize()
            count += 1
        return host_s

    def time(self, launch):
        """(samples in ms, what ended the sampling)."""
        clock_hz = 2e9  # no slower than any GPU's: the hold is at least as long as it should be
        hold_cycles = int(2 * peer_record.BLOCK_SAMPLES * (self.warm_up(launch) + 50e-6) * clock_hz)
        samples, stop_reason, begin = [], None, time.perf_counter()
        while stop_reason is None:
            samples += self.sample_batch(launch, hold_cycles)
            seconds = time.perf_counter() - begin
            stop_reason = peer_record.why_stop(samples, seconds, self.arguments)
        return samples, stop_reason


class DoBenchTimer:
    """Triton's do_bench with its own defaults: what PyTorch's users time with, to compare with."""

    def __init__(self):
        from triton import testing

        self.do_bench = testing.do_bench

    def time(self, launch):
        """(samples in ms, what ended the sampling)."""
        return self.do_bench(launch, return_mode="all"), "time"


def make_timer(torch, arguments):
    return DoBenchTimer() if arguments.timer == "do_bench" else Timer(torch, arguments)
