// Times of V100s that others published: harness/model/published_v100.json.
//   {"schema": 1,
//    "limits": {"fused-forward": 0.1, ...},      mean absolute error of a class, at most
//    "cycles": {...},                            of others' kernels, as kernels/volta/cycles.json
//    "kernels": [{"id": "cutlass-64x64/d64", "least_head_dim": 40, "head_dim": 64, ...}, ...],
//    "sets": [{"class": "fused-forward", "kind": "fused", "points": [...], ...}, ...]}
// A set is one published table. Its points are [heads, seqlen, head_dim, ms], or of layers
// [batch, seqlen, ms]. Fields that are not named here are for readers: sources, commands, reasons.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/predict/cycles_file.h"
#include "sweeps/case_problem.h"

namespace sparkbench {

enum class PublishedKind { kFused, kChain, kLayer };

/// Another project's fused forward kernel, whose cycles were read from its machine code.
struct PublishedKernel {
  std::string id;  // in the cycles, and in the sets that it ran
  int least_head_dim, head_dim;
  int block_rows, step_columns;
  int output_bytes;  // of an element of O
};

struct PublishedPoint {
  CaseProblem problem;
  double ms;
};

struct PublishedSet {
  std::string class_name, source;
  PublishedKind kind;
  bool is_held_out;
  std::vector<std::string> kernels;  // ids, where the kind is kFused
  /// Launches that the publisher's software adds: how many tensors as large as Q each moves.
  std::vector<double> beside;
  bool has_input_gradient = true;  // of a layer: wants the gradient of its input
  std::vector<PublishedPoint> points;
};

struct PublishedTimes {
  std::map<std::string, double> limits;  // of classes
  CyclesFile cycles;
  std::vector<PublishedKernel> kernels;
  std::vector<PublishedSet> sets;
};

/// Throws std::invalid_argument, one line that says where the text is wrong and what is allowed.
PublishedTimes published_from_json(std::string_view text);

}  // namespace sparkbench
