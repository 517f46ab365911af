// Host time of one emulated warp-level m8n8k4 (four 8x8x4 products), by profile, accumulator and
// k steps per call. The counter `per_mma` is what an emulated kernel pays for each instruction.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/machine/emulated/tensor_core/warp_mma_m8n8k4.h"

namespace sparkbench {
namespace {

/// Normal fp16 numbers of magnitude 2^-4 to 2^4, as attention's operands are.
std::vector<WarpOperands> random_operands(std::size_t steps, std::mt19937& generator) {
  std::vector<WarpOperands> operands(steps);
  const auto half = [&] { return (generator() & 0x83ffu) | ((11 + generator() % 8) << 10); };
  for (WarpOperands& step : operands) {
    for (auto& lane : step.pair) {
      for (std::uint32_t& pair : lane) pair = static_cast<std::uint32_t>(half() | half() << 16);
    }
  }
  return operands;
}

template <Accumulator kAccumulator>
void warp_mma(benchmark::State& state, const ArithmeticProfile& profile) {
  std::mt19937 generator(1);
  const auto steps = static_cast<std::size_t>(state.range(0));
  const std::vector<WarpOperands> a = random_operands(steps, generator);
  const std::vector<WarpOperands> b = random_operands(steps, generator);
  AccumulatorFragment<kAccumulator> fragments[32];
  AccumulatorFragment<kAccumulator>* c[32];
  for (int lane = 0; lane < 32; ++lane) c[lane] = &fragments[lane];
  for (auto _ : state) {
    for (AccumulatorFragment<kAccumulator>& fragment : fragments) fragment = {};
    warp_mma_m8n8k4(profile, Major::kRow, Major::kColumn, a, b, c);
    benchmark::DoNotOptimize(fragments);
    benchmark::ClobberMemory();
  }
  state.counters["per_mma"] =
      benchmark::Counter(static_cast<double>(steps), benchmark::Counter::kIsIterationInvariantRate |
                                                         benchmark::Counter::kInvert);
}

const bool kRegistered = [] {
  for (const ArithmeticProfile& profile : arithmetic_profiles()) {
    if (!profile.has_m8n8k4) continue;
    const std::string name = "emulate_m8n8k4/" + std::string(profile.name);
    benchmark::RegisterBenchmark((name + "/fp32").c_str(), warp_mma<Accumulator::kFp32>, profile)
        ->Arg(1)
        ->Arg(2)
        ->Arg(4)
        ->Arg(16);
    benchmark::RegisterBenchmark((name + "/fp16").c_str(), warp_mma<Accumulator::kFp16>, profile)
        ->Arg(1)
        ->Arg(2)
        ->Arg(4)
        ->Arg(16);
  }
  return true;
}();

}  // namespace
}  // namespace sparkbench
