#include "kernels/strided/pattern_launches.h"

#include <algorithm>
#include <set>

#include "kernels/base/saturating.h"

namespace sparkbench {
namespace {

static_assert(kMostMaskPasses == kMostMerged);

constexpr std::uint64_t kAlignment = 256;

const MaskPass& pass_of(const Problem& problem, int pass) {
  return problem.sparse->passes[static_cast<std::size_t>(pass)];
}

/// Blocks of a grid along its second axis, on which heads are.
constexpr std::int64_t kMostGridHeads = 65535;

bool is_power_of_two(std::int64_t value) { return (value & (value - 1)) == 0; }

/// With dropout the residues of an entry count their places from one (mask/dropout_views.h), as
/// heads from a power of two.
ViewAxes axes_of(const Problem& problem, const MaskPass& pass, const ResidueView& view,
                 TokenHeads heads) {
  if (pass.stride == 1) return ViewAxes::kOneResidue;
  const bool drops = problem.dropout().threshold != 0;
  const bool fit = std::int64_t{problem.heads} * pass.stride <= kMostGridHeads;
  const bool are_counted_alike =
      !drops || is_power_of_two(std::int64_t{problem.heads} * view.residues);
  if (heads == TokenHeads::kAdjacent && fit && are_counted_alike) return ViewAxes::kResiduesAsHeads;
  return !drops && pass.stride < problem.batch ? ViewAxes::kOneResidue : ViewAxes::kResiduesAsBatch;
}

Problem problem_of_view(const Problem& problem, const ResidueView& view, ViewAxes axes) {
  Problem of_view = problem;
  if (axes == ViewAxes::kResiduesAsBatch) of_view.batch = view.residues;
  if (axes == ViewAxes::kResiduesAsHeads) {
    of_view.heads = view.residues * problem.heads;
    of_view.heads_k = view.residues * problem.key_heads();
  }
  of_view.seqlen_q = of_view.seqlen_k = view.lines;
  of_view.mask = view.dense;
  of_view.sparse = view.sparse;
  return of_view;
}

template <class T>
bool is_adjacent(const TensorView<T>& view, int heads) {
  return view.seqlen_stride == heads * view.head_stride;
}

int views_before(const Problem& problem, int pass) {
  int views = 0;
  for (int i = 0; i < pass; ++i) views += static_cast<int>(pass_of(problem, i).views.size());
  return views;
}

}  // namespace

TokenHeads token_heads(const Problem& problem, const ForwardTensors& tensors) {
  const int q = problem.heads, k = problem.key_heads();
  const bool all = is_adjacent(tensors.q, q) && is_adjacent(tensors.k, k) &&
                   is_adjacent(tensors.v, k) && is_adjacent(tensors.o, q);
  return all ? TokenHeads::kAdjacent : TokenHeads::kAny;
}

TokenHeads token_heads(const Problem& problem, const BackwardTensors& tensors) {
  const int q = problem.heads, k = problem.key_heads();
  const bool all = is_adjacent(tensors.q, q) && is_adjacent(tensors.k, k) &&
                   is_adjacent(tensors.v, k) && is_adjacent(tensors.o, q) &&
                   is_adjacent(tensors.d_o, q) && is_adjacent(tensors.dq, q) &&
                   is_adjacent(tensors.dk, k) && is_adjacent(tensors.dv, k);
  return all ? TokenHeads::kAdjacent : TokenHeads::kAny;
}

std::vector<SampleTile> ViewLaunch::tiles_of(const std::vector<SampleTile>& whole,
                                             int heads) const {
  const bool has_batch = axes != ViewAxes::kResiduesAsBatch;
  std::set<SampleTile> tiles;
  for (const auto& [tile, head, batch] : whole) {
    if (!has_batch && batch != first_batch) continue;
    for (int token = tile * kSampleRows; token < (tile + 1) * kSampleRows; ++token) {
      const int residue = token % stride - first_token, line = token / stride;
      if (residue < 0 || residue >= residues || line >= problem.seqlen_q) continue;
      const int of_heads = axes == ViewAxes::kResiduesAsHeads ? residue * heads : 0;
      tiles.insert({line / kSampleRows, of_heads + head, has_batch ? batch : residue});
    }
  }
  return {tiles.begin(), tiles.end()};
}

std::vector<ViewLaunch> view_launches(const Problem& problem, int pass, TokenHeads heads) {
  const MaskPass& of = pass_of(problem, pass);
  const bool drops = problem.dropout().threshold != 0;
  std::vector<ViewLaunch> launches;
  std::size_t first_lse = 0;
  int index = views_before(problem, pass);
  for (const ResidueView& view : of.views) {
    const ViewAxes axes = axes_of(problem, of, view, heads);
    Problem of_view = problem_of_view(problem, view, axes);
    const bool has_entry = axes == ViewAxes::kResiduesAsBatch,
               has_residue = axes == ViewAxes::kOneResidue;
    const int count = has_entry ? problem.batch : has_residue ? view.residues : 1;
    for (int i = 0; i < count; ++i) {
      const int entry = has_entry ? i : 0;
      if (drops) of_view.first_dropout_sequence = first_dropout_sequence(problem, index, entry);
      launches.push_back({of_view, axes, of.stride, entry,
                          view.first_residue + (has_residue ? i : 0),
                          has_residue ? 1 : view.residues, first_lse, index});
      first_lse += of_view.lse_elements();
    }
    ++index;
  }
  return launches;
}

ViewedRows viewed_rows(const Problem& problem, int pass, TokenHeads heads) {
  const MaskPass& of = pass_of(problem, pass);
  const bool has_residues_apart =
      axes_of(problem, of, of.views.front(), heads) == ViewAxes::kOneResidue;
  return {problem.batch,       problem.heads, of.stride,
          of.whole_residues(), of.lines(),    has_residues_apart};
}

std::vector<Problem> problems_of_views(const Problem& problem) {
  std::vector<Problem> problems;
  for (const MaskPass& pass : problem.sparse->passes) {
    for (const ResidueView& view : pass.views) {
      const ViewAxes axes = axes_of(problem, pass, view, TokenHeads::kAdjacent);
      problems.push_back(problem_of_view(problem, view, axes));
    }
  }
  return problems;
}

PassesWorkspace::PassesWorkspace(const Problem& problem, Pass pass, std::uint64_t of_kernel_bytes) {
  const auto take = [&](std::uint64_t size) {
    const std::uint64_t begin = bytes;
    const std::uint64_t blocks = size / kAlignment + (size % kAlignment != 0 ? 1 : 0);
    bytes = saturating_sum({bytes, saturating_product({blocks, kAlignment})});
    return begin;
  };
  const std::uint64_t lse_bytes = saturating_product({problem.lse_elements(), sizeof(float)});
  const std::uint64_t q_bytes = saturating_product({problem.q_elements(), sizeof(Bits16)});
  const std::uint64_t k_bytes = saturating_product({problem.k_elements(), sizeof(Bits16)});
  const std::size_t passes = problem.sparse->passes.size();
  if (pass == Pass::kForward) {
    for (std::size_t i = 0; i < passes; ++i) lse.push_back(take(lse_bytes));
    for (std::size_t i = 1; i < passes; ++i) o.push_back(take(q_bytes));
    of_kernel = take(of_kernel_bytes);
    return;
  }
  lse.assign(passes, take(lse_bytes));
  for (std::size_t i = 1; i < passes; ++i) {
    dq.push_back(take(q_bytes));
    dk.push_back(take(k_bytes));
    dv.push_back(take(k_bytes));
  }
  of_kernel = take(of_kernel_bytes);
}

namespace {

template <class T>
T* at(std::byte* memory, std::uint64_t begin) {
  return reinterpret_cast<T*>(memory + begin);
}

std::size_t behind_first(int pass) { return static_cast<std::size_t>(pass - 1); }

ChunkedView<const Bits16> queries(const Problem& problem, const char* name,
                                  const TensorView<const Bits16>& view) {
  return chunked_view(name, view, problem.batch, problem.seqlen_q, problem.heads, problem.head_dim);
}

/// x += the results of the passes after the first, contiguous at `begins`.
SumParams sum_of(const Problem& problem, const char* name, const TensorView<Bits16>& x, int heads,
                 const std::vector<std::uint64_t>& begins, std::byte* memory) {
  const int seqlen = problem.seqlen_q;
  SumParams params{};
  params.parts = static_cast<int>(begins.size());
  params.heads = heads;
  params.seqlen = seqlen;
  params.head_chunks = problem.head_dim / kChunkHalves;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    params.more[i] =
        chunked_view<const Bits16>(name,
                                   contiguous_view<const Bits16>(at<Bits16>(memory, begins[i]),
                                                                 seqlen, heads, problem.head_dim),
                                   problem.batch, seqlen, heads, problem.head_dim);
  }
  params.x = chunked_view(name, x, problem.batch, seqlen, heads, problem.head_dim);
  return params;
}

}  // namespace

