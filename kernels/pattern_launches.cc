#include "kernels/pattern_launches.h"

#include <algorithm>
#include <set>

#include "kernels/saturating.h"

namespace sparkbench {
namespace {

static_assert(kMostMaskPasses == kMostMerged);

constexpr std::uint64_t kAlignment = 256;

const MaskPass& pass_of(const Problem& problem, int pass) {
  return problem.sparse->passes[static_cast<std::size_t>(pass)];
}

/// Where that is fewer launches than the other way round. With dropout the residues of an entry
/// count their places from one (mask/dropout_views.h).
bool takes_entries_of_batch(const Problem& problem, const MaskPass& pass) {
  return pass.stride == 1 || (pass.stride < problem.batch && problem.dropout().threshold == 0);
}

Problem problem_of_view(const Problem& problem, const MaskPass& pass, const ResidueView& view) {
  Problem of_view = problem;
  of_view.batch = takes_entries_of_batch(problem, pass) ? problem.batch : view.residues;
  of_view.seqlen_q = of_view.seqlen_k = view.lines;
  of_view.mask = view.dense;
  of_view.sparse = view.sparse;
  return of_view;
}

int views_before(const Problem& problem, int pass) {
  int views = 0;
  for (int i = 0; i < pass; ++i) views += static_cast<int>(pass_of(problem, i).views.size());
  return views;
}

}  // namespace

std::vector<SampleTile> ViewLaunch::tiles_of(const std::vector<SampleTile>& whole) const {
  std::set<SampleTile> tiles;
  for (const auto& [tile, head, batch] : whole) {
    for (int token = tile * kSampleRows; token < (tile + 1) * kSampleRows; ++token) {
      const int residue = token % stride, line = token / stride;
      const int entry = has_entries_of_batch ? batch - first_batch : residue - first_token;
      const bool is_here = has_entries_of_batch ? residue == first_token : batch == first_batch;
      if (is_here && 0 <= entry && entry < problem.batch && line < problem.seqlen_q) {
        tiles.insert({line / kSampleRows, head, entry});
      }
    }
  }
  return {tiles.begin(), tiles.end()};
}

std::vector<ViewLaunch> view_launches(const Problem& problem, int pass) {
  const MaskPass& of = pass_of(problem, pass);
  const bool has_entries = takes_entries_of_batch(problem, of);
  const bool drops = problem.dropout().threshold != 0;
  std::vector<ViewLaunch> launches;
  std::size_t first_lse = 0;
  int index = views_before(problem, pass);
  for (const ResidueView& view : of.views) {
    Problem of_view = problem_of_view(problem, of, view);
    const int count = has_entries ? view.residues : problem.batch;
    for (int i = 0; i < count; ++i) {
      if (drops) {
        of_view.first_dropout_sequence =
            first_dropout_sequence(problem, index, has_entries ? 0 : i);
      }
      launches.push_back({of_view, of.stride, has_entries ? 0 : i,
                          has_entries ? view.first_residue + i : view.first_residue, has_entries,
                          first_lse, index});
      first_lse += of_view.lse_elements();
    }
    ++index;
  }
  return launches;
}

ViewedRows viewed_rows(const Problem& problem, int pass) {
  const MaskPass& of = pass_of(problem, pass);
  return {problem.batch,       problem.heads, of.stride,
          of.whole_residues(), of.lines(),    takes_entries_of_batch(problem, of)};
}

std::vector<Problem> problems_of_views(const Problem& problem) {
  std::vector<Problem> problems;
  for (const MaskPass& pass : problem.sparse->passes) {
    for (const ResidueView& view : pass.views) {
      problems.push_back(problem_of_view(problem, pass, view));
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
  const std::uint64_t q_bytes = saturating_product({problem.q_elements(), sizeof(Half)});
  const std::uint64_t k_bytes = saturating_product({problem.k_elements(), sizeof(Half)});
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

ChunkedView<const Half> queries(const Problem& problem, const char* name,
                                const TensorView<const Half>& view) {
  return chunked_view(name, view, problem.batch, problem.seqlen_q, problem.heads, problem.head_dim);
}

/// x += what passes behind the first have of it, contiguous at `begins`.
SumParams sum_of(const Problem& problem, const char* name, const TensorView<Half>& x, int heads,
                 const std::vector<std::uint64_t>& begins, std::byte* memory) {
  const int seqlen = problem.seqlen_q;
  SumParams params{};
  params.parts = static_cast<int>(begins.size());
  params.seqlen = seqlen;
  params.head_chunks = problem.head_dim / kChunkHalves;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    params.more[i] = chunked_view<const Half>(
        name,
        contiguous_view<const Half>(at<Half>(memory, begins[i]), seqlen, heads, problem.head_dim),
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
    tensors.o = contiguous_queries(problem, at<Half>(memory, workspace.o[behind_first(pass)]));
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
    tensors.dq = contiguous_queries(problem, at<Half>(memory, workspace.dq[i]));
    tensors.dk = contiguous_keys(problem, at<Half>(memory, workspace.dk[i]));
    tensors.dv = contiguous_keys(problem, at<Half>(memory, workspace.dv[i]));
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
    params.rows[i] = viewed_rows(problem, i);
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
  return {problem.heads, problem.seqlen_q, viewed_rows(problem, pass), whole.lse,
          at<float>(memory, workspace.lse[static_cast<std::size_t>(pass)])};
}

GradientSums gradient_sums(const Problem& problem, const BackwardTensors& whole,
                           const PassesWorkspace& workspace, std::byte* memory) {
  return {sum_of(problem, "dq", whole.dq, problem.heads, workspace.dq, memory),
          sum_of(problem, "dk", whole.dk, problem.key_heads(), workspace.dk, memory),
          sum_of(problem, "dv", whole.dv, problem.key_heads(), workspace.dv, memory)};
}

}  // namespace sparkbench
