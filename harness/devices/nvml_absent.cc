// For a build whose CUDA toolkit has no nvml.h.
#include "harness/devices/nvml.h"

namespace sparkbench {

struct Nvml::Api {};

void Nvml::CloseLibrary::operator()(void* /*library*/) const {}

Nvml::Nvml(const std::string& /*library*/)
    : why_not_("this program was built with a CUDA toolkit that has no nvml.h"),
      why_no_driver_version_(why_not_) {}

Nvml::~Nvml() = default;

NvmlReading Nvml::read(const std::string& /*pci_bus_id*/) const { return nothing_read(why_not_); }

DeviceState Nvml::read_state(const std::string& /*pci_bus_id*/) const { return {}; }

}  // namespace sparkbench
