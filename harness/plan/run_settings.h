// What is the same for every case of a run, from the flags.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/devices/device.h"
#include "harness/encoder/own_layer.h"
#include "harness/model/predict/cycles_file.h"
#include "sweeps/grid.h"

namespace sparkbench {

struct SweepOptions;

/// Called with the id of a case before it is computed. Tests let things go wrong there.
using CaseHook = std::function<void(const std::string& case_id)>;

/// What is the same for every case of a run.
struct RunSettings {
  InputSpec input;
  std::shared_ptr<const OwnLayer> own_layer;  // null unless layers have the user's own tensors
  TimingOptions timing;
  bool is_deterministic = false;  // of the backward pass
  bool is_verified = true;
  bool keeps_outputs = false;  // of every case, for CaseRunner::outputs()
  bool times_parts = false;    // of candidates that have any
  bool is_profiled = false;    // each candidate is launched once, and nothing else is done
  Tolerance tolerance;
  Method method;         // as it is recorded
  CaseHook before_case;  // may be empty
  /// By which a V100's times are predicted; null: they are not. Outlives the run.
  const CyclesFile* cycles = &embedded_cycles();
};

/// What every case of the run shares, with generated inputs. `is_timed`: whether the command
/// measures time where it can.
RunSettings make_run_settings(const SweepOptions& options, const Device& device, bool is_timed,
                              const std::vector<SweepCase>& cases);

/// Puts the user's own inputs in their place.
void use_tensors(std::shared_ptr<const OwnTensors> tensors, RunSettings& settings);
void use_layer(std::shared_ptr<const OwnLayer> layer, RunSettings& settings);

}  // namespace sparkbench
