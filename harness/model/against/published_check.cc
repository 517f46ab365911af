#include "harness/model/against/published_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "harness/model/predict/eager_attention.h"
#include "harness/model/predict/layer_time.h"
#include "harness/model/predict/unfused_time.h"
#include "kernels/base/ceil_divide.h"
#include "kernels/base/half.h"
#include "reference/encoder/eager_steps.h"

namespace sparkbench {
namespace {

double bytes_of_q(const Problem& problem) {
  return static_cast<double>(problem.q_elements() * sizeof(Half));
}

const PublishedKernel& kernel_for(const PublishedTimes& times, const PublishedSet& set,
                                  int head_dim) {
  for (const PublishedKernel& kernel : times.kernels) {
    const bool is_of_set = std::ranges::find(set.kernels, kernel.id) != set.kernels.end();
    if (is_of_set && head_dim >= kernel.least_head_dim && head_dim <= kernel.head_dim) {
      return kernel;
    }
  }
  throw std::invalid_argument(
      fmt::format("{}: none of its kernels serves head_dim {}", set.class_name, head_dim));
}

KernelInstance instance_of_foreign(const PublishedKernel& kernel, const InstanceCycles& cycles) {
  KernelInstance instance{};
  instance.id = kernel.id;
  instance.instruction = MmaInstruction::kM8n8k4;
  instance.accumulator = Accumulator::kFp32;
  instance.head_dim = kernel.head_dim;
  instance.least_head_dim = kernel.least_head_dim;
  instance.products = 2;
  instance.threads = cycles.threads;
  instance.block_rows = kernel.block_rows;
  instance.step_columns = kernel.step_columns;
  return instance;
}

PassLaunch launch_of_foreign(const PublishedKernel& kernel, const KernelInstance& instance,
                             const Problem& problem) {
  const int blocks = ceil_divide(problem.seqlen_q, kernel.block_rows);
  const int full_tiles = problem.seqlen_k / kernel.step_columns;
  const int cut_tiles = ceil_divide(problem.seqlen_k, kernel.step_columns) - full_tiles;
  const double q = bytes_of_q(problem);
  const double o = q / sizeof(Half) * kernel.output_bytes;
  return {&instance,
          {std::vector<BlockWork>(static_cast<std::size_t>(blocks), {full_tiles, cut_tiles}),
           static_cast<std::uint64_t>(problem.heads)},
          3 * q + o,
          q + o + 2 * blocks * q};
}

PassTime time_of_foreign(const PublishedTimes& times, const PublishedSet& set,
                         const Problem& problem) {
  const PublishedKernel& kernel = kernel_for(times, set, problem.head_dim);
  const KernelInstance instance = instance_of_foreign(kernel, *times.cycles.find(kernel.id));
  std::vector<PassLaunch> launches;
  for (const double tensors : set.beside) {
    launches.push_back({.hbm_bytes = tensors * bytes_of_q(problem)});
  }
  launches.push_back(launch_of_foreign(kernel, instance, problem));
  return time_of_launches(launches, times.cycles);
}

/// As PyTorch computes it, whose tensors are contiguous.
PassTime time_of_chain(const PublishedSet& set, const CaseProblem& problem) {
  std::vector<UnfusedStep> steps = unfused_steps(problem, problem.pass, ScoreRows::kContiguous);
  for (const double tensors : set.beside) {
    steps.push_back({"beside", LaunchKind::kCopy, 0, tensors * bytes_of_q(problem)});
  }
  return time_of_unfused_steps(steps);
}

PassTime time_of_published_layer(const PublishedSet& set, const CaseProblem& problem) {
  const std::vector<UnfusedStep> attention = baseline_attention(problem);
  std::vector<LayerStep> steps = layer_steps(*problem.layer, problem, problem.pass);
  if (!set.has_input_gradient) steps = without_input_gradient(std::move(steps));
  const PassTime time = time_of_unfused_steps(attention);
  return time_of_layer(steps, {time.ms, static_cast<int>(attention.size()), time.binding}).whole;
}

void add_point(PublishedSummary& summary, const ThreeWays& predicted, double published_ms) {
  const double ratio = predicted.likely / published_ms;
  ++summary.points;
  summary.in_band += predicted.fast <= published_ms && published_ms <= predicted.slow ? 1 : 0;
  summary.mean_ratio += ratio;
  summary.mean_error += std::abs(ratio - 1);
  const bool is_further = std::abs(ratio - 1) > std::abs(summary.worst_ratio - 1);
  if (is_further) summary.worst_ratio = ratio;
}

PublishedSummary& summary_for(std::vector<PublishedSummary>& summaries, const PublishedTimes& times,
                              const PublishedSet& set) {
  for (PublishedSummary& each : summaries) {
    if (each.class_name == set.class_name && each.is_held_out == set.is_held_out) return each;
  }
  summaries.push_back({.class_name = set.class_name,
                       .is_held_out = set.is_held_out,
                       .limit = times.limits.at(set.class_name)});
  return summaries.back();
}

}  // namespace

void require_kernels(const PublishedTimes& times) {
  for (const PublishedSet& set : times.sets) {
    if (set.kind != PublishedKind::kFused) continue;
    for (const PublishedPoint& point : set.points) kernel_for(times, set, point.problem.head_dim);
  }
}

PassTime time_of_published(const PublishedTimes& times, const PublishedSet& set,
                           const PublishedPoint& point) {
  switch (set.kind) {
    case PublishedKind::kFused:
      return time_of_foreign(times, set, point.problem);
    case PublishedKind::kChain:
      return time_of_chain(set, point.problem);
    case PublishedKind::kLayer:
      return time_of_published_layer(set, point.problem);
  }
  throw std::logic_error("a kind of published times without a rule");
}

std::vector<PublishedSummary> summarize_published(const PublishedTimes& times) {
  std::vector<PublishedSummary> summaries;
  for (const PublishedSet& set : times.sets) {
    PublishedSummary& summary = summary_for(summaries, times, set);
    for (const PublishedPoint& point : set.points) {
      add_point(summary, time_of_published(times, set, point).ms, point.ms);
    }
  }
  for (PublishedSummary& each : summaries) {
    each.mean_ratio /= each.points;
    each.mean_error /= each.points;
  }
  std::ranges::stable_sort(summaries, {}, &PublishedSummary::is_held_out);
  return summaries;
}

ModelErrors model_errors(const std::vector<PublishedSummary>& summaries) {
  const auto error_of = [&](std::string_view class_name) {
    double points = 0, errors = 0;
    for (const PublishedSummary& each : summaries) {
      if (each.class_name != class_name) continue;
      points += each.points;
      errors += each.points * each.mean_error;
    }
    return points == 0 ? 0 : static_cast<int>(std::lround(100 * errors / points));
  };
  double points = 0, in_band = 0;
  for (const PublishedSummary& each : summaries) {
    points += each.points;
    in_band += each.in_band;
  }
  return {error_of("fused-forward"),  error_of("chain-forward"),
          error_of("chain-backward"), error_of("layer-forward"),
          error_of("layer-training"), static_cast<int>(std::lround(100 * in_band / points))};
}

}  // namespace sparkbench
