// sparkbench advise: which kernel to use for one problem, in ten lines and a picture.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "harness/cli/measuring_command.h"
#include "harness/cli/published_rates.h"
#include "harness/cli/python_script.h"
#include "harness/run/run_files.h"
#include "kernels/registry.h"
#include "results/record/run_record.h"
#include "results/record/speedup.h"
#include "results/render/closing.h"
#include "results/render/number_format.h"
#include "results/render/text_table.h"
#include "results/store/json.h"
#include "results/store/output_file.h"
#include "results/study/fastest_kernel.h"
#include "results/study/kernel_statistics.h"
#include "sweeps/axes.h"
#include "sweeps/usage_error.h"
#include "sweeps/work.h"

namespace sparkbench {
namespace {

constexpr std::string_view kPyTorchNames = "torch-";

const CaseRecord* find_case(const RunRecord& run, const std::string& kernel) {
  const auto found = std::ranges::find(run.cases, kernel, &CaseRecord::kernel);
  return found == run.cases.end() ? nullptr : &*found;
}

/// "8.87 ms (6.90 to 11.4), predicted", or measured; "" without either.
std::string time_of(const CaseRecord& record) {
  if (record.time_ms) {
    const double noise = record.noise.value_or(0);
    return fmt::format("{} ms (+- {} %), measured", significant(record.time_ms->median, 4),
                       significant(100 * noise, 2));
  }
  if (!record.predicted) return "";
  const TimeBand& ms = record.predicted->time_ms;
  return fmt::format("{} ms ({} to {}), predicted", significant(ms.likely, 3),
                     significant(ms.low, 3), significant(ms.high, 3));
}

bool is_ours(const std::string& kernel) {
  return std::ranges::any_of(attention_kernels(),
                             [&](const AttentionKernel& each) { return each.name == kernel; });
}

std::string kernel_text(const FastestKernel& fastest) {
  if (fastest.is_baseline) return fastest.kernel + ": no fused kernel is faster on this problem";
  if (!fastest.over_base) return fastest.kernel;
  return fmt::format("{}, {} as fast as {}{}", fastest.kernel,
                     times_text(fastest.over_base->likely), fastest.over_base->over,
                     interval_of(*fastest.over_base));
}

std::string memory_text(const FastestKernel& fastest) {
  if (!fastest.memory) return "not known";
  return fmt::format("{}; the unfused computation takes {}", format_memory(fastest.memory->kernel),
                     format_memory(fastest.memory->unfused));
}

std::string error_text(const FastestKernel& fastest) {
  if (!fastest.worst_rel_l1) return "not checked";
  std::string text = fmt::format("rel_l1 {} %", significant(100 * *fastest.worst_rel_l1, 3));
  if (fastest.error_over_unfused) {
    text +=
        fmt::format(", {}x the unfused computation's", significant(*fastest.error_over_unfused, 2));
  }
  return text;
}

/// The cost of the other accumulator; "" if both accumulate in FP32.
std::string fp16_text(const FastestKernel& fastest) {
  for (const Rival& rival : fastest.rivals) {
    if (rival.role != Role::kFused || rival.accumulator != Accumulator::kFp16) continue;
    std::string text = fmt::format("{} takes {} as long{}", rival.lead.over,
                                   times_text(rival.lead.likely), interval_of(rival.lead));
    if (rival.error_ratio) {
      text += fmt::format(" and errs {}x as much", significant(*rival.error_ratio, 2));
    }
    return text;
  }
  return "";
}

std::string limits_text(const CaseRecord& record) {
  std::string text =
      "bf16 and fp32 tensors; head_dim above 256 or no multiple of 8; masks that are "
      "tensors";
  if (record.predicted && record.predicted->binding == "last wave") {
    text = "so few rows and heads, which leave SMs idle: a larger batch gains more; " + text;
  }
  return text;
}

/// scaled_dot_product_attention's back ends for fp16 on compute capability sm / 10 (PyTorch 2.10,
/// aten/src/ATen/native/transformers/cuda/sdp_utils.cpp).
std::string_view pytorch_choice(std::optional<int> sm) {
  if (!sm) return "";
  if (*sm < 80) return "SDPA has its memory-efficient kernel on this card, no flash and no cuDNN";
  return "SDPA has flash, cuDNN's and memory-efficient kernels on this card";
}

std::string published_text(const CaseProblem& problem) {
  std::string text;
  const auto add = [&](Pass pass, std::string_view name) {
    const auto rate = best_published_on_v100(problem.head_dim, pass);
    if (!rate) {
      text += fmt::format("; {}: nothing published for head_dim {}", name, problem.head_dim);
      return;
    }
    const double ms = static_cast<double>(useful_flops(pass, problem)) / rate->tflops * 1e-9;
    text += fmt::format("; {}: best published on a V100 {} TFLOP/s of a full mask, {} ms here ({})",
                        name, significant(rate->tflops, 3), significant(ms, 3), rate->source);
  };
  if (problem.pass != Pass::kBackward) add(Pass::kForward, "forward");
  if (problem.pass != Pass::kForward) add(Pass::kBackward, "backward");
  return text;
}

std::string pytorch_text(const RunRecord& run, const std::string& why_no_pytorch) {
  std::vector<std::string> measured;
  for (const CaseRecord& record : run.cases) {
    if (!record.kernel.starts_with(kPyTorchNames) || !record.time_ms) continue;
    measured.push_back(
        fmt::format("{} {} ms", record.kernel, significant(record.time_ms->median, 4)));
  }
  std::string text(pytorch_choice(run.environment.device.sm));
  if (!measured.empty()) {
    return fmt::format("{}; measured: {}", text, fmt::join(measured, ", "));
  }
  if (run.environment.device.sm == 70) text += published_text(run.cases.front().problem);
  return fmt::format("{}; not measured: {}", text, why_no_pytorch);
}

/// How a model gets this kernel.
std::string switch_text(const FastestKernel& fastest, const RunRecord& run) {
  if (!is_ours(fastest.kernel)) return "nothing to install: it is not one of these kernels";
  const int sm = run.environment.device.sm.value_or(70);
  const bool is_fp16 = find_case(run, fastest.kernel)->accumulator == Accumulator::kFp16;
  return fmt::format(
      "pip install ./kernels/python -C cmake.define.CMAKE_CUDA_ARCHITECTURES={}; then "
      "`with spark_attention.sdpa({}): model(batch)` serves every SDPA call",
      sm, is_fp16 ? "\"fp16\"" : "");
}

std::string heading(const RunRecord& run) {
  const DeviceInfo& device = run.environment.device;
  const CaseProblem& problem = run.cases.front().problem;
  return fmt::format(
      "{}{}, {}: {}", device.name, device.kind == DeviceKind::kEmulated ? " (emulated)" : "",
      problem.pass == Pass::kForward ? "forward" : "training step", shape_flags(problem));
}

/// Ten facts, a name and a text each, below a line with the device and the problem's flags. `run`
/// has one problem. `why_no_pytorch` says why PyTorch's kernels are not among its cases; empty if
/// they are.
std::string format_advice(const RunRecord& run, const std::string& why_no_pytorch,
                          const TableView& view) {
  if (run.cases.empty()) return "No case has run.\n";
  const std::vector<FastestKernel> found = find_fastest(run);
  if (found.empty() || !found.front().why_none.empty()) {
    return wrapped(heading(run) + "\n" + format_closing(run), view);
  }
  const FastestKernel& fastest = found.front();
  const CaseRecord& first = *find_case(run, fastest.kernel);
  std::vector<Fact> facts = {{"use", kernel_text(fastest)},
                             {"time", time_of(first)},
                             {"memory", memory_text(fastest)},
                             {"error", error_text(fastest)}};
  if (std::string fp16 = fp16_text(fastest); !fp16.empty()) facts.push_back({"FP16-ACC", fp16});
  facts.push_back({"not for", limits_text(first)});
  facts.push_back({"PyTorch", pytorch_text(run, why_no_pytorch)});
  facts.push_back({"switch on", switch_text(fastest, run)});
  std::string evidence = format_evidence(run);
  evidence.pop_back();
  facts.push_back({"evidence", std::move(evidence)});
  return wrapped(heading(run), view) + "\n" + format_facts(facts, view);
}

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

/// The program with the peers of harness/python: this one if Python started it.
std::vector<std::string> program_with_peers(const Invocation& invocation) {
  if (invocation.worker_arguments.empty()) return {"python3", "-m", "sparkbench"};
  std::vector<std::string> words = {invocation.worker_executable.string()};
  words.insert(words.end(), invocation.worker_arguments.begin(), invocation.worker_arguments.end());
  return words;
}

/// Adds PyTorch's kernels on the run's problem, timed on this GPU by a sweep of the peers.
/// Otherwise returns the reason.
std::string add_pytorch(RunRecord& run, const Invocation& invocation) {
  if (run.environment.device.kind != DeviceKind::kGpu) return "there is no GPU here";
  if (run.cases.empty()) return "no case has run";
  const CaseProblem& problem = run.cases.front().problem;
  if (problem.input == "tensors") return "they are not run on tensors of a file";
  const ScratchFile record(".json");
  std::vector<std::string> words = program_with_peers(invocation);
  words.insert(
      words.end(),
      {"sweep", "--quiet", "--no-progress", "--device", *run.cases.front().device, "--kernel",
       "peers:torch-flash,peers:torch-efficient,peers:torch-cudnn", "--json", record.path()});
  for (const Axis* axis : problem_axes()) {
    const AxisValue value = axis->access.get(problem);
    if (is_none(value) || (axis->is_implied != nullptr && axis->is_implied(problem))) continue;
    words.insert(words.end(), {axis->flag, text_of_value(value)});
  }
  const ScriptEnd end = run_command(std::move(words));
  if (end.status == 1 && end.last_words.ends_with("No module named sparkbench")) {
    return "pip install ./harness/python, beside PyTorch, lets it run them";
  }
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
    advice->why_no_pytorch = add_pytorch(run, invocation);
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
