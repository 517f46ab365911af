// Peak rates of a GPU from its maker's data sheet.
#pragma once

#include <optional>
#include <string_view>

namespace sparkbench {

struct GpuPeaks {
  double tflops;  // dense fp16 tensor cores with fp32 accumulation, at the boost clock
  double gbps;    // device memory
};

/// By the driver's name for the GPU. Empty for a GPU outside the table: a guess would look like a
/// fact.
std::optional<GpuPeaks> gpu_peaks(std::string_view driver_name);

/// Dense fp16 tensor FLOPs per SM and clock cycle: an upper bound for every card of the
/// architecture. Empty for an architecture outside the table. `sm` is 70, 75, ...
std::optional<int> tensor_flops_per_clock(int sm);

}  // namespace sparkbench
