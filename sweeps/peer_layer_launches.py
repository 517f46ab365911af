"""What PyTorch's profiler reports about a pass: how many kernels it and each of its stages launch,
and which operations it calls."""

import contextlib

MARK = "sparkbench stage "


class Event:
    """An event of a profile: its name, whether it ran on a device, and its start and end in
    microseconds."""

    def __init__(self, name, is_on_device, begin, end):
        self.name, self.is_on_device, self.begin, self.end = name, is_on_device, begin, end


def is_kernel(event):
    """Excludes copies and memory fills."""
    return event.is_on_device and not event.name.startswith(("Memcpy", "Memset"))


def events_of(found, on_host):
    """PyTorch's events, except the device's copies of user-named ranges. `on_host` is the device
    type of host events."""
    events = []
    for event in found:
        is_on_device = event.device_type != on_host
        is_range = event.is_user_annotation or event.name.startswith(MARK)
        if not (is_on_device and is_range):
            times = event.time_range.start, event.time_range.end
            events.append(Event(event.name, is_on_device, *times))
    return events


def profile(torch, function):
    """Events of the function's calls and launches."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)
        torch.cuda.synchronize()
    with torch.profiler.profile(activities=activities) as profiler:
        function()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    return events_of(profiler.events(), torch.autograd.DeviceType.CPU)


def operations_of(events):
    return {event.name for event in events if not event.is_on_device}


def kernels_in(events):
    return sum(is_kernel(event) for event in events)


def kernels_by_stage(events, names):
    """{stage: kernels}: the kernels that ran between the stage's marks; the device is idle between
    stages."""
    counts = dict.fromkeys(names, 0)
    kernels = [event for event in events if is_kernel(event)]
    for mark in (event for event in events if event.name.startswith(MARK)):
        counts[mark.name.removeprefix(MARK)] += sum(
            mark.begin <= kernel.begin and kernel.end <= mark.end for kernel in kernels
        )
    return counts


def marked(torch):
    """A context for counting a stage; nothing else runs meanwhile."""

    @contextlib.contextmanager
    def around(name):
        torch.cuda.synchronize()
        with torch.profiler.record_function(MARK + name):
            yield
            torch.cuda.synchronize()

    return around
