// The fastest attention that anybody measured on a V100, so that a prediction stands beside it.
#pragma once

#include <optional>
#include <string_view>

#include "kernels/attention.h"

namespace sparkbench {

struct PublishedRate {
  int head_dim = 0;
  Pass pass = Pass::kForward;
  double tflops = 0;  // useful ones: 4 D a visible pair, 2.5 times that backward
  std::string_view source;
};

/// The fastest dense attention of that head dimension and pass: full mask, no dropout; none where
/// nobody published one. kernels/volta/README.md has the tables that they come from.
std::optional<PublishedRate> best_published_on_v100(int head_dim, Pass pass);

}  // namespace sparkbench
