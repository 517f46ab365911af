#include "reference/cudnn/test_cudnn.h"

#include <memory>
#include <vector>

#include "reference/cudnn/test_execution.h"

namespace sparkbench::cudnn {
namespace {

Raw& raw(void* descriptor) { return *static_cast<Raw*>(descriptor); }

std::size_t size_of(AttributeType type) {
  switch (type) {
    case AttributeType::kBoolean:
    case AttributeType::kChar:
      return 1;
    case AttributeType::kInt64:
    case AttributeType::kDouble:
    case AttributeType::kVoidPointer:
    case AttributeType::kHandle:
      return 8;
    default:
      return 4;
  }
}

int set_attribute(void* descriptor, int attribute, int type, std::int64_t count,
                  const void* elements) {
  State& state = *raw(descriptor);
  const auto name = static_cast<Attribute>(attribute);
  const auto size = static_cast<std::size_t>(count);
  if (static_cast<AttributeType>(type) == AttributeType::kDescriptor) {
    void* const* const descriptors = static_cast<void* const*>(elements);
    for (std::size_t i = 0; i < size; ++i) state.states[name].push_back(raw(descriptors[i]));
  } else {
    const auto* bytes = static_cast<const char*>(elements);
    state.values[name].assign(bytes, bytes + size * size_of(static_cast<AttributeType>(type)));
  }
  return 0;
}

/// Offers one configuration per graph, and no workspace.
int get_attribute(void* descriptor, int attribute, int, std::int64_t wanted, std::int64_t* count,
                  void* elements) {
  *count = 1;
  if (static_cast<Attribute>(attribute) == Attribute::kPlanWorkspaceSize) {
    *static_cast<std::int64_t*>(elements) = 0;
  } else if (wanted > 0) {
    raw(*static_cast<void**>(elements))->states = raw(descriptor)->states;
  }
  return 0;
}

int execute(cudnnContext*, void* plan, void* pack) {
  const State& config = raw(plan)->state(Attribute::kPlanEngineConfig);
  const State& graph = config.state(Attribute::kHeuristicOperationGraph);
  run_graph(*raw(pack), graph.states.at(Attribute::kGraphOperations));
  return 0;
}

}  // namespace

Api fake_api() {
  Api api{};
  api.version = [] { return std::size_t{91901}; };
  api.error_string = [](int) { return "an error"; };
  api.last_error = [](char*, std::size_t) {};
  api.create = [](cudnnContext**) { return 0; };
  api.destroy = [](cudnnContext*) { return 0; };
  api.set_stream = [](cudnnContext*, CUstream_st*) { return 0; };
  api.create_descriptor = [](int, void** descriptor) {
    *descriptor = new Raw(std::make_shared<State>());
    return 0;
  };
  api.destroy_descriptor = [](void* descriptor) {
    delete static_cast<Raw*>(descriptor);
    return 0;
  };
  api.finalize = [](void*) { return 0; };
  api.set_attribute = set_attribute;
  api.get_attribute = get_attribute;
  api.execute = execute;
  return api;
}

}  // namespace sparkbench::cudnn
