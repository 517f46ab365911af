#include "kernels/volta/instance_launch.h"

#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/ceil_divide.h"
#include "kernels/tile/forward_params.h"
#include "kernels/volta/backward_params.h"
#include "kernels/volta/backward_workspace.h"

namespace sparkbench::volta {
namespace {

/// A device's memory, of which nothing but the addresses is used.
class MadeUpMemory {
 public:
  template <class T>
  T* allocate() {
    next_ += kSpacing;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of a device that is not there
    return reinterpret_cast<T*>(next_);
  }

 private:
  static constexpr std::uintptr_t kSpacing = std::uintptr_t{1} << 37;  // 128 GiB
  std::uintptr_t next_ = std::uintptr_t{1} << 42;
};

ForwardTensors made_up_forward(const Problem& problem) {
  MadeUpMemory memory;
  const Half* const q = memory.allocate<Half>();
  const Half* const k = memory.allocate<Half>();
  const Half* const v = memory.allocate<Half>();
  Half* const o = memory.allocate<Half>();
  return contiguous_tensors(problem, q, k, v, o, memory.allocate<float>());
}

BackwardTensors made_up_backward(const Problem& problem, MadeUpMemory& memory) {
  std::array<Half*, 8> tensors;
  for (Half*& tensor : tensors) tensor = memory.allocate<Half>();
  const auto [q, k, v, o, d_o, dq, dk, dv] = tensors;
  return contiguous_tensors(problem, q, k, v, o, d_o, memory.allocate<float>(), dq, dk, dv);
}

template <class Params>
std::vector<std::byte> bytes_of(const Params& params) {
  static_assert(std::is_trivially_copyable_v<Params>, "a launch copies its parameters");
  std::vector<std::byte> bytes(sizeof params);
  std::memcpy(bytes.data(), &params, sizeof params);
  return bytes;
}

/// Only the sums of dQ are not there in a deterministic pass.
bool is_deterministic(const KernelInstance& instance) {
  return instance.pass() == "bwd-dq" ||
         instance.id.find("/deterministic") != std::string_view::npos;
}

std::vector<std::byte> parameters_of(const KernelInstance& instance, const Problem& problem) {
  if (instance.pass() == "fwd") return bytes_of(forward_params(problem, made_up_forward(problem)));
  MadeUpMemory memory;
  const BackwardTensors tensors = made_up_backward(problem, memory);
  const BackwardWorkspace workspace =
      lay_out_workspace(problem, memory.allocate<void>(), is_deterministic(instance));
  return bytes_of(backward_params(problem, tensors, workspace));
}

/// Heads that have blocks of their own, as forward_gpu.cu and backward_gpu.cu have it.
int heads_of(const KernelInstance& instance, const Problem& problem) {
  return instance.pass() == "bwd" ? problem.key_heads() : problem.heads;
}

/// Rows of a head that the instance's blocks share, as forward_gpu.cu and backward_gpu.cu do.
int rows_of(const KernelInstance& instance, const Problem& problem) {
  if (instance.pass() == "bwd") return problem.seqlen_k;
  return instance.pass() == "bwd-statistics" ? workspace_rows(problem.seqlen_q) : problem.seqlen_q;
}

void check(const KernelInstance& instance, const Problem& problem) {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(std::string(instance.id) + " is not for " + why);
  };
  if (instance.head_dim != problem.head_dim) {
    refuse("head_dim " + std::to_string(problem.head_dim));
  }
  const bool drops = problem.dropout().threshold != 0;
  const bool scores = instance.products > 0;
  if (scores && drops != instance.has_dropout) {
    refuse(drops ? "problems with dropout" : "problems without dropout");
  }
}

}  // namespace

InstanceLaunch launch_of(const KernelInstance& instance, const Problem& problem) {
  check(instance, problem);
  return {{ceil_divide(rows_of(instance, problem), instance.block_rows),
           heads_of(instance, problem), problem.batch},
          instance.threads,
          instance.dynamic_shared_bytes,
          parameters_of(instance, problem)};
}

}  // namespace sparkbench::volta
