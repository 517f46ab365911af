// `info --check`: is this machine fit to measure on?
#pragma once

#include <string>
#include <vector>

#include "harness/devices/device.h"

namespace sparkbench {

struct MachineFinding {
  enum class Level { kGood, kDoubtful, kUnfit } level;
  std::string what;  // "load average 7.9 on 2 processors: other processes take time ..."
};

/// What the kernel says of the machine, so that tests can say it too.
struct MachineState {
  double load_1min = 0;
  int processors = 1;
  std::uint64_t available_bytes = 0;  // of memory
  std::string cpu_governor;           // "" when there is none
};

MachineState read_machine_state();

/// What speaks for and against measuring on this device and machine now. Doubtful are a GPU without
/// known peaks or native kernels, a busy host and unknown sources; unfit are a build without
/// optimization and a host without memory.
std::vector<MachineFinding> check_machine(const Device& device, const BuildInfo& build,
                                          const MachineState& state);

}  // namespace sparkbench
