"""GPU state from NVIDIA's management library: the fields of harness/devices/nvml.h.

Read through NVIDIA's binding for Python, pynvml. Without it, and for values that the driver does
not report, fields are null, with a reason in `why_unknown`.
"""

try:
    import pynvml
except ImportError:
    pynvml = None

REASONS = (
    "gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "sync_boost",
    "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown",
    "display_clock_setting",
)  # fmt: skip
LASTING = ("uuid", "power_limit_w", "ecc", "persistence_mode")
STATE = ("temperature_c", "power_draw_w", "throttle_reasons")


def names_of(bits):
    named = [name for bit, name in enumerate(REASONS) if bits >> bit & 1]
    others = (bit for bit in range(len(REASONS), 64) if bits >> bit & 1)
    return named + [f"bit_{bit}" for bit in others]


class Nvml:
    """`uuid` is the card's, or None if PyTorch does not report it."""

    def __init__(self, uuid):
        self.device, self.driver_version, self.why_no_driver = None, None, None
        self.why_not = self.start(uuid)
        if self.driver_version is None:
            self.why_no_driver = self.why_not

    def start(self, uuid):
        """Why the card cannot be queried, or None."""
        if pynvml is None:
            return "the Python package nvidia-ml-py is not installed"
        try:
            pynvml.nvmlInit()
            self.driver_version = pynvml.nvmlSystemGetDriverVersion()
            if uuid is None:
                return "this PyTorch does not tell the UUID of its card"
            self.device = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        except pynvml.NVMLError as error:
            return str(error)
        return None

    def value_of(self, field):
        ask = {
            "uuid": pynvml.nvmlDeviceGetUUID,
            "power_limit_w": lambda card: pynvml.nvmlDeviceGetEnforcedPowerLimit(card) / 1e3,
            "ecc": lambda card: bool(pynvml.nvmlDeviceGetEccMode(card)[0]),
            "persistence_mode": lambda card: bool(pynvml.nvmlDeviceGetPersistenceMode(card)),
            "temperature_c": lambda card: pynvml.nvmlDeviceGetTemperature(
                card, pynvml.NVML_TEMPERATURE_GPU
            ),
            "power_draw_w": lambda card: pynvml.nvmlDeviceGetPowerUsage(card) / 1e3,
            "throttle_reasons": lambda card: names_of(
                pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(card)  # every driver has this name
            ),
        }
        return ask[field](self.device)

    def read(self, fields, why_unknown):
        """{field: value or None}; reasons for None are added to `why_unknown`."""
        if self.why_not:
            why_unknown.update(dict.fromkeys(fields, self.why_not))
            return dict.fromkeys(fields)
        values = {}
        for field in fields:
            try:
                values[field] = self.value_of(field)
            except pynvml.NVMLError as error:
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
