"""What PyTorch's profiler sees of a pass: how many kernels it launches, of each stage too, and which
operations it calls."""

import contextlib

MARK = "sparkbench stage "


def is_kernel(event):
    """Of a device, and no copy, no filling of memory, and no range that somebody marked."""
    return event.is_on_device and not event.name.startswith(("Memcpy", "Memset", MARK))


class Event:
    """Of a profile: a name, whether a device ran it, and from when to when in microseconds."""

    def __init__(self, name, is_on_device, begin, end):
        self.name, self.is_on_device, self.begin, self.end = name, is_on_device, begin, end


def profile(torch, function):
    """Events of what the function calls and launches."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)
        torch.cuda.synchronize()
    with torch.profiler.profile(activities=activities) as profiler:
        function()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    cpu = torch.autograd.DeviceType.CPU
    return [
        Event(event.name, event.device_type != cpu, event.time_range.start, event.time_range.end)
        for event in profiler.events()
    ]


def operations_of(events):
    return {event.name for event in events if not event.is_on_device}


def kernels_in(events):
    return sum(is_kernel(event) for event in events)


def kernels_by_stage(events, names):
    """{stage: kernels}: those that ran within its marks, between which the device is idle."""
    counts = dict.fromkeys(names, 0)
    marks = [event for event in events if event.name.startswith(MARK) and not event.is_on_device]
    for mark in marks:
        counts[mark.name.removeprefix(MARK)] += sum(
            is_kernel(event) and mark.begin <= event.begin and event.end <= mark.end
            for event in events
        )
    return counts


def marked(torch):
    """The context of a stage that is counted: nothing else runs while it does."""

    @contextlib.contextmanager
    def around(name):
        torch.cuda.synchronize()
        with torch.profiler.record_function(MARK + name):
            yield
            torch.cuda.synchronize()

    return around
