// Runs an encoder layer on an emulated device, and judges it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/cases/run_settings.h"
#include "harness/devices/contender.h"
#include "reference/encoder/layer_errors.h"

namespace sparkbench {

/// Of the first sequence: all rows, or the last tile of kSampleRows where all take too long; none
/// where those do, too. A backward pass is checked whole.
std::optional<LayerRows> rows_to_check(const CaseProblem& problem);

class LayerRunner {
 public:
  /// Puts errors and verdict into the record (layer_verdict.h). What is not verified is not
  /// computed. Layers of one problem should follow each other: they share their oracle.
  void run(const Contender& contender, const RunSettings& settings, CaseRecord& record);

 private:
  struct Checked;
  void prepare(const CaseProblem& problem, const OwnLayer* own);
  const std::vector<PartError>& unfused_errors(const TensorCores& tensor_cores);

  std::shared_ptr<Checked> checked_;
};

}  // namespace sparkbench
