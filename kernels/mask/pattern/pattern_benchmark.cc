// The cost of a new pattern before its first tile: from its text to the spans of all tiles of rows,
// on one core of the host.
#include <benchmark/benchmark.h>

#include "kernels/mask/pattern/passes.h"
#include "kernels/mask/pattern/pattern_spec.h"
#include "kernels/mask/pattern/tile_plan.h"

namespace sparkbench {
namespace {

void analyse(benchmark::State& state, const char* mask) {
  const int seqlen = static_cast<int>(state.range(0));
  const int rows = static_cast<int>(state.range(1));
  const PatternSpec spec = parse_pattern_spec(mask);
  for (auto _ : state) {
    const Pattern pattern = make_pattern(spec, seqlen, seqlen);
    TilePlan tiles = plan(pattern, 0, rows, 64);
    benchmark::DoNotOptimize(tiles);
  }
}

/// Each pass in the order of its own.
void analyse_passes(benchmark::State& state, const char* mask) {
  const int seqlen = static_cast<int>(state.range(0));
  const int rows = static_cast<int>(state.range(1));
  const PatternSpec spec = parse_pattern_spec(mask);
  for (auto _ : state) {
    for (const PatternPass& pass : passes_of(make_pattern(spec, seqlen, seqlen), 0)) {
      TilePlan tiles = plan(pass.pattern, 0, rows, 64);
      benchmark::DoNotOptimize(tiles);
    }
  }
}

/// The bits are there already: whoever has a predicate has asked it for each pair.
void analyse_bits(benchmark::State& state) {
  const int seqlen = static_cast<int>(state.range(0));
  const int rows = static_cast<int>(state.range(1));
  Pattern pattern = empty_pattern(seqlen, seqlen);
  const Pattern causal = parse_pattern("window:1024+causal-strided:128", seqlen, seqlen);
  pattern.unions = {{{.bits = bits_of(causal, 0)}}};
  for (auto _ : state) {
    TilePlan tiles = plan(pattern, 0, rows, 64);
    benchmark::DoNotOptimize(tiles);
  }
}

void at_64k(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"seqlen", "rows"})
      ->ArgsProduct({{65536}, {64, 128}})
      ->Unit(benchmark::kMicrosecond);
}

BENCHMARK_CAPTURE(analyse, window, "window:128")->Apply(at_64k);
BENCHMARK_CAPTURE(analyse, sink_window, "sink:4+window:1024")->Apply(at_64k);
BENCHMARK_CAPTURE(analyse, longformer, "longformer:256:16")->Apply(at_64k);
BENCHMARK_CAPTURE(analyse, blocked, "blocked:128")->Apply(at_64k);
BENCHMARK_CAPTURE(analyse, fixed, "fixed:256:32")->Apply(at_64k);
BENCHMARK_CAPTURE(analyse, strided, "strided:128")->Apply(at_64k);
BENCHMARK_CAPTURE(analyse_passes, strided, "strided:128")->Apply(at_64k);
BENCHMARK_CAPTURE(analyse_passes, strided_window, "causal-strided:128+window:128")->Apply(at_64k);
BENCHMARK_CAPTURE(analyse, nd, "nd:256x256:80x80")->Apply(at_64k);
BENCHMARK_CAPTURE(analyse, documents, "causal-documents:2k")->Apply(at_64k);
BENCHMARK(analyse_bits)
    ->ArgNames({"seqlen", "rows"})
    ->ArgsProduct({{16384}, {64, 128}})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace sparkbench
