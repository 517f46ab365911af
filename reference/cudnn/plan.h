// The kernel that cuDNN chooses for a graph, ready to run.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "reference/cudnn/graph.h"

namespace sparkbench::cudnn {

/// cuDNN's library state on the current device.
class Handle {
 public:
  explicit Handle(const Api& api);
  cudnnContext* get() const { return raw_.get(); }

 private:
  struct Destroy {
    const Api* api;
    void operator()(cudnnContext* raw) const { api->destroy(raw); }
  };
  std::unique_ptr<cudnnContext, Destroy> raw_;
};

/// The configurations that heuristic mode A (PyTorch's choice) offers for a finalized operation
/// graph, best first. They are for the described device, or for the current one if null. Throws
/// UnsupportedError if there is none.
std::vector<Descriptor> engine_configs(const Api& api, const Descriptor& graph,
                                       const Descriptor* device_properties);

class Plan {
 public:
  /// Takes the first configuration that compiles; throws UnsupportedError if none does. `api` and
  /// `handle` must outlive the plan.
  Plan(const Api& api, const Handle& handle, std::unique_ptr<const Graph> graph);

  std::size_t workspace_bytes() const;

  /// Enqueues the kernel on the stream. `bindings` has every tensor in memory; entries for other
  /// tensors, which cuDNN would refuse, are filtered out.
  void execute(std::span<const Binding> bindings, void* workspace, CUstream_st* stream) const;

 private:
  const Api& api_;
  const Handle& handle_;
  std::unique_ptr<const Graph> graph_;  // owns the scalars
  std::optional<Descriptor> plan_;
};

}  // namespace sparkbench::cudnn
