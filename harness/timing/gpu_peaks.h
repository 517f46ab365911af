// What a GPU can do at most, by its maker's data sheet.
#pragma once

#include <optional>
#include <string_view>

namespace sparkbench {

struct GpuPeaks {
  double tflops;  // dense fp16 tensor cores with fp32 accumulation, at the boost clock
  double gbps;    // device memory
};

/// By the name that the driver gives. Nothing for a GPU that is not in the table: a guess would
/// look like a fact.
std::optional<GpuPeaks> gpu_peaks(std::string_view driver_name);

/// Dense fp16 tensor FLOPs of one SM in a clock cycle: what no card of the architecture exceeds,
/// whatever it is called. Nothing for one that is not in the table. `sm` is 70, 75, ...
std::optional<int> tensor_flops_per_clock(int sm);

}  // namespace sparkbench
