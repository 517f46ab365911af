"""GPU state from NVIDIA's management library: the fields of harness/devices/nvml.h.

Loaded at run time. Without it, and for values that it does not report, fields are null, with a
reason in `why_unknown`.
"""

import ctypes

LIBRARY = "libnvidia-ml.so.1"
TEXT_BYTES = 96
REASONS = (
    "gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "sync_boost",
    "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown",
    "display_clock_setting",
)  # fmt: skip
LASTING = ("uuid", "power_limit_w", "ecc", "persistence_mode")
STATE = ("temperature_c", "power_draw_w", "throttle_reasons")


class Unknown(Exception):
    """The reason why NVML does not report a value."""


def names_of(bits):
    named = [name for bit, name in enumerate(REASONS) if bits >> bit & 1]
    others = (bit for bit in range(len(REASONS), 64) if bits >> bit & 1)
    return named + [f"bit_{bit}" for bit in others]


class Nvml:
    """`uuid` is the card's, or None if PyTorch does not report it."""

    def __init__(self, uuid, library=LIBRARY):
        self.library, self.device, self.why_not = None, ctypes.c_void_p(), None
        self.driver_version, self.why_no_driver = None, None
        try:
            self.library = ctypes.CDLL(library)
            self.call("nvmlInit_v2")
            self.driver_version = self.text("nvmlSystemGetDriverVersion")
            if uuid is None:
                raise Unknown("this PyTorch does not tell the UUID of its card")
            self.call("nvmlDeviceGetHandleByUUID", uuid.encode(), ctypes.byref(self.device))
        except (OSError, Unknown) as error:
            self.why_not = str(error)
        if self.driver_version is None:
            self.why_no_driver = self.why_not

    def call(self, name, *arguments):
        function = getattr(self.library, name, None)
        if function is None:
            raise Unknown(f"this driver's NVML has no {name}")
        if status := function(*arguments):
            self.library.nvmlErrorString.restype = ctypes.c_char_p
            raise Unknown(f"{name}: {self.library.nvmlErrorString(status).decode()}")

    def text(self, name, *arguments):
        text = ctypes.create_string_buffer(TEXT_BYTES)
        self.call(name, *arguments, text, TEXT_BYTES - 1)
        return text.value.decode()

    def number(self, name, *arguments, kind=ctypes.c_uint):
        value = kind()
        self.call(name, self.device, *arguments, ctypes.byref(value))
        return value.value

    def ecc(self):
        current, pending = ctypes.c_uint(), ctypes.c_uint()
        self.call("nvmlDeviceGetEccMode", self.device, ctypes.byref(current), ctypes.byref(pending))
        return bool(current.value)

    def throttle_reasons(self):
        name = "nvmlDeviceGetCurrentClocksEventReasons"
        if getattr(self.library, name, None) is None:
            name = "nvmlDeviceGetCurrentClocksThrottleReasons"  # before driver 535
        return names_of(self.number(name, kind=ctypes.c_ulonglong))

    def value_of(self, field):
        if self.why_not:
            raise Unknown(self.why_not)
        ask = {
            "uuid": lambda: self.text("nvmlDeviceGetUUID", self.device),
            "power_limit_w": lambda: self.number("nvmlDeviceGetEnforcedPowerLimit") / 1e3,
            "ecc": self.ecc,
            "persistence_mode": lambda: bool(self.number("nvmlDeviceGetPersistenceMode")),
            "temperature_c": lambda: self.number("nvmlDeviceGetTemperature", 0),
            "power_draw_w": lambda: self.number("nvmlDeviceGetPowerUsage") / 1e3,
            "throttle_reasons": self.throttle_reasons,
        }
        return ask[field]()

    def read(self, fields, why_unknown):
        """{field: value or None}; reasons for None are added to `why_unknown`."""
        values = {}
        for field in fields:
            try:
                values[field] = self.value_of(field)
            except Unknown as error:
                values[field] = None
                why_unknown[field] = str(error)
        return values

    def state(self):
        return self.read(STATE, {})

    def describe(self):
        """Fields of a record's device."""
        why_unknown = {}
        if self.why_no_driver:
            why_unknown["driver_version"] = self.why_no_driver
        lasting = self.read(LASTING, why_unknown)
        return {**lasting, "state": self.read(STATE, why_unknown), "why_unknown": why_unknown}


def uuid_of(properties):
    """In NVML's form, from torch.cuda.get_device_properties(), which has it since PyTorch 2.4."""
    uuid = getattr(properties, "uuid", None)
    if uuid is None or str(uuid).startswith(("GPU-", "MIG-")):
        return None if uuid is None else str(uuid)
    return f"GPU-{uuid}"
