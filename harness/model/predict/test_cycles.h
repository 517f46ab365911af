// Cycles of instances for tests: round numbers, no kernel's.
#pragma once

#include <string>

#include "harness/model/predict/cycles_file.h"

namespace sparkbench {

/// 1000, 2000, 3000, 500, 250, 100 and 10 cycles alone; of two residents half as much again; an
/// assumption's are so many times those with accumulators forwarded: 1, 1.05, 1.1, 1.2.
inline InstanceCycles test_instance(const std::string& id, int blocks_per_sm) {
  InstanceCycles instance{.id = id,
                          .code_hash = "0123456789abcdef",
                          .threads = 128,
                          .blocks_per_sm = blocks_per_sm,
                          .loop_bytes = 20000,
                          .binding = "issue",
                          .stages = {}};
  const double slower[] = {1.0, 1.05, 1.1, 1.2};
  for (int assumption = 0; assumption < kChipAssumptions; ++assumption) {
    for (int residents = 1; residents <= blocks_per_sm; ++residents) {
      const double times = slower[assumption] * (0.5 + 0.5 * residents);
      instance.stages.at(static_cast<std::size_t>(assumption))
          .push_back({1000 * times, 2000 * times, 3000 * times, 500 * times, 250 * times,
                      100 * times, 10 * times});
    }
  }
  return instance;
}

/// Kernels of volta-fp32acc at head_dim 64, forward and backward.
inline CyclesFile test_cycles() {
  CyclesFile file;
  file.toolkit = "11.8";
  file.instances = {test_instance("volta-fp32acc/fwd/d64", 2),
                    test_instance("volta-fp32acc/fwd/d64/dropout", 2),
                    test_instance("volta-fp32acc/bwd/d64", 1)};
  return file;
}

}  // namespace sparkbench
