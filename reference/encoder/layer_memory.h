// The memory of a layer: how long each tensor is live, the peak of that, and each tensor's offset
// in one block, in which later tensors reuse the space of earlier ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reference/encoder/layer_steps.h"

namespace sparkbench {

/// The first and the last launch in whose time a tensor is live; `last` may be the number of
/// launches.
struct TensorLife {
  std::size_t first = 0, last = 0;
  std::uint64_t bytes = 0;
};

/// The lives of all tensors but weights: from the launch that first writes one to the last that
/// reads it. Tensors that no launch writes, such as the layer's input, live from beginning to end,
/// so that a pass can be repeated. y, dx and the gradients of weights live to the end.
std::map<std::string, TensorLife> tensor_lives(const std::vector<LayerStep>& steps);

/// An attention's bytes in addition to the tensors of layer_steps().
struct AttentionMemory {
  std::uint64_t forward = 0, backward = 0;  // while a pass runs
  std::uint64_t kept = 0;  // from the forward to the backward pass: an unfused computation's P
};

/// The most bytes that are live at once, without the weights.
std::uint64_t peak_bytes_over_weights(const std::vector<LayerStep>& steps,
                                      const AttentionMemory& attention);

/// Offsets into one block. No two tensors that are live at once overlap; each begins at a multiple
/// of 256 bytes.
struct LayerPlaces {
  std::map<std::string, std::uint64_t> offset;
  std::uint64_t bytes = 0;
};

/// The lowest free offset for each; of tensors that begin together, the largest first.
LayerPlaces place_tensors(const std::map<std::string, TensorLife>& lives);

}  // namespace sparkbench
