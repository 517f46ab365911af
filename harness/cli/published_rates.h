// The fastest published attention on a V100, shown next to a prediction.
#pragma once

#include <optional>
#include <string_view>

#include "kernels/problem/attention.h"

namespace sparkbench {

struct PublishedRate {
  int head_dim = 0;
  Pass pass = Pass::kForward;
  double tflops = 0;  // useful FLOPs: 4 D per visible pair, 2.5 times that backward
  std::string_view source;
};

/// The fastest dense attention for that head_dim and pass: full mask, no dropout; none if none is
/// published. The tables are in kernels/volta/README.md.
std::optional<PublishedRate> best_published_on_v100(int head_dim, Pass pass);

}  // namespace sparkbench
