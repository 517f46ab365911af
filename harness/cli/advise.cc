// sparkbench advise: which kernel to use for one problem, in ten lines and a picture.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <ostream>

#include "harness/cli/advice_report.h"
#include "harness/cli/measuring_command.h"
#include "harness/cli/python_script.h"
#include "harness/run/run_files.h"
#include "results/record/speedup.h"
#include "results/store/json.h"
#include "results/store/output_error.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

/// The flags of a sweep that it takes. Workers get the others.
constexpr std::string_view kFlags[] = {
    "--headdim", "--seqlen",       "--seqlen-k", "--mask",        "--causal",
    "--dropout", "--batch",        "--heads",    "--heads-k",     "--lengths",
    "--hidden",  "--total-tokens", "--input",    "--input-scale", "--tensors",
    "--device",  "--kernel",       "--seed",     "--timeout",     "--in-process",
    "--json",    "--worker",       "--quiet",    "--no-progress", "--deterministic"};

void remove_other_flags(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    const bool is_taken = std::ranges::any_of(
        kFlags, [&](std::string_view flag) { return option->check_name(std::string(flag)); });
    if (!is_taken && !option->check_name("--help")) command.remove_option(option);
  }
}

struct AdviceOptions {
  std::string figure_file;
  std::string why_no_pytorch;
};

/// Adds PyTorch's kernels on the run's problem, timed by torch_peers.py on this GPU. Otherwise
/// returns the reason.
std::string add_pytorch(RunRecord& run, const std::filesystem::path& program) {
  if (run.environment.device.kind != DeviceKind::kGpu) return "there is no GPU here";
  if (run.cases.empty()) return "no case has run";
  const CaseProblem& problem = run.cases.front().problem;
  if (problem.input == "tensors") return "its script takes no tensors of a file";
  const ScratchFile record(".json");
  std::vector<std::string> arguments = {"--kernel",     "torch-flash,torch-efficient,torch-cudnn",
                                        "--sparkbench", program.string(),
                                        "--json",       record.path()};
  for (const Axis* axis : problem_axes()) {
    const AxisValue value = axis->access.get(problem);
    if (is_none(value) || (axis->is_implied != nullptr && axis->is_implied(problem))) continue;
    arguments.insert(arguments.end(), {axis->flag, text_of_value(value)});
  }
  const ScriptEnd end = run_python(project_script("sweeps/torch_peers.py"), arguments);
  if (end.status == 2 || end.status == 3 || end.status > 5) return end.last_words;
  for (CaseRecord& peer : load_run(record.path()).cases) run.cases.push_back(std::move(peer));
  TimedReferences references;
  for (CaseRecord& each : run.cases) references.compare(each);
  return "";
}

void draw(const RunRecord& run, const std::string& file) {
  const ScratchFile record(".json");
  std::ofstream(record.path()) << run_to_json(run);
  const std::array<std::string, 5> arguments = {"--figure", "advice", "-o", file, record.path()};
  const ScriptEnd end = run_python(project_script("results/plot.py"), arguments);
  if (end.status != 0) {
    throw OutputError(fmt::format("--figure: {}: {}", file, end.last_words));
  }
}

}  // namespace

void add_advise_command(CLI::App& program, const Invocation& invocation, Action& action) {
  const auto advice = std::make_shared<AdviceOptions>();
  MeasuringCommand command{.name = "advise", .is_timed = true, .takes_one_problem = true};
  command.takes_tensors = true;
  command.has_tables = false;
  command.add_flags = [advice](CLI::App& app, SweepOptions& options) {
    remove_other_flags(app);
    app.add_flag_callback(
           "--train", [&options] { options.axes["--pass"] = "fwd+bwd"; },
           "a training step: forward and backward; default: forward")
        ->group("Axes");
    app.add_option(
           "--figure", advice->figure_file,
           "draw time, memory and error of each kernel (.svg, .png, .pdf); needs matplotlib")
        ->type_name("FILE");
  };
  command.add_cases = [advice, &invocation](RunRecord& run) {
    advice->why_no_pytorch = add_pytorch(run, invocation.worker_executable);
  };
  command.report = [advice](const RunRecord& run, const TableView& view, std::ostream& out) {
    out << format_advice(run, advice->why_no_pytorch, view);
  };
  command.write_more = [advice](const RunRecord& run) {
    if (!advice->figure_file.empty()) draw(run, advice->figure_file);
  };
  add_measuring_command(program, invocation, action, std::move(command));
}

}  // namespace sparkbench
