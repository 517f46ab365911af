// The parts of an unfused pass, for whoever times them one by one.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace sparkbench {

struct UnfusedPart {
  std::string_view name;  // "S = scale Q K^T"
  std::uint64_t bytes;    // read and written, each once
  std::uint64_t flops;    // of a matrix product; 0 of anything else
};

/// Called on the host when a part has been enqueued, those behind it not yet.
using AfterPart = std::function<void(const UnfusedPart&)>;

}  // namespace sparkbench
