#include "harness/devices/machine_check.h"

#include <fmt/format.h>
#include <sched.h>

#include <fstream>
#include <map>

#include "results/render/number_format.h"

namespace sparkbench {
namespace {

using Level = MachineFinding::Level;

constexpr std::uint64_t kLeastBytes = std::uint64_t{2} << 30;  // inputs and an exact result, fp64

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  for (std::uint64_t kibibytes = 0; file >> key >> kibibytes; std::getline(file, unit)) {
    if (key == "MemAvailable:") return kibibytes << 10;
  }
  return 0;
}

/// Processors that this process may use.
int count_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

MachineFinding check_load(const MachineState& state) {
  const std::string load =
      fmt::format("load {:.1f} on {} processors", state.load_1min, state.processors);
  if (state.load_1min <= 0.5 * state.processors) return {Level::kGood, load};
  return {Level::kDoubtful,
          load + ": other processes slow the checks, and the emulator; times of a GPU hardly"};
}

MachineFinding check_memory(const MachineState& state) {
  const std::string memory = format_memory(state.available_bytes) + " of memory free";
  if (state.available_bytes >= kLeastBytes) return {Level::kGood, memory};
  return {Level::kUnfit, memory + ": inputs and exact results of long sequences need 2 GiB"};
}

MachineFinding check_build(const BuildInfo& build) {
  if (build.build_type == "Debug" || build.build_type.empty()) {
    return {Level::kUnfit, "a build without optimization: build with CMAKE_BUILD_TYPE=Release"};
  }
  if (build.git_dirty.value_or(true)) {
    return {Level::kDoubtful, "a build of modified or unknown sources: no commit names them"};
  }
  return {Level::kGood, "a " + build.build_type + " build of commit " + *build.git_sha};
}

void check_kernels(const Device& device, std::vector<MachineFinding>& findings) {
  std::map<std::string, std::string> kernels_of;  // by the reason why their times are invalid
  for (const auto& candidate : device.candidates()) {
    if (const auto warning = candidate->why_time_is_invalid()) {
      std::string& kernels = kernels_of[warning->message];
      kernels += (kernels.empty() ? "" : ", ") + candidate->name();
    }
  }
  for (const auto& [why, kernels] : kernels_of) {
    findings.push_back({Level::kDoubtful, std::string(kernels).append(": ").append(why)});
  }
}

/// NVML readings that speak against measuring now.
void check_card(const DeviceInfo& device, std::vector<MachineFinding>& findings) {
  if (device.persistence_mode == false) {
    findings.push_back(
        {Level::kDoubtful,
         "persistence mode is off: the driver starts anew with every run, and clocks "
         "with it; nvidia-smi -pm 1"});
  }
  if (!device.state || !device.state->throttle_reasons) return;
  for (const std::string& reason : *device.state->throttle_reasons) {
    if (reason.find("slowdown") == std::string::npos) continue;
    findings.push_back({Level::kDoubtful, "the clocks are held back now: " + reason});
  }
}

void check_peaks(const DeviceInfo& device, std::vector<MachineFinding>& findings) {
  if (!device.peak_tflops) {
    findings.push_back({Level::kDoubtful, "no peak of the " + device.name +
                                              " is known: impossible times are not recognized"});
  }
}

}  // namespace

MachineState read_machine_state() {
  MachineState state;
  std::ifstream("/proc/loadavg") >> state.load_1min;
  state.processors = count_processors();
  state.available_bytes = available_memory();
  state.cpu_governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  return state;
}

std::vector<MachineFinding> check_machine(const Device& device, const BuildInfo& build,
                                          const MachineState& state) {
  std::vector<MachineFinding> findings = {check_build(build), check_memory(state),
                                          check_load(state)};
  if (device.info().kind != DeviceKind::kGpu) {
    findings.push_back({Level::kGood, "no GPU: errors and counts, which no machine disturbs"});
    return findings;
  }
  if (state.cpu_governor == "powersave") {
    findings.push_back({Level::kDoubtful, "the processor saves power: launches come late"});
  }
  check_peaks(device.info(), findings);
  check_card(device.info(), findings);
  check_kernels(device, findings);
  return findings;
}

}  // namespace sparkbench
