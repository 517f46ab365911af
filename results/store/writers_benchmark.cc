// The cost of writing a run with the given number of cases.
#include <benchmark/benchmark.h>

#include <string>

#include "results/record/test_run.h"
#include "results/render/summary.h"
#include "results/store/csv.h"
#include "results/store/json.h"

namespace sparkbench {
namespace {

RunRecord run_of(std::int64_t cases) {
  RunRecord run = sample_run();
  run.cases.assign(static_cast<std::size_t>(cases), sample_timed_case());
  return run;
}

template <std::string (*kWrite)(const RunRecord&)>
void write_run(benchmark::State& state) {
  const RunRecord run = run_of(state.range(0));
  std::size_t bytes = 0;
  for (auto _ : state) bytes += kWrite(run).size();
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void read_run(benchmark::State& state) {
  const std::string text = run_to_json(run_of(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(run_from_json(text));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void write_journal_line(benchmark::State& state) {
  const CaseRecord record = sample_timed_case();
  for (auto _ : state) benchmark::DoNotOptimize(case_to_json(record));
}

BENCHMARK_TEMPLATE(write_run, run_to_json)->Name("write_json")->Arg(48)->Arg(1000);
BENCHMARK_TEMPLATE(write_run, cases_to_csv)->Name("write_csv")->Arg(48)->Arg(1000);
BENCHMARK_TEMPLATE(write_run, format_summary_markdown)->Name("write_markdown")->Arg(48)->Arg(1000);
BENCHMARK(read_run)->Name("read_json")->Arg(48)->Arg(1000);
BENCHMARK(write_journal_line);

}  // namespace
}  // namespace sparkbench
