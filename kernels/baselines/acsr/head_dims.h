// Which head dimensions a row of a table of instances serves.
#pragma once

namespace sparkbench::acsr {

/// The most columns of a tensor.
inline constexpr int kMostHeadDim = 128;

template <class Config>
constexpr bool serves(int head_dim) {
  return head_dim >= Config::kLeastHeadDim && head_dim <= Config::kHeadDim;
}

}  // namespace sparkbench::acsr
