#include "harness/devices/device_list.h"

#include <algorithm>

#include "harness/devices/device.h"
#include "harness/devices/gpu_device.h"
#include "harness/environment_error.h"
#include "sweeps/list_flag.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

bool is_gpu(const std::string& name) { return name.starts_with("cuda:"); }

std::vector<std::string> all_gpus() {
  std::vector<std::string> names = device_names();
  std::erase_if(names, [](const std::string& name) { return !is_gpu(name); });
  if (names.empty()) {
    throw EnvironmentError("--device: all: " + why_no_gpu());
  }
  return names;
}

}  // namespace

std::vector<std::string> list_devices(const std::string& flag) {
  if (flag == "all") return all_gpus();
  std::vector<std::string> names;
  for (const std::string_view item : split_list("--device", flag)) {
    std::string name(item);
    if (is_gpu(name) && std::find(names.begin(), names.end(), name) != names.end()) {
      throw UsageError("--device: " + name + " is named twice; two cases would share its time");
    }
    names.push_back(std::move(name));
  }
  if (names.size() > 1 && std::find(names.begin(), names.end(), "auto") != names.end()) {
    throw UsageError("--device: auto is one device, which may be in the list already; name it");
  }
  return names;
}

}  // namespace sparkbench
