// Runs every kernel on a GPU, and the host's hot paths, under Google Benchmark:
//   sparkbench_benchmarks --benchmark_filter=volta-fp32acc/fwd
//   sparkbench_benchmarks --device cuda:0 --preset paper-forward --benchmark_out=today.json
// A kernel's Time is the GPU's. The column CPU, which Google Benchmark always prints, is the
// host's.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string>

#include "harness/benchmarks/kernel_benchmarks.h"
#include "harness/cli/exit_code.h"
#include "harness/environment_error.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

void run_benchmarks(const SweepOptions& options) {
  PlannedSweep sweep({.options = options}, options.device);
  if (!register_kernel_benchmarks(sweep, *options.method.min_samples)) {
    const std::string why =
        fmt::format("{} has no clock, and the time of its emulation is the host's, not a kernel's",
                    sweep.device().name());
    if (options.device != "auto") {
      throw UsageError(fmt::format("--device: {}; allowed: cuda:N, or auto", why));
    }
    std::cerr << fmt::format("sparkbench_benchmarks: no kernels: {}; the host's own code follows\n",
                             why);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::ClearRegisteredBenchmarks();  // they refer to the sweep
}

int fail(const std::exception& error, ExitCode code) {
  std::cerr << "sparkbench_benchmarks: " << error.what() << '\n';
  return static_cast<int>(code);
}

int parse_and_run(int argc, char** argv) {
  CLI::App program("Kernels and host code under Google Benchmark; see --benchmark_filter");
  SweepOptions options;
  std::string pass = "fwd,bwd";
  program.add_option("--device", options.device, "cuda:N; auto: cuda:0, or no kernels at all");
  program.add_option("--preset", options.preset, "a named grid; see `sparkbench list`");
  program.add_option("--pass", pass, "fwd, bwd or fwd+bwd; fwd,bwd by default");
  program.add_option("--min-samples", *options.method.min_samples, "samples of a case on a GPU");
  try {
    program.parse(argc, argv);
    options.axes["--pass"] = pass;
    run_benchmarks(options);
    return static_cast<int>(ExitCode::kOk);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kUsage);
  } catch (const UsageError& error) {
    return fail(error, ExitCode::kUsage);
  } catch (const EnvironmentError& error) {
    return fail(error, ExitCode::kEnvironment);
  } catch (const std::exception& error) {
    return fail(error, ExitCode::kIncomplete);
  }
}

}  // namespace
}  // namespace sparkbench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);  // removes its own flags
  const int exit_code = sparkbench::parse_and_run(argc, argv);
  benchmark::Shutdown();
  return exit_code;
}
