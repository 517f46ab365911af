#include "kernels/volta/instance_launch.h"

#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/block_sparse/pattern_parts.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/tile/forward_params.h"
#include "kernels/varlen/emulated_work_list.h"
#include "kernels/volta/backward/params.h"
#include "kernels/volta/backward/relay_plan.h"
#include "kernels/volta/backward/workspace.h"
#include "kernels/volta/plan.h"

namespace sparkbench::volta {
namespace {

ForwardTensors made_up_forward(const Problem& problem) {
  MadeUpMemory memory;
  return sparkbench::made_up_forward(problem, memory);
}

BackwardTensors made_up_backward(const Problem& problem, MadeUpMemory& memory) {
  std::array<Bits16*, 8> tensors;
  for (Bits16*& tensor : tensors) tensor = memory.allocate<Bits16>();
  const auto [q, k, v, o, d_o, dq, dk, dv] = tensors;
  return contiguous_tensors(problem, q, k, v, o, d_o, memory.allocate<float>(), dq, dk, dv);
}

/// Only the sums of dQ are not there in a deterministic pass.
bool is_deterministic(const KernelInstance& instance) {
  return instance.pass() == "bwd-dq" ||
         instance.id.find("/deterministic") != std::string_view::npos;
}

/// Memory in which a block that uses the dQ semaphore waits for no other: all turns have passed,
/// and all statistics are published.
class RelayMemory {
 public:
  /// So many semaphores, and rows of statistics.
  RelayMemory(std::size_t turns, std::size_t rows) {
    const std::vector<int> passed(turns, 0x7fffffff);
    const auto of_turns = std::as_bytes(std::span(passed));
    bytes_.assign(of_turns.begin(), of_turns.end());
    statistics_ =
        (bytes_.size() + kStatisticsAlignment - 1) / kStatisticsAlignment * kStatisticsAlignment;
    bytes_.resize(statistics_ + rows * sizeof(RowStatistics));
  }
  std::uint32_t* turns() const { return at<std::uint32_t>(0); }
  RowStatistics* statistics() const { return at<RowStatistics>(statistics_); }
  std::vector<std::byte> take_bytes() { return std::move(bytes_); }

 private:
  static constexpr std::size_t kStatisticsAlignment = 1024;

  template <class T>
  static T* at(std::size_t offset) {
    auto* const first = static_cast<std::byte*>(const_cast<void*>(MadeUpMemory::lists()));
    return reinterpret_cast<T*>(first + offset);
  }

