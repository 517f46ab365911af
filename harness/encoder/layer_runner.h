// Runs an encoder layer on an emulated device and verifies it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/candidates/candidate.h"
#include "harness/plan/run_settings.h"
#include "reference/encoder/layer_errors.h"

namespace sparkbench {

/// The part of a layer that is computed and checked: some sequences, and rows of these.
struct LayerPart {
  Problem problem;
  LayerRows rows;
  bool is_everything = false;
};

/// If all sequences have one length, the first; for varlen, as many leading ones as are affordable.
/// If even the first that is not empty is too expensive, its last tile of kSampleRows; none if that
/// is too expensive too. A backward pass is checked whole.
std::optional<LayerPart> part_to_check(const CaseProblem& problem);

struct OwnLayer;

class LayerRunner {
 public:
  /// Puts errors and verdict into the record (layer_verdict.h). Computes only what is verified.
  /// Layers of one problem should be adjacent, because they share their oracle.
  void run(const Candidate& candidate, const RunSettings& settings, CaseRecord& record);

 private:
  struct Checked;
  void prepare(const CaseProblem& problem, const OwnLayer* own);
  const std::vector<PartError>& unfused_errors(const TensorCores& tensor_cores);

  std::shared_ptr<Checked> checked_;
};

}  // namespace sparkbench
