// The interface of an encoder layer in a device's memory.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/candidates/candidate.h"
#include "reference/encoder/layer_data.h"
#include "reference/encoder/layer_errors.h"
#include "reference/encoder/layer_steps.h"

namespace sparkbench {

/// The layer's definition. x and d_y of `tensors` have all tokens of all sequences.
struct LayerWork {
  LayerShape shape;  // its rest comes from a variant
  Problem problem;
  const LayerTensors& tensors;
};

/// One way to compute it.
struct LayerVariant {
  const Candidate& attention;
  Rest rest;

  bool is_same_as(const LayerVariant& other) const {
    return &attention == &other.attention && rest == other.rest;
  }
};

/// The times of one variant.
struct LayerTimes {
  Timing whole;
  std::optional<Timing> baseline;  // of the other variant, interleaved; none if memory has no room
  std::optional<Timing> graph;     // of the whole as a CUDA graph
  std::string why_no_graph;
  std::vector<std::pair<std::string, double>> stage_ms;  // medians, by name_of(Stage)
};

/// The resources that a variant was measured to need.
struct LayerNeeds {
  std::uint64_t bytes_over_weights = 0;
  std::optional<int> launches;  // kernels and copies of the pass, counted in a CUDA graph
};

class LoadedLayer {
 public:
  virtual ~LoadedLayer() = default;

  /// Computes the layer in fp64 over all tokens on first use. False if there is too little memory.
  virtual bool has_oracle(const RunOptions& options) = 0;
  /// Errors of the output, of the branch before the last residual, of each stage given the oracle's
  /// values rounded to fp16 (in the order of the stages), and, for a backward pass, of each
  /// gradient. Memory is poisoned before.
  virtual std::vector<PartError> errors(const LayerVariant& variant, const RunOptions& options) = 0;
  /// Alternates with `baseline`, unless it is null.
  virtual LayerTimes time(const LayerVariant& variant, const LayerVariant* baseline,
                          const RunOptions& options) = 0;
  virtual LayerNeeds needs(const LayerVariant& variant, const RunOptions& options) = 0;
};

}  // namespace sparkbench
