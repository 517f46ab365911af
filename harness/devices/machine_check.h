// `info --check`: whether this machine is fit to measure on.
#pragma once

#include <string>
#include <vector>

#include "harness/devices/device.h"

namespace sparkbench {

struct MachineFinding {
  enum class Level { kGood, kDoubtful, kUnfit } level;
  std::string what;  // "load average 7.9 on 2 processors: other processes take time ..."
};

/// The operating system's readings; tests set their own.
struct MachineState {
  double load_1min = 0;
  int processors = 1;
  std::uint64_t available_bytes = 0;  // of memory
  std::string cpu_governor;           // "" if there is none
};

MachineState read_machine_state();

/// Findings about measuring on this device and machine now. Doubtful: a GPU without known peaks or
/// native kernels, a busy host, unknown sources. Unfit: a build without optimization, a host with
/// too little memory.
std::vector<MachineFinding> check_machine(const Device& device, const BuildInfo& build,
                                          const MachineState& state);

}  // namespace sparkbench
