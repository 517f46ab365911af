// Runs an encoder layer on a GPU: verifies it, and times it as a whole, by stage, and as a CUDA
// graph.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/encoder/loaded_layer.h"
#include "harness/plan/run_settings.h"

namespace sparkbench {

class GpuLayerRunner {
 public:
  /// Layers of one problem should be adjacent: they share weights, oracle and the unfused layer,
  /// which sets their tolerance and whose samples alternate with theirs. `unfused` is that layer's
  /// attention.
  void run(const Candidate& candidate, const Candidate& unfused, Device& device,
           const RunSettings& settings, bool is_verified, CaseRecord& record);
  /// After a failure the device gets the layer again.
  void forget() { loaded_ = nullptr; }

 private:
  struct Loaded;
  void prepare(Device& device, const RunSettings& settings, const CaseProblem& problem);
  const std::vector<PartError>& unfused_errors(const Candidate& unfused, const RunOptions& options);
  void verify(const LayerVariant& variant, const Candidate& unfused, const RunSettings& settings,
              const RunOptions& options, CaseRecord& record);
  void time(const LayerVariant& variant, const Candidate& unfused, const Device& device,
            const RunOptions& options, CaseRecord& record);

  std::shared_ptr<Loaded> loaded_;
};

}  // namespace sparkbench