ForwardTensors tensors_of_pass(const Problem& problem, const ForwardTensors& whole, int pass,
                               const PassesWorkspace& workspace, std::byte* memory) {
  ForwardTensors tensors = whole;
  tensors.lse = at<float>(memory, workspace.lse[static_cast<std::size_t>(pass)]);
  if (pass > 0) {
    tensors.o = contiguous_queries(problem, at<Bits16>(memory, workspace.o[behind_first(pass)]));
  }
  return tensors;
}

ForwardTensors tensors_of_launch(const ViewLaunch& launch, const ForwardTensors& of_pass) {
  return {launch.of(of_pass.q), launch.of(of_pass.k),           launch.of(of_pass.v),
          launch.of(of_pass.o), of_pass.lse + launch.first_lse, of_pass.dropout_offset};
}

BackwardTensors tensors_of_pass(const Problem& problem, const BackwardTensors& whole, int pass,
                                const PassesWorkspace& workspace, std::byte* memory) {
  BackwardTensors tensors = whole;
  tensors.lse = at<float>(memory, workspace.lse[static_cast<std::size_t>(pass)]);
  if (pass > 0) {
    const std::size_t i = behind_first(pass);
    tensors.dq = contiguous_queries(problem, at<Bits16>(memory, workspace.dq[i]));
    tensors.dk = contiguous_keys(problem, at<Bits16>(memory, workspace.dk[i]));
    tensors.dv = contiguous_keys(problem, at<Bits16>(memory, workspace.dv[i]));
  }
  return tensors;
}

