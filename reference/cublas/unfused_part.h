// The parts of an unfused pass, for a caller that times them one by one.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace sparkbench {

struct UnfusedPart {
  std::string_view name;  // "S = scale Q K^T"
  std::uint64_t bytes;    // read and written, each once
  std::uint64_t flops;    // for a matrix product; 0 for any other part
};

/// Called on the host after a part is enqueued and before the next one is.
using AfterPart = std::function<void(const UnfusedPart&)>;

}  // namespace sparkbench
