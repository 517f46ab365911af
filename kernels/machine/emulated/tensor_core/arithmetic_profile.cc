#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>
#include <string>

namespace sparkbench {
namespace {

constexpr std::array kProfiles = {
    ArithmeticProfile{.name = "volta",
                      .block_length = 4,
                      .fraction_bits = 23,
                      .is_fma_chain = false,
                      .has_m8n8k4 = true,
                      .has_m16n8k8 = false,
                      .has_m16n8k16 = false,
                      .first_sm = 70},
    ArithmeticProfile{.name = "turing",
                      .block_length = 8,
                      .fraction_bits = 24,
                      .is_fma_chain = false,
                      .has_m8n8k4 = true,
                      .has_m16n8k8 = true,
                      .has_m16n8k16 = false,
                      .first_sm = 75},
    ArithmeticProfile{.name = "ampere",
                      .block_length = 8,
                      .fraction_bits = 24,
                      .is_fma_chain = false,
                      .has_m8n8k4 = false,
                      .has_m16n8k8 = true,
                      .has_m16n8k16 = true,
                      .first_sm = 80},
    ArithmeticProfile{.name = "hopper",
                      .block_length = 16,
                      .fraction_bits = 25,
                      .is_fma_chain = false,
                      .has_m8n8k4 = false,
                      .has_m16n8k8 = true,
                      .has_m16n8k16 = true,
                      .has_wgmma = true,
                      .first_sm = 90},
    ArithmeticProfile{.name = "fma884",
                      .block_length = 4,
                      .fraction_bits = 0,
                      .is_fma_chain = true,
                      .has_m8n8k4 = true,
                      .has_m16n8k8 = false,
                      .has_m16n8k16 = false},
};

std::string allowed_names() {
  std::string names;
  for (const ArithmeticProfile& profile : kProfiles) {
    fmt::format_to(std::back_inserter(names), "{}{}", names.empty() ? "" : ", ", profile.name);
  }
  return names;
}

}  // namespace

std::span<const ArithmeticProfile> arithmetic_profiles() { return kProfiles; }

const ArithmeticProfile& arithmetic_profile(std::string_view name) {
  const auto found = std::find_if(kProfiles.begin(), kProfiles.end(),
                                  [name](const auto& profile) { return profile.name == name; });
  if (found == kProfiles.end()) {
    throw std::invalid_argument(
        fmt::format("unknown arithmetic profile '{}': allowed are {}", name, allowed_names()));
  }
  return *found;
}

}  // namespace sparkbench
