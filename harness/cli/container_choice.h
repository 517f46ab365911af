// Chooses the file in .container/ for a card.
#pragma once

#include <optional>
#include <string>

namespace sparkbench {

/// By the GPU's compute capability, 70 for a V100; without a GPU it names both.
std::string container_for(std::optional<int> compute_capability);

}  // namespace sparkbench
