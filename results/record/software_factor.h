// What the user says that software adds to the model's time of a PyTorch layer. It is no part of
// the model, and not measured here; so it has a name, and records keep both.
#pragma once

#include <string>
#include <string_view>

namespace sparkbench {

struct SoftwareFactor {
  std::string name;   // what it is: "launches-of-pytorch-1.13"
  double factor = 1;  // from 0.1 to 10
};

/// "launches-of-pytorch-1.13=1.32"
std::string text_of(const SoftwareFactor& software);

/// Reads that text, the value of --software-factor. A name has 1 to 64 letters, digits, dots,
/// hyphens and underscores. Throws UsageError.
SoftwareFactor parse_software_factor(std::string_view text);

}  // namespace sparkbench
