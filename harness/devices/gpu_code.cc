#include "harness/devices/gpu_code.h"

#include <fmt/format.h>

#include <cstdio>

namespace sparkbench {
namespace {

/// 100 * major + minor.
using CudaVersion = int;

/// The CUDA releases that compile for an architecture (from release notes, and from `nvcc
/// --list-gpu-code` of 11.8, 12.9 and 13.0).
struct KnownSince {
  int sm;
  CudaVersion first, last;  // last: 0 if still supported
};
constexpr KnownSince kKnown[] = {
    {70, 900, 1209}, {72, 902, 1209}, {75, 1000, 0},  {80, 1100, 0},
    {86, 1101, 0},   {87, 1104, 0},   {89, 1108, 0},  {90, 1108, 0},
    {100, 1208, 0},  {103, 1209, 0},  {120, 1208, 0}, {121, 1209, 0},
};

CudaVersion parse_version(const std::string& text) {
  int major = 0, minor = 0;
  return std::sscanf(text.c_str(), "%d.%d", &major, &minor) == 2 ? 100 * major + minor : 0;
}

std::string spell(CudaVersion version) {
  return fmt::format("{}.{}", version / 100, version % 100);
}

/// " with CUDA 12.9 or older, since ...", or "" if this build's CUDA supports it.
std::string which_cuda(int sm, const std::string& toolkit) {
  const CudaVersion now = parse_version(toolkit);
  for (const auto& [known_sm, first, last] : kKnown) {
    if (known_sm != sm) continue;
    const bool is_too_new = last != 0 && now > last, is_too_old = now < first;
    if (!is_too_new && !is_too_old) return "";
    return fmt::format(" with CUDA {} or {}, since CUDA {}, which built this, does not know sm_{}",
                       spell(is_too_new ? last : first), is_too_new ? "older" : "newer", toolkit,
                       sm);
  }
  return fmt::format(" with a CUDA whose `nvcc --list-gpu-code` names sm_{}", sm);
}

}  // namespace

std::string why_no_code(const std::string& device, const std::string& gpu_name, int sm,
                        const BuildInfo& build) {
  return fmt::format(
      "{} is a {} (sm_{}), and this build has code for sm_{} alone: build anew for it{}: "
      "bash harness/bootstrap.sh sweep --arch {}",
      device, gpu_name, sm, fmt::join(build.cuda_archs, ", sm_"),
      which_cuda(sm, build.cuda_toolkit.value_or("")), sm);
}

}  // namespace sparkbench
