#include "harness/devices/device.h"

#include <stdexcept>

#include "harness/devices/emulated_device.h"
#include "harness/devices/gpu_device.h"
#include "harness/environment_error.h"
#include "sweeps/names.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

constexpr std::string_view kGpuPrefix = "cuda:";

std::unique_ptr<Device> open_gpu_named(std::string_view name) {
  const int count = gpu_count();
  for (int index = 0; index < count; ++index) {
    if (name == std::string(kGpuPrefix) + std::to_string(index)) return open_gpu(index);
  }
  const std::string there =
      count == 0 ? why_no_gpu() : "this machine has cuda:0 to cuda:" + std::to_string(count - 1);
  throw EnvironmentError("--device: no " + std::string(name) + "; " + there);
}

}  // namespace

std::unique_ptr<LoadedLayer> Device::load_layer(const LayerWork& /*work*/) {
  throw std::logic_error(name() + " holds no layers");
}

void Device::add_candidate(std::unique_ptr<const Candidate> /*candidate*/) {
  throw std::logic_error(name() + " takes no other candidates");
}

std::optional<int> gpu_index(const Device& device) {
  if (!device.name().starts_with(kGpuPrefix)) return std::nullopt;
  return std::stoi(device.name().substr(kGpuPrefix.size()));
}

const Candidate& find_candidate(const Device& device, std::string_view name) {
  for (const auto& candidate : device.candidates()) {
    if (candidate->name() == name) return *candidate;
  }
  throw std::invalid_argument("no candidate is called " + std::string(name));
}

std::vector<std::string> device_names() {
  std::vector<std::string> names = emulated_device_names();
  for (int index = gpu_count(); index-- > 0;) {
    names.insert(names.begin(), std::string(kGpuPrefix) + std::to_string(index));
  }
  return names;
}

std::unique_ptr<Device> open_device(std::string_view name) {
  if (name == "auto") {
    return gpu_count() > 0 ? open_gpu(0) : open_emulated_device("emulated-v100");
  }
  if (name.substr(0, kGpuPrefix.size()) == kGpuPrefix) return open_gpu_named(name);
  for (const std::string& known : emulated_device_names()) {
    if (name == known) return open_emulated_device(name);
  }
  std::vector<std::string> allowed = {"auto", "cuda:N"};
  for (std::string& known : emulated_device_names()) allowed.push_back(std::move(known));
  throw UsageError(unknown_name_message("--device", name, allowed));
}

}  // namespace sparkbench
