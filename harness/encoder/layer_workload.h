// An encoder layer as a workload, on an emulated device or on a GPU.
#pragma once

#include <optional>

#include "harness/encoder/gpu_layer_runner.h"
#include "harness/encoder/layer_runner.h"
#include "harness/run/case_workload.h"

namespace sparkbench {

class LayerWorkload : public CaseWorkload {
 public:
  LayerWorkload(Device& device, RunSettings settings);

  bool computes(const CaseProblem& problem) const override { return problem.layer.has_value(); }
  const char* command() const override { return "encoder"; }
  /// Bytes: weights, input and output, backward their gradients too. Also sets the stages, and what
  /// a layer holds at most besides its weights.
  void start(const Candidate& candidate, CaseRecord& record) const override;
  /// E-UNSUPPORTED: there are no tokens. E-OOM-PREDICTED: too large for the device, or for the one
  /// that it stands for. E-ONLY-PREDICTED: the layer would take minutes to emulate.
  std::optional<Reason> why_not_run(const CaseRecord& record) const override;
  CasePrediction predict(const PredictedCard& card, CaseRecord& record) const override;
  double host_flops(const CaseRecord& planned) const override;

  void run(const Candidate& candidate, bool is_verified, CaseRecord& record) override;
  void forget() override { gpu_.forget(); }
  void take_errors(CaseRecord& judged, CaseRecord& record) const override;

 private:
  Device& device_;
  RunSettings settings_;
  LayerRunner emulated_;
  GpuLayerRunner gpu_;
};

}  // namespace sparkbench