  std::vector<std::byte> bytes_;
  std::size_t statistics_;
};

MemoryContents at_lists(std::vector<std::byte> bytes) {
  return {reinterpret_cast<std::uintptr_t>(MadeUpMemory::lists()), std::move(bytes)};
}

/// `rows` has the rows of the workspace.
BackwardParams backward_parameters(const KernelInstance& instance, const Problem& problem,
                                   const Problem& rows) {
  MadeUpMemory memory;
  const BackwardTensors tensors = made_up_backward(problem, memory);
  DeviceWorkspace workspace(memory.allocate<void>());
  return backward_params(problem, tensors,
                         take_workspace(rows, is_deterministic(instance), workspace));
}

InstanceLaunch launch_of_step(const Step& step, std::optional<MemoryContents> lists) {
  const auto* const bytes = static_cast<const std::byte*>(step.params.data());
  return {step.grid,
          step.instance->threads,
          step.instance->dynamic_shared_bytes,
          {bytes, bytes + step.params.size()},
          std::move(lists)};
}

InstanceLaunch dense_launch(const KernelInstance& instance, const Problem& problem) {
  if (instance.pass() == "fwd") {
    const ForwardParams params = forward_params(problem, made_up_forward(problem));
    return launch_of_step(dense_step(instance, problem, ParamBytes(params)), {});
  }
  BackwardParams params = backward_parameters(instance, problem, problem);
  std::optional<MemoryContents> memory;
  if (instance.relays_dq) {
    const int slot_bits = relay_slot_bits(problem);
    RelayMemory of_relay(std::size_t{1} << slot_bits, all_workspace_rows(problem));
    params.relay = make_relay(problem, slot_bits, of_relay.turns());
    params.workspace.statistics = of_relay.statistics();
    memory = at_lists(of_relay.take_bytes());
  }
  return launch_of_step(dense_step(instance, problem, ParamBytes(params)), std::move(memory));
}

/// Where sequences of one length begin.
std::vector<int> cumulative(int length, int batch) {
  std::vector<int> begins;
  for (int i = 0; i <= batch; ++i) begins.push_back(i * length);
  return begins;
}

InstanceLaunch packed_launch(const KernelInstance& instance, const Problem& problem) {
  Problem packed = problem;
  packed.batch = 1;
  packed.seqlen_q *= problem.batch;
  packed.seqlen_k *= problem.batch;
  const std::vector<int> begins_q = cumulative(problem.seqlen_q, problem.batch);
  const std::vector<int> begins_k = cumulative(problem.seqlen_k, problem.batch);
  const EmulatedWorkList list(packed, {problem.batch, begins_q.data(), begins_k.data()},
                              work_list_kind(instance));
  list.emulate({.profile = &arithmetic_profile("volta"), .detect = false, .count = false});
  const auto items = std::as_bytes(std::span(list.items(), static_cast<std::size_t>(list.size())));
  const auto* const place = static_cast<const WorkItem*>(MadeUpMemory::lists());
  ParamBytes parameters;
  if (instance.pass() == "fwd") {
    ForwardParams params = forward_params(packed, made_up_forward(packed));
    params.items = place;
    parameters = ParamBytes(params);
  } else {
    BackwardParams params =
        backward_parameters(instance, packed, workspace_problem(packed, problem.batch));
    params.query_items = params.key_items = place;  // an instance reads one of them
    parameters = ParamBytes(params);
  }
  return launch_of_step(varlen_step(instance, packed, list.size(), std::move(parameters)),
                        at_lists({items.begin(), items.end()}));
}

InstanceLaunch sparse_launch(const KernelInstance& instance, const Problem& problem) {
  const Problem dense = without_pattern(problem);
  const auto mask =
      problem.sparse ? problem.sparse
                     : make_sparse_mask(name_of(problem.mask), problem.seqlen_q, problem.seqlen_k);
  const SparseTileLists tiles(*mask, list_kind_of(instance));
  std::vector<std::byte> bytes(tiles.bytes());
  tiles.write(bytes.data());
  const SparseLists lists = tiles.at(MadeUpMemory::lists());
  ParamBytes parameters;
  if (instance.pass() == "fwd") {
    ForwardParams params = forward_params(dense, made_up_forward(dense));
    params.sparse = lists;
    parameters = ParamBytes(params);
  } else {
    BackwardParams params = backward_parameters(instance, dense, dense);
    params.sparse_queries = params.sparse_keys = lists;  // an instance reads one of them
    params.walk = walk_of_lists(instance, tiles, 0, problem.group_size());
    parameters = ParamBytes(params);
  }
  return launch_of_step(listed_step(instance, dense, tiles, std::move(parameters)),
                        at_lists(std::move(bytes)));
}

void check(const KernelInstance& instance, const Problem& problem) {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(std::string(instance.id) + " is not for " + why);
  };
  if (!instance.serves(problem.head_dim)) {
    refuse("head_dim " + std::to_string(problem.head_dim));
  }
  if (problem.sparse && !instance.is_sparse) refuse("patterns");
  const bool drops = problem.dropout().threshold != 0;
  const bool scores = instance.products > 0;
  if (scores && drops != instance.has_dropout) {
    refuse(drops ? "problems with dropout" : "problems without dropout");
  }
}

}  // namespace

InstanceLaunch launch_of(const KernelInstance& instance, const Problem& problem) {
  check(instance, problem);
  if (instance.is_sparse) return sparse_launch(instance, problem);
  return instance.is_packed ? packed_launch(instance, problem) : dense_launch(instance, problem);
}

}  // namespace sparkbench::volta
