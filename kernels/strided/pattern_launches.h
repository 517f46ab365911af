// A pattern's strided passes (mask/pattern/mask_passes.h) as launches of a kernel over strided
// views of the problem's own tensors, and the workspace of what is combined after them
// (tile/merge_passes.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/base/sample.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/problem/tensors.h"
#include "kernels/strided/pass_dropout.h"
#include "kernels/tile/merge_passes.h"

namespace sparkbench {

/// The problem must have has_mask_passes().
inline int mask_pass_count(const Problem& problem) {
  return static_cast<int>(problem.sparse->passes.size());
}

/// How the heads of a token lie in memory: after those of the token before, at the distance that
/// heads have, as in contiguous tensors; or in any way.
enum class TokenHeads { kAdjacent, kAny };

/// For the tensors of a pass.
TokenHeads token_heads(const Problem& problem, const ForwardTensors& tensors);
TokenHeads token_heads(const Problem& problem, const BackwardTensors& tensors);

/// The batch and the heads of a launch over a view.
enum class ViewAxes {
  kResiduesAsHeads,  // the batch; each residue's heads, where these are adjacent: all in one launch
  kResiduesAsBatch,  // the residues of a batch entry, and heads
  kOneResidue,       // the batch, and heads, of one residue: of stride 1 the whole problem
};

struct ViewLaunch {
  Problem problem;  // over the view
  ViewAxes axes;
  int stride;
  int first_batch, first_token;
  int residues;           // on its axes
  std::size_t first_lse;  // of its log-sum-exp, in that of the pass
  int view;               // index over all views of all passes

  /// The view of a tensor of the whole problem.
  template <class T>
  TensorView<T> of(const TensorView<T>& whole) const {
    return {whole.data + (first_batch * whole.batch_stride + first_token * whole.seqlen_stride),
            axes == ViewAxes::kResiduesAsBatch ? whole.seqlen_stride : whole.batch_stride,
            stride * whole.seqlen_stride, whole.head_stride};
  }
  /// Tiles of the view that contain tokens of the whole problem's tiles, each once, for a tensor
  /// with so many heads per token; none if this launch has none of the tokens.
  std::vector<SampleTile> tiles_of(const std::vector<SampleTile>& whole, int heads) const;
};

/// The launches of a pass, in order, for a problem that has_mask_passes(). One launch per view if
/// heads are contiguous (and, with dropout, a residue's heads times the view's residues are a power
/// of two); otherwise one for each batch entry or each residue.
std::vector<ViewLaunch> view_launches(const Problem& problem, int pass, TokenHeads heads);

ViewedRows viewed_rows(const Problem& problem, int pass, TokenHeads heads);

/// A problem for each view of each pass, in order, as for launches over contiguous heads. No other
/// launch is larger: tile lists and workspace are made for these.
std::vector<Problem> problems_of_views(const Problem& problem);

/// Where the parts of the workspace of a pass begin, in bytes; each is aligned to 256.
///   forward    the log-sum-exp of each pass; O of those after the first, [batch, seqlen, heads,
///              head_dim]; and the kernel's own
///   backward   the log-sum-exp of one pass, dQ, dK and dV of those after the first, and the
///              kernel's own
struct PassesWorkspace {
  PassesWorkspace(const Problem& problem, Pass pass, std::uint64_t of_kernel);

  std::vector<std::uint64_t> lse;            // of each pass; backward the same for all
  std::vector<std::uint64_t> o, dq, dk, dv;  // of each pass after the first
  std::uint64_t of_kernel = 0;
  std::uint64_t bytes = 0;  // saturates at 2^64 - 1
};

/// The tensors of a pass forward in a workspace at `memory`, and of one of its launches.
ForwardTensors tensors_of_pass(const Problem& problem, const ForwardTensors& whole, int pass,
                               const PassesWorkspace& workspace, std::byte* memory);
ForwardTensors tensors_of_launch(const ViewLaunch& launch, const ForwardTensors& of_pass);

/// The same backward.
BackwardTensors tensors_of_pass(const Problem& problem, const BackwardTensors& whole, int pass,
                                const PassesWorkspace& workspace, std::byte* memory);
BackwardTensors tensors_of_launch(const ViewLaunch& launch, const BackwardTensors& of_pass);

/// The launches after the passes forward; before a pass backward; and after those backward, once
/// for dQ, dK and dV each, if there is more than one pass.
MergeParams merge_params(const Problem& problem, const ForwardTensors& whole,
                         const PassesWorkspace& workspace, std::byte* memory);
GatherParams gather_params(const Problem& problem, const BackwardTensors& whole, int pass,
                           const PassesWorkspace& workspace, std::byte* memory);
struct GradientSums {
  SumParams dq, dk, dv;
};
GradientSums gradient_sums(const Problem& problem, const BackwardTensors& whole,
                           const PassesWorkspace& workspace, std::byte* memory);

}  // namespace sparkbench
