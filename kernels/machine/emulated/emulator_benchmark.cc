// The emulator's cost on one core: each time is per warp instruction.
#include <benchmark/benchmark.h>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/machine/emulated/machine.h"

namespace sparkbench {
namespace {

constexpr int kWarps = 4;
constexpr int kRepetitions = 20000;

struct Tiles {
  Bits128 a[kWarps * kWarpLanes];
  Bits128 b[kWarps * kWarpLanes];
};

/// Times a body that every thread runs kRepetitions times. Range 0: detect, range 1: count.
template <class Body>
void measure(benchmark::State& state, int instructions_per_body, const Body& body) {
  const EmulationOptions options{.profile = &arithmetic_profile("volta"),
                                 .detect = state.range(0) != 0,
                                 .count = state.range(1) != 0,
                                 .workers = 1};
  const LaunchShape shape{"benchmark", {1, 1, 1}, kWarps * kWarpLanes, sizeof(Tiles)};
  for (auto _ : state) {
    emulate(shape, {}, options, [&](EmulatedMachine& machine) {
      auto& tiles = machine.shared<Tiles>();
      machine.store_shared(&tiles.a[machine.thread()], Bits128{});
      machine.store_shared(&tiles.b[machine.thread()], Bits128{});
      machine.barrier();
      for (int i = 0; i < kRepetitions; ++i) body(machine, tiles);
    });
  }
  const double instructions =
      static_cast<double>(state.iterations()) * kWarps * kRepetitions * instructions_per_body;
  state.counters["per_instruction"] =
      benchmark::Counter(instructions, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void rendezvous(benchmark::State& state) {
  measure(state, 1, [](EmulatedMachine& machine, Tiles&) { machine.sync_warp(); });
}

void load_operands(EmulatedMachine& machine, const Bits128& from, OperandFragment (&operand)[2]) {
  const auto bits = machine.load_shared<Bits128>(&from);
  operand[0] = {{bits.word[0], bits.word[1]}};
  operand[1] = {{bits.word[2], bits.word[3]}};
}

/// As the kernels do: two k steps, two fragments of each operand.
template <Accumulator kAccumulator>
void mma_outer_with_operand_loads(benchmark::State& state) {
  measure(state, 8, [](EmulatedMachine& machine, Tiles& tiles) {
    OperandFragment a[2][2], b[2][2];
    AccumulatorFragment<kAccumulator> c[2][2] = {};
    for (int i = 0; i < 2; ++i) {
      load_operands(machine, tiles.a[machine.thread() ^ i], a[i]);
      load_operands(machine, tiles.b[machine.thread() ^ i], b[i]);
    }
    machine.mma_m8n8k4_outer<Major::kRow, Major::kColumn, Operand::kA>({c[0], c[1]}, a, b);
    benchmark::DoNotOptimize(c);
  });
}

void detect_and_count(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"detect", "count"})
      ->ArgsProduct({{0, 1}, {0, 1}})
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

BENCHMARK(rendezvous)->Apply(detect_and_count);
BENCHMARK_TEMPLATE(mma_outer_with_operand_loads, Accumulator::kFp32)
    ->Name("emulate_mma_outer_with_operand_loads/fp32")
    ->Apply(detect_and_count);
BENCHMARK_TEMPLATE(mma_outer_with_operand_loads, Accumulator::kFp16)
    ->Name("emulate_mma_outer_with_operand_loads/fp16")
    ->Apply(detect_and_count);

}  // namespace
}  // namespace sparkbench
