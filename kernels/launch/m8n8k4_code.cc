#include "kernels/launch/m8n8k4_code.h"

#include <charconv>

#include "kernels/base/split_text.h"

#ifndef SPARKBENCH_VOLTA_ARCHITECTURES  // a build without CUDA
#define SPARKBENCH_VOLTA_ARCHITECTURES ""
#endif

namespace sparkbench {
namespace {

constexpr int kGeneration = 10;  // 70 and 75 are one: each runs the machine code of those before it

std::string spell(std::string_view architectures) {
  std::string text;
  for (const std::string_view architecture : split_text(architectures, ',')) {
    text.append(text.empty() ? "sm_" : ", sm_").append(architecture);
  }
  return text;
}

}  // namespace

bool runs_code_of(std::string_view architectures, int sm) {
  for (const std::string_view architecture : split_text(architectures, ',')) {
    int compiled = 0;
    std::from_chars(architecture.data(), architecture.data() + architecture.size(), compiled);
    if (compiled <= sm && compiled / kGeneration == sm / kGeneration) return true;
  }
  return false;
}

std::string why_no_code(const KernelDevice& device, std::string_view architectures) {
  if (device.is_emulated || runs_code_of(architectures, device.sm)) return "";
  const std::string sm = "sm_" + std::to_string(device.sm);
  if (is_native(MmaInstruction::kM8n8k4, device.sm)) {
    return sm + " in this build, which has Volta's kernels for " +
           (architectures.empty() ? "no GPU" : spell(architectures));
  }
  return sm +
         " in this build: the kernel is slow there, since those tensor cores have no m8n8k4, and "
         "was left out. Take hopper-fp32acc on sm_90, and PyTorch's or cuDNN's attention on "
         "others. CMake's SPARKBENCH_VOLTA_ARCHITECTURES=all compiles it all the same";
}

std::string why_no_code(const KernelDevice& device) {
  return why_no_code(device, SPARKBENCH_VOLTA_ARCHITECTURES);
}

}  // namespace sparkbench
