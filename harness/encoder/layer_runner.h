// Runs an encoder layer on an emulated device, and judges it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/candidates/candidate.h"
#include "harness/plan/run_settings.h"
#include "reference/encoder/layer_errors.h"

namespace sparkbench {

/// What of a layer is computed and checked: some of its sequences, and rows of these.
struct LayerPart {
  Problem problem;
  LayerRows rows;
  bool is_everything = false;
};

/// Of sequences that are alike, the first; of packed ones, as many of the first as do not take too
/// long. Where one alone, the first that is not empty, takes too long, the last tile of kSampleRows
/// of it; none where that does, too. A backward pass is checked whole.
std::optional<LayerPart> part_to_check(const CaseProblem& problem);

class LayerRunner {
 public:
  /// Puts errors and verdict into the record (layer_verdict.h). What is not verified is not
  /// computed. Layers of one problem should follow each other: they share their oracle.
  void run(const Candidate& candidate, const RunSettings& settings, CaseRecord& record);

 private:
  struct Checked;
  void prepare(const CaseProblem& problem, const OwnLayer* own);
  const std::vector<PartError>& unfused_errors(const TensorCores& tensor_cores);

  std::shared_ptr<Checked> checked_;
};

}  // namespace sparkbench
