#include "reference/cudnn/plan.h"

#include <string>
#include <utility>

#include "kernels/base/unsupported_error.h"

namespace sparkbench::cudnn {
namespace {

cudnnContext* create(const Api& api) {
  cudnnContext* raw = nullptr;
  check(api, api.create(&raw), "cudnnCreate");
  return raw;
}

Descriptor compile(const Api& api, const Handle& handle, const Descriptor& config) {
  Descriptor plan(api, DescriptorType::kExecutionPlan);
  plan.set(Attribute::kPlanHandle, handle.get());
  plan.set(Attribute::kPlanEngineConfig, config);
  plan.finalize();
  return plan;
}

}  // namespace

Handle::Handle(const Api& api) : raw_(create(api), Destroy{&api}) {}

std::vector<Descriptor> engine_configs(const Api& api, const Descriptor& graph,
                                       const Descriptor* device_properties) {
  Descriptor heuristic(api, DescriptorType::kEngineHeuristic);
  heuristic.set(Attribute::kHeuristicOperationGraph, graph);
  heuristic.set(Attribute::kHeuristicMode, HeuristicMode::kA);
  if (device_properties != nullptr) {
    heuristic.set(Attribute::kHeuristicDeviceProperties, *device_properties);
  }
  heuristic.finalize();
  std::vector<Descriptor> configs;
  for (std::int64_t i = heuristic.count(Attribute::kHeuristicResults); i > 0; --i) {
    configs.emplace_back(api, DescriptorType::kEngineConfig);
  }
  const std::int64_t count = heuristic.get(Attribute::kHeuristicResults, configs);
  configs.erase(configs.begin() + count, configs.end());
  if (configs.empty()) throw UnsupportedError("cuDNN has no kernel for this graph");
  return configs;
}

Plan::Plan(const Api& api, const Handle& handle, std::unique_ptr<const Graph> graph)
    : api_(api), handle_(handle), graph_(std::move(graph)) {
  std::string why;
  const Descriptor operations = graph_->finalize(handle.get());
  for (const Descriptor& config : engine_configs(api, operations, nullptr)) {
    try {
      plan_.emplace(compile(api, handle, config));
      return;
    } catch (const UnsupportedError& error) {
      why = error.what();
    }
  }
  throw UnsupportedError(why);
}

std::size_t Plan::workspace_bytes() const {
  return static_cast<std::size_t>(plan_->get_int64(Attribute::kPlanWorkspaceSize));
}

void Plan::execute(std::span<const Binding> bindings, void* workspace, CUstream_st* stream) const {
  std::vector<std::int64_t> ids;
  std::vector<void*> pointers;
  const auto bind = [&](const Binding& binding) {
    ids.push_back(binding.id);
    pointers.push_back(binding.memory);
  };
  for (const Binding& binding : bindings) {
    if (graph_->reads_or_writes(binding.id)) bind(binding);
  }
  for (const Binding& scalar : graph_->bindings()) bind(scalar);
  Descriptor pack(api_, DescriptorType::kVariantPack);
  pack.set(Attribute::kPackUniqueIds, std::span<const std::int64_t>(ids));
  pack.set(Attribute::kPackPointers, std::span<void* const>(pointers));
  pack.set(Attribute::kPackWorkspace, workspace);
  pack.finalize();
  check(api_, api_.set_stream(handle_.get(), stream), "cudnnSetStream");
  check(api_, api_.execute(handle_.get(), plan_->get(), pack.get()), "cudnnBackendExecute");
}

}  // namespace sparkbench::cudnn
