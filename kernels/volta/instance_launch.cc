#include "kernels/volta/instance_launch.h"

#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/base/ceil_divide.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/tile/forward_params.h"
#include "kernels/varlen/emulated_work_list.h"
#include "kernels/volta/backward/params.h"
#include "kernels/volta/backward/relay_plan.h"
#include "kernels/volta/backward/workspace.h"
#include "kernels/volta/packed_lists.h"
#include "kernels/volta/sparse_kinds.h"

namespace sparkbench::volta {
namespace {

ForwardTensors made_up_forward(const Problem& problem) {
  MadeUpMemory memory;
  return sparkbench::made_up_forward(problem, memory);
}

BackwardTensors made_up_backward(const Problem& problem, MadeUpMemory& memory) {
  std::array<Half*, 8> tensors;
  for (Half*& tensor : tensors) tensor = memory.allocate<Half>();
  const auto [q, k, v, o, d_o, dq, dk, dv] = tensors;
  return contiguous_tensors(problem, q, k, v, o, d_o, memory.allocate<float>(), dq, dk, dv);
}

/// Only the sums of dQ are not there in a deterministic pass.
bool is_deterministic(const KernelInstance& instance) {
  return instance.pass() == "bwd-dq" ||
         instance.id.find("/deterministic") != std::string_view::npos;
}

using Parameters = std::vector<std::byte>;

Parameters forward_parameters(const Problem& problem, const WorkItem* items) {
  ForwardParams params = forward_params(problem, made_up_forward(problem));
  params.items = items;
  return bytes_of(params);
}

/// What a block in relay finds that waits for none: the turns of others passed, and their
/// statistics published.
class RelayMemory {
 public:
  /// So many words that tell turns, and rows of statistics.
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

/// `of_rows` has the rows of the workspace.
BackwardParams backward_parameters(const KernelInstance& instance, const Problem& problem,
                                   const Problem& of_rows, const WorkItem* items) {
  MadeUpMemory memory;
  const BackwardTensors tensors = made_up_backward(problem, memory);
  BackwardParams params = backward_params(
      problem, tensors,
      lay_out_workspace(of_rows, memory.allocate<void>(), is_deterministic(instance)));
  params.query_items = params.key_items = items;  // an instance reads one of them
  return params;
}

MemoryContents at_lists(std::vector<std::byte> bytes) {
  return {reinterpret_cast<std::uintptr_t>(MadeUpMemory::lists()), std::move(bytes)};
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

InstanceLaunch dense_launch(const KernelInstance& instance, const Problem& problem) {
  std::optional<MemoryContents> memory;
  Parameters parameters;
  if (instance.pass() == "fwd") {
    parameters = forward_parameters(problem, nullptr);
  } else {
    BackwardParams params = backward_parameters(instance, problem, problem, nullptr);
    if (instance.relays_dq) {
      const int slot_bits = relay_slot_bits(problem);
      RelayMemory of_relay(std::size_t{1} << slot_bits, all_workspace_rows(problem));
      params.relay = make_relay(problem, slot_bits, of_relay.turns());
      params.workspace.statistics = of_relay.statistics();
      memory = at_lists(of_relay.take_bytes());
    }
    parameters = bytes_of(params);
  }
  return {{ceil_divide(rows_of(instance, problem), instance.block_rows),
           heads_of(instance, problem), problem.batch},
          instance.threads,
          instance.dynamic_shared_bytes,
          std::move(parameters),
          std::move(memory)};
}

/// Where sequences of one length begin.
std::vector<int> cumulative(int length, int batch) {
  std::vector<int> begins;
  for (int i = 0; i <= batch; ++i) begins.push_back(i * length);
  return begins;
}

/// Of an instance's blocks, as packed_gpu.cu has it.
WorkListKind list_kind(const KernelInstance& instance) {
  if (instance.pass() == "fwd") return {false, instance.block_rows};
  if (instance.pass() != "bwd") return kQueryList;
  return {true, instance.block_rows};
}

InstanceLaunch packed_launch(const KernelInstance& instance, const Problem& problem) {
  Problem packed = problem;
  packed.batch = 1;
  packed.seqlen_q *= problem.batch;
  packed.seqlen_k *= problem.batch;
  const std::vector<int> begins_q = cumulative(problem.seqlen_q, problem.batch);
  const std::vector<int> begins_k = cumulative(problem.seqlen_k, problem.batch);
  const WorkListKind kind = list_kind(instance);
  const EmulatedWorkList list(packed, {problem.batch, begins_q.data(), begins_k.data()}, kind);
  list.emulate({.profile = &arithmetic_profile("volta"), .detect = false, .count = false});
  const auto items = std::as_bytes(std::span(list.items(), static_cast<std::size_t>(list.size())));
  std::vector<std::byte> lists(items.begin(), items.end());
  const auto* const place = static_cast<const WorkItem*>(MadeUpMemory::lists());
  Parameters parameters;
  if (instance.pass() == "fwd") {
    parameters = forward_parameters(packed, place);
  } else {
    const Problem rows = workspace_problem(packed, problem.batch);
    parameters = bytes_of(backward_parameters(instance, packed, rows, place));
  }
  const int blocks_of_item = kind.block_rows / instance.block_rows * heads_of(instance, problem);
  return {packed_grid(blocks_of_item, list.size()), instance.threads, instance.dynamic_shared_bytes,
          std::move(parameters), at_lists(std::move(lists))};
}

/// The lists of an instance, as sparse_gpu.cu has it.
SparseListKind sparse_kind(const KernelInstance& instance) {
  const bool is_of_keys = instance.pass() == "bwd";
  return {is_of_keys, instance.block_rows, instance.step_columns / instance.teams};
}

InstanceLaunch sparse_launch(const KernelInstance& instance, const Problem& problem) {
  const Problem dense = without_pattern(problem);
  const auto mask =
      problem.sparse ? problem.sparse
                     : make_sparse_mask(name_of(problem.mask), problem.seqlen_q, problem.seqlen_k);
  const SparseTileLists tiles(*mask, sparse_kind(instance));
  std::vector<std::byte> bytes(tiles.bytes());
  tiles.write(bytes.data());
  const void* const place = MadeUpMemory::lists();
  const SparseLists lists = tiles.at(place);
  Parameters parameters;
  if (instance.pass() == "fwd") {
    ForwardParams params = forward_params(dense, made_up_forward(dense));
    params.sparse = lists;
    parameters = bytes_of(params);
  } else {
    MadeUpMemory memory;
    const BackwardTensors tensors = made_up_backward(dense, memory);
    BackwardParams params = backward_params(
        dense, tensors,
        lay_out_workspace(dense, memory.allocate<void>(), is_deterministic(instance)));
    params.sparse_queries = params.sparse_keys = lists;  // an instance reads one of them
    params.walk =
        group_walk(sparse_kind(instance).step * static_cast<int>(tiles.all_tiles().size()), 0,
                   problem.group_size());
    parameters = bytes_of(params);
  }
  return {{heads_of(instance, problem), tiles.blocks_of_head(), problem.batch},
          instance.threads,
          instance.dynamic_shared_bytes,
          std::move(parameters),
          MemoryContents{reinterpret_cast<std::uintptr_t>(place), std::move(bytes)}};
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
