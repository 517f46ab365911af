"""Times the work that PyTorch enqueues: by sparkbench's method, or by Triton's do_bench."""

import time

import peer_record


def sample_until_settled(take_sample, arguments, clock=time.perf_counter, sleep=time.sleep):
    """(samples in ms, why the sampling ended): harness/timing/alternation.h for one candidate."""
    samples, begin = [], clock()
    while True:
        sample_begin = clock()
        samples.append(take_sample())
        busy = clock() - sample_begin
        sleep(busy / arguments.duty_cycle - busy)
        seconds = clock() - begin
        ends_block = len(samples) % peer_record.BLOCK_SAMPLES == 0
        if ends_block or seconds >= peer_record.MAX_SECONDS:
            if stop_reason := peer_record.why_stop(samples, seconds, arguments):
                return samples, stop_reason


class Timer:
    """Times the work that a function enqueues, as harness/timing/gpu_timer.h does."""

    def __init__(self, torch, arguments):
        self.torch, self.arguments = torch, arguments
        l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
        self.flush = torch.empty(2 * l2_bytes, dtype=torch.uint8, device="cuda")

    def take_sample(self, launch, hold_cycles):
        """The stream is blocked until everything is queued, so that launch latency is not timed."""
        start, stop = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        if self.arguments.cache == "cold":
            self.flush.zero_()
        self.torch.cuda._sleep(hold_cycles)
        start.record()
        launch()
        stop.record()
        self.torch.cuda.synchronize()
        return start.elapsed_time(stop)

    def warm_up(self, launch):
        """Host seconds per launch."""
        begin, host_s, count = time.perf_counter(), 0.0, 0
        while count < 2 or (time.perf_counter() - begin) * 1e3 < self.arguments.warmup_ms:
            before = time.perf_counter()
            launch()
            host_s = time.perf_counter() - before
            self.torch.cuda.synchronize()
            count += 1
        return host_s

    def hold_cycles(self, launch):
        """Cycles to block the stream for, at least as long as the host takes to launch; also warms
        up."""
        clock_hz = 2e9  # no slower than any GPU's
        return int(2 * (self.warm_up(launch) + 50e-6) * clock_hz)

    def time(self, launch):
        """(samples in ms, why the sampling ended)."""
        hold_cycles = self.hold_cycles(launch)
        return sample_until_settled(lambda: self.take_sample(launch, hold_cycles), self.arguments)


class DoBenchTimer:
    """Triton's do_bench with its own defaults, which PyTorch users time with; for comparison."""

    def __init__(self):
        from triton import testing

        self.do_bench = testing.do_bench

    def time(self, launch):
        """(samples in ms, why the sampling ended)."""
        return self.do_bench(launch, return_mode="all"), "time"


def make_timer(torch, arguments):
    return DoBenchTimer() if arguments.timer == "do_bench" else Timer(torch, arguments)
