#include "kernels/volta/sparse_parts.h"

#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/saturating.h"
#include "kernels/volta/backward_workspace.h"
#include "kernels/volta/dispatch.h"
#include "kernels/volta/sparse_kinds.h"

namespace sparkbench::volta {
namespace {

constexpr std::uint64_t kPartAlignment = 256;

/// Gives each part its place.
class Places {
 public:
  explicit Places(std::uint64_t begin) : end_(begin) {}

  std::uint64_t take(std::uint64_t size) {
    const std::uint64_t blocks = end_ / kPartAlignment + (end_ % kPartAlignment != 0 ? 1 : 0);
    const std::uint64_t begin = saturating_product({blocks, kPartAlignment});
    end_ = saturating_sum({begin, size});
    return begin;
  }
  std::uint64_t end() const { return end_; }

 private:
  std::uint64_t end_;
};

std::uint64_t row_count(const Problem& problem, int heads, int rows) {
  return saturating_product({static_cast<std::uint64_t>(problem.batch),
                             static_cast<std::uint64_t>(heads), static_cast<std::uint64_t>(rows)});
}
std::uint64_t tensor_bytes(const Problem& problem, int heads, int rows) {
  return saturating_product({row_count(problem, heads, rows),
                             static_cast<std::uint64_t>(problem.head_dim), sizeof(Half)});
}

}  // namespace

PartsWorkspace PartsWorkspace::forward(const Problem& problem, int rows) {
  PartsWorkspace made;
  if (rows == 0) return made;
  Places places(0);
  made.o = places.take(tensor_bytes(problem, problem.heads, rows));
  made.lse =
      places.take(saturating_product({row_count(problem, problem.heads, rows), sizeof(float)}));
  made.bytes = places.end();
  return made;
}

PartsWorkspace PartsWorkspace::backward(const Problem& problem, int rows_of_keys,
                                        int rows_of_queries, bool is_deterministic) {
  PartsWorkspace made;
  Places places(backward_workspace_bytes(problem, is_deterministic));
  if (rows_of_keys > 0) {
    made.dk = places.take(tensor_bytes(problem, problem.key_heads(), rows_of_keys));
    made.dv = places.take(tensor_bytes(problem, problem.key_heads(), rows_of_keys));
  }
  if (rows_of_queries > 0) {
    made.dq = places.take(tensor_bytes(problem, problem.heads, rows_of_queries));
  }
  made.bytes = places.end();
  return made;
}

Problem walked_problem(const Problem& problem) {
  const Pattern& walked = problem.sparse->walked();
  Problem dense = without_pattern(problem);
  dense.seqlen_q = walked.seqlen_q;
  dense.seqlen_k = walked.seqlen_k;
  return dense;
}

void give_order(BackwardParams& params, const Problem& problem, const RowOrder& order) {
  const Pattern& walked = problem.sparse->walked();
  params.query_end = walked.seqlen_q;
  if (walked.order != nullptr) params.query_order = order;
}

std::uint64_t sparse_workspace_bytes(ForwardAccumulators accumulators, const Problem& problem,
                                     Pass pass, bool is_deterministic) {
  constexpr std::size_t kSharedBytes = std::size_t{96} << 10;  // patterns have no other instances
  const Wanted wanted{problem, kSharedBytes};
  const SparseMask& mask = *problem.sparse;
  const Problem walked = walked_problem(problem);
  if (pass == Pass::kForward) {
    int rows = 0;
    visit_forward<Blocks::kSparse>(accumulators, wanted, [&](auto row, auto /*id*/) {
      rows = rows_of_parts(mask, kSparseForward<decltype(row)>).stored;
    });
    return PartsWorkspace::forward(problem, rows).bytes;
  }
  int of_keys = 0, of_queries = 0;
  visit_backward<Blocks::kSparse>(
      accumulators.qk, !is_deterministic, wanted, [&](auto row, auto /*id*/) {
        of_keys = rows_of_parts(mask, kSparseKeys<decltype(row)>).stored;
      });
  if (is_deterministic) {
    visit_backward_dq<Blocks::kSparse>(accumulators.qk, wanted, [&](auto row, auto /*id*/) {
      of_queries = rows_of_parts(mask, kSparseQueries<decltype(row)>).stored;
    });
  }
  return PartsWorkspace::backward(walked, of_keys, of_queries, is_deterministic).bytes;
}

}  // namespace sparkbench::volta
