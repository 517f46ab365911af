// Which of the files in .container/ makes an image for a card.
#pragma once

#include <optional>
#include <string>

namespace sparkbench {

/// By the compute capability of a GPU, 70 of a V100; none: of no GPU, for which both are named.
std::string container_for(std::optional<int> compute_capability);

}  // namespace sparkbench
