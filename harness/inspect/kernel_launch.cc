#include "harness/inspect/kernel_launch.h"

#include <fmt/core.h>

#include "kernels/volta/backward.h"
#include "kernels/volta/backward_dq.h"
#include "kernels/volta/dispatch.h"
#include "kernels/volta/schedules.h"
#include "kernels/volta/forward_dispatch.h"

namespace sparkbench {
namespace {

template <class Config>
KernelLaunch forward_launch() {
  return {Config::kThreads, sizeof(volta::ForwardTiles<Config>), Config::kBlockM, Config::kBlockN};
}

template <class Config>
KernelLaunch backward_launch() {
  return {Config::kThreads, sizeof(volta::BackwardTiles<Config>), Config::kBlockKeys,
          Config::kStep * Config::kTeams};
}

template <class Config>
KernelLaunch backward_dq_launch() {
  return {Config::kThreads, sizeof(volta::BackwardDqTiles<Config>), Config::kBlockM,
          Config::kBlockN};
}

std::optional<KernelLaunch> forward_launch_of(const KernelInstance& instance,
                                              const Problem& problem) {
  const bool is_small = instance.variant == fmt::format("/{}", volta::kForwardWarpsOf64KiB);
  if (!is_small && !instance.variant.empty()) return std::nullopt;
  KernelLaunch launch{};
  const volta::ForwardAccumulators accumulators{instance.accumulator, instance.pv_accumulator,
                                                instance.output};
  volta::visit_forward_instance(accumulators, problem, [&](auto each) {
    using Instance = decltype(each);
    launch = is_small ? forward_launch<typename Instance::SmallConfig>()
                      : forward_launch<typename Instance::Config>();
  });
  return launch;
}

}  // namespace

std::optional<KernelLaunch> launch_of(const KernelInstance& instance) {
  if (instance.head_dim != 64 && instance.head_dim != 128) return std::nullopt;
  Problem problem;
  problem.head_dim = instance.head_dim;
  problem.dropout_p = instance.has_dropout ? 0.5f : 0.0f;
  if (instance.pass == "fwd") return forward_launch_of(instance, problem);
  if (!instance.variant.empty()) return std::nullopt;
  KernelLaunch launch{};
  volta::visit_instance(
      instance.accumulator, problem, [&](auto mma, auto head_dim, auto has_dropout) {
        constexpr Accumulator kMma = mma.value;
        constexpr int kHeadDim = head_dim.value;
        constexpr bool kDropout = has_dropout.value;
        if (instance.pass == "bwd-dq") {
          launch = backward_dq_launch<volta::BackwardDqConfig<kMma, kHeadDim, kDropout>>();
        } else if (instance.adds_dq) {
          launch = backward_launch<volta::BackwardConfig<kMma, kHeadDim, kDropout, true>>();
        } else {
          launch = backward_launch<volta::BackwardConfig<kMma, kHeadDim, kDropout, false>>();
        }
      });
  return launch;
}

}  // namespace sparkbench
