// An encoder layer in a device's memory, and what is asked of it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/candidates/candidate.h"
#include "kernels/encoder/layer_steps.h"
#include "reference/encoder/layer_data.h"
#include "reference/encoder/layer_errors.h"

namespace sparkbench {

/// What a layer is of. x and d_y of `tensors` have all tokens of all sequences.
struct LayerWork {
  LayerShape shape;  // its rest is a variant's
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

/// What one variant took.
struct LayerTimes {
  Timing whole;
  std::optional<Timing> baseline;  // of the other variant, by turns; none where memory has no room
  std::optional<Timing> graph;     // of the whole as a CUDA graph
  std::string why_no_graph;
  std::vector<std::pair<std::string, double>> stage_ms;  // medians, by name_of(Stage)
};

/// What a variant was seen to need.
struct LayerNeeds {
  std::uint64_t bytes_over_weights = 0;
  std::optional<int> launches;  // kernels and copies of the pass, counted in a CUDA graph of it
};

class LoadedLayer {
 public:
  virtual ~LoadedLayer() = default;

  /// Computes the layer in fp64 over all tokens, unless it is there. False where the memory has no
  /// room for it.
  virtual bool has_oracle(const RunOptions& options) = 0;
  /// Errors of the output, of what the last residual is added to, of each stage given the oracle's
  /// values rounded to fp16, in the order of the stages, and, of a backward pass, of each gradient.
  /// From poisoned memory.
  virtual std::vector<PartError> errors(const LayerVariant& variant, const RunOptions& options) = 0;
  /// `baseline`, if it is not null, takes turns.
  virtual LayerTimes time(const LayerVariant& variant, const LayerVariant* baseline,
                          const RunOptions& options) = 0;
  virtual LayerNeeds needs(const LayerVariant& variant, const RunOptions& options) = 0;
};

}  // namespace sparkbench
