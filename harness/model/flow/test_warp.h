// For tests: a few instructions, executed for one block.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "harness/model/flow/block_paths.h"
#include "harness/model/flow/warp_walk.h"
#include "harness/model/sass/test_listing.h"

namespace sparkbench {

/// A block of threads whose kernel has these words as parameters.
inline KernelLaunch launch_with(const std::vector<std::uint32_t>& parameters, int threads = 32) {
  return {{4, 3, 2}, {threads, 1, 1}, std::as_bytes(std::span(parameters))};
}

inline const Extents kTestBlock = {3, 2, 1};

/// The path of the first warp.
inline WarpPath path_of(const std::vector<std::string>& instructions,
                        const std::vector<std::uint32_t>& parameters = {}) {
  const LaunchPaths paths(function_of(instructions), launch_with(parameters));
  return paths.of_block(kTestBlock).paths.front();
}

/// Instructions of the path, in order: "0 1 2x 5". Marked are "t" jumps and "x" what no lane
/// executes.
inline std::string text_of(const WarpPath& path) {
  std::string text;
  for (const PathStep& step : path) {
    if (!text.empty()) text += ' ';
    text += std::to_string(step.instruction);
    if (step.is_taken) text += "t";
    if (!step.is_executed) text += "x";
  }
  return text;
}

}  // namespace sparkbench