BackwardTensors tensors_of_launch(const ViewLaunch& launch, const BackwardTensors& of_pass) {
  const BackwardTensors& t = of_pass;
  return {launch.of(t.q),   launch.of(t.k),           launch.of(t.v),  launch.of(t.o),
          launch.of(t.d_o), t.lse + launch.first_lse, launch.of(t.dq), launch.of(t.dk),
          launch.of(t.dv),  t.dropout_offset};
}

MergeParams merge_params(const Problem& problem, const ForwardTensors& whole,
                         const PassesWorkspace& workspace, std::byte* memory) {
  MergeParams params{};
  params.passes = mask_pass_count(problem);
  params.heads = problem.heads;
  params.seqlen = problem.seqlen_q;
  params.head_chunks = problem.head_dim / kChunkHalves;
  for (int i = 0; i < params.passes; ++i) {
    const ForwardTensors of_pass = tensors_of_pass(problem, whole, i, workspace, memory);
    params.rows[i] = viewed_rows(problem, i, token_heads(problem, whole));
    params.lse[i] = of_pass.lse;
    if (i > 0) params.more[i - 1] = queries(problem, "o of a pass", of_pass.o);
  }
  params.o =
      chunked_view("o", whole.o, problem.batch, problem.seqlen_q, problem.heads, problem.head_dim);
  params.whole_lse = whole.lse;
  return params;
}

GatherParams gather_params(const Problem& problem, const BackwardTensors& whole, int pass,
                           const PassesWorkspace& workspace, std::byte* memory) {
  return {problem.heads, problem.seqlen_q, viewed_rows(problem, pass, token_heads(problem, whole)),
          whole.lse, at<float>(memory, workspace.lse[static_cast<std::size_t>(pass)])};
}

GradientSums gradient_sums(const Problem& problem, const BackwardTensors& whole,
                           const PassesWorkspace& workspace, std::byte* memory) {
  return {sum_of(problem, "dq", whole.dq, problem.heads, workspace.dq, memory),
          sum_of(problem, "dk", whole.dk, problem.key_heads(), workspace.dk, memory),
          sum_of(problem, "dv", whole.dv, problem.key_heads(), workspace.dv, memory)};
}

}  // namespace sparkbench
