// The settings that all cases of a run share, from the flags.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "harness/devices/device.h"
#include "harness/run/problems/tensor_file.h"

namespace sparkbench {

class Predictor;

/// Called with the id of a case before it is computed. Tests inject faults there.
using CaseHook = std::function<void(const std::string& case_id)>;

/// The settings that all cases of a run share.
struct RunSettings {
  InputSpec input;
  std::shared_ptr<const OwnInputs> own;  // of --tensors; null: inputs are generated
  bool is_deterministic = false;         // for the backward pass
  bool is_verified = true;
  bool keeps_outputs = false;              // for every case, for CaseRunner::outputs()
  bool times_parts = false;                // for candidates that have parts
  bool is_profiled = false;                // only launches each candidate once
  Method method;                           // as recorded
  CaseHook before_case;                    // may be empty
  const Predictor* predictor = nullptr;    // of a V100's times; null: no predictions
  std::optional<SoftwareFactor> software;  // of predicted eager layers

  /// The error allowed. Without a verdict, any.
  Tolerance tolerance() const {
    return {.ratio = method.tolerance_ratio.value_or(Tolerance{}.ratio)};
  }
};

}  // namespace sparkbench
