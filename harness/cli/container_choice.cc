#include "harness/cli/container_choice.h"

namespace sparkbench {

std::string container_for(std::optional<int> compute_capability) {
  const std::string volta = ".container/volta.Dockerfile", newer = ".container/newer.Dockerfile";
  constexpr int kOldestOfCuda13 = 75;
  if (!compute_capability) return volta + " for a V100, " + newer + " for newer cards";
  if (*compute_capability < kOldestOfCuda13) {
    return volta + ", of CUDA 12.9: later ones do not compile for this card";
  }
  return newer + ", of CUDA 13";
}

}  // namespace sparkbench
