#include "harness/benchmarks/kernel_benchmarks.h"

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

namespace sparkbench {
namespace {

/// From a GPU's samples; an emulated device has none.
std::vector<double> seconds_of(const CaseRecord& record) {
  std::vector<double> seconds;
  if (record.time_ms) {
    for (const double sample_ms : record.time_ms->samples) seconds.push_back(sample_ms * 1e-3);
  }
  return seconds;
}

void report(const CaseRecord& record, benchmark::State& state) {
  const std::vector<double> seconds = seconds_of(record);
  if (!is_usable(record) || seconds.empty()) {
    state.SkipWithError(record.reason ? record.reason->message.c_str() : "no time was measured");
    return;
  }
  std::size_t next = 0;
  for (auto _ : state) state.SetIterationTime(seconds[next++ % seconds.size()]);
  if (record.tflops) {
    state.counters["FLOP/s"] = benchmark::Counter(static_cast<double>(record.flops),
                                                  benchmark::Counter::kIsIterationInvariantRate);
  }
  state.counters["median_ms"] = record.time_ms->median;
  std::string label;
  for (const Warning& warning : record.warnings) {
    label += (label.empty() ? "" : " ") + warning.code;
  }
  state.SetLabel(label);
}

void run_case(benchmark::State& state, PlannedSweep* sweep, std::size_t position) {
  report(sweep->run(position), state);
}

}  // namespace

bool register_kernel_benchmarks(PlannedSweep& sweep, int min_samples) {
  const Device& device = sweep.device();
  if (device.info().kind != DeviceKind::kGpu) return false;
  const std::vector<CaseRecord>& cases = sweep.plan().cases;
  for (std::size_t position = 0; position < cases.size(); ++position) {
    const std::string name = device.name() + "/" + cases[position].id;
    benchmark::RegisterBenchmark(name.c_str(), run_case, &sweep, position)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond)
        ->Iterations(min_samples);
  }
  return true;
}

}  // namespace sparkbench
