// Runs an encoder layer on a GPU: judges it, and times it, its stages and it as a CUDA graph.
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
  /// Layers of one problem should follow each other: they share weights, oracle and the unfused
  /// layer that they are judged by and take turns with. `unfused` is the attention of that.
  void run(const Candidate& candidate, const Candidate& unfused, Device& device,
           const RunSettings& settings, bool is_verified, CaseRecord& record);
  /// After a failure: a device in doubt gets its layer anew.
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
