#include "harness/run/case_workload.h"

#include <algorithm>
#include <utility>

#include "harness/devices/host_memory.h"
#include "harness/encoder/own_layer.h"
#include "harness/run/problems/own_tensors.h"

namespace sparkbench {

void CaseWorkload::take_errors(CaseRecord& judged, CaseRecord& record) const {
  record.accuracy = std::move(judged.accuracy);
  record.gradient_accuracy = std::move(judged.gradient_accuracy);
}

Workloads::Workloads(Device& device, const RunSettings& settings) {
  workloads_.push_back(make_layer_workload(device, settings));
  workloads_.push_back(make_attention_workload(device, settings));
}

CaseWorkload& Workloads::of(const CaseProblem& problem) const {
  return **std::ranges::find_if(workloads_,
                                [&](const auto& workload) { return workload->computes(problem); });
}

std::shared_ptr<const OwnInputs> read_own_inputs(Workload workload, const std::string& path) {
  if (workload == Workload::kLayer) return std::make_shared<const OwnLayer>(read_own_layer(path));
  return std::make_shared<const OwnTensors>(read_own_tensors(path, host_memory_bytes()));
}

}  // namespace sparkbench
