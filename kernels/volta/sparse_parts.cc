#include "kernels/volta/sparse_parts.h"

#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/volta/backward/workspace.h"
#include "kernels/volta/dispatch.h"
#include "kernels/volta/sparse_kinds.h"

namespace sparkbench::volta {
PartsWorkspace PartsWorkspace::backward(const Problem& problem, int rows_of_keys,
                                        int rows_of_queries, bool is_deterministic) {
  PartsWorkspace made;
  WorkspacePlaces places(backward_workspace_bytes(problem, is_deterministic));
  if (rows_of_keys > 0) {
    made.dk = places.take(part_tensor_bytes(problem, problem.key_heads(), rows_of_keys));
    made.dv = places.take(part_tensor_bytes(problem, problem.key_heads(), rows_of_keys));
  }
  if (rows_of_queries > 0) {
    made.dq = places.take(part_tensor_bytes(problem, problem.heads, rows_of_queries));
  }
  made.bytes = places.end();
  return made;
}

std::uint64_t sparse_workspace_bytes(Accumulator accumulator, const Problem& problem, Pass pass,
                                     bool is_deterministic) {
  constexpr std::size_t kSharedBytes = std::size_t{96} << 10;  // patterns have no other instances
  const Wanted wanted{problem, kSharedBytes};
  const SparseMask& mask = *problem.sparse;
  if (pass == Pass::kForward) {
    int rows = 0;
    visit_forward<Blocks::kSparse>(accumulator, wanted, [&](auto row, auto /*id*/) {
      rows = rows_of_parts(mask, kSparseForward<decltype(row)>).stored;
    });
    return ForwardPartsWorkspace(problem, rows).bytes;
  }
  int of_keys = 0, of_queries = 0;
  visit_backward<Blocks::kSparse>(
      accumulator, !is_deterministic, wanted, [&](auto row, auto /*id*/) {
        of_keys = rows_of_parts(mask, kSparseKeys<decltype(row)>).stored;
      });
  if (is_deterministic) {
    visit_backward_dq<Blocks::kSparse>(accumulator, wanted, [&](auto row, auto /*id*/) {
      of_queries = rows_of_parts(mask, kSparseQueries<decltype(row)>).stored;
    });
  }
  return PartsWorkspace::backward(problem, of_keys, of_queries, is_deterministic).bytes;
}

}  // namespace sparkbench::volta
