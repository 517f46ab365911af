#include "harness/run/run_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <list>
#include <ostream>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/tensors/element_type.h"
#include "reference/tensors/safetensors.h"
#include "results/record/enum_names.h"
#include "results/record/provenance.h"
#include "results/record/safe_text.h"
#include "results/render/html_page.h"
#include "results/render/summary.h"
#include "results/store/csv.h"
#include "results/store/json.h"
#include "results/store/output_file.h"
#include "results/store/stored_run.h"
#include "sweeps/usage_error.h"
#include "sweeps/work.h"

namespace sparkbench {
namespace {

template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

using Shape = std::vector<std::uint64_t>;

/// [batch, seqlen, heads, head_dim], or [total, heads, head_dim] for varlen.
Shape shape_of(const Problem& problem, int seqlen, int heads) {
  Shape shape;
  if (!problem.lengths) shape.push_back(static_cast<std::uint64_t>(problem.batch));
  for (const int extent : {seqlen, heads, problem.head_dim}) {
    shape.push_back(static_cast<std::uint64_t>(extent));
  }
  return shape;
}

struct OutputShapes {
  Shape queries, keys, statistics;

  explicit OutputShapes(const Problem& problem) {
    const Problem layout = problem.lengths ? problem.packed() : problem;
    queries = shape_of(problem, layout.seqlen_q, problem.heads);
    keys = shape_of(problem, layout.seqlen_k, problem.key_heads());
    statistics.assign(queries.begin(), queries.end() - 3);  // the batch, if there is one
    statistics.push_back(static_cast<std::uint64_t>(problem.heads));
    statistics.push_back(static_cast<std::uint64_t>(layout.seqlen_q));
  }
};

void append_offsets(const SequenceLengths& lengths, std::vector<TensorToStore>& tensors) {
  const Shape shape = {static_cast<std::uint64_t>(lengths.batch()) + 1};
  tensors.push_back({"cu_seqlens_q", "I32", shape, bytes_of(lengths.cu_seqlens_q())});
  tensors.push_back({"cu_seqlens_k", "I32", shape, bytes_of(lengths.cu_seqlens_k())});
}

}  // namespace

std::string kernel_to_save(const Device& device) {
  const Candidate* chosen = nullptr;
  for (const auto& candidate : device.candidates()) {
    const bool is_candidate = candidate->kind() == CandidateKind::kKernel &&
                              candidate->accumulator() == Accumulator::kFp32;
    if (!is_candidate) continue;
    const bool is_native = !candidate->why_time_is_invalid();
    if (chosen == nullptr || is_native) chosen = candidate.get();
    if (is_native) break;
  }
  if (chosen == nullptr) throw UsageError("--save-outputs: name a kernel with --kernel");
  return chosen->name();
}

void check_savable(const std::vector<SweepCase>& cases, const Device& device) {
  if (cases.size() != 1) {
    throw UsageError(fmt::format(
        "--save-outputs: saves the outputs of one kernel, --kernel names {}", cases.size()));
  }
  for (const auto& candidate : device.candidates()) {
    const bool is_asked_for = candidate->name() == cases.front().kernel;
    if (!is_asked_for || candidate->kind() != CandidateKind::kReference) continue;
    throw UsageError(fmt::format("--save-outputs: {} is a reference; name a kernel with --kernel",
                                 candidate->name()));
  }
}

std::string cost_of_saving(const CaseProblem& problem, const Device& device) {
  const double flops = static_cast<double>(useful_flops(problem.pass, problem));
  const double usual_flops = device.check_budget().emulate_flops;
  if (flops <= usual_flops) return {};
  return fmt::format(
      "--save-outputs: emulates the whole problem, {:.3g} GFLOP, not a sample of at most {:.2g}: "
      "this may take a while",
      flops * 1e-9, usual_flops * 1e-9);
}

std::string outputs_to_safetensors(const PassOutputs& outputs, const CaseRecord& record,
                                   const RunRecord& run) {
  const CaseProblem& problem = record.problem;
  const auto [queries, keys, statistics] = OutputShapes(problem);
  const std::string_view type = problem.element == ElementType::kBf16 ? "BF16" : "F16";
  std::vector<TensorToStore> tensors;
  std::list<std::vector<Half>> words;
  const auto store = [&](std::string_view name, const auto& shape, const std::vector<Half>& kept) {
    words.push_back(as_kernel_has(problem.element, kept));
    tensors.push_back({name, type, shape, bytes_of(words.back())});
  };
  store("o", queries, outputs.o);
  tensors.push_back({"lse", "F32", statistics, bytes_of(outputs.lse)});
  if (problem.pass != Pass::kForward) {
    store("dq", queries, outputs.dq);
    store("dk", keys, outputs.dk);
    store("dv", keys, outputs.dv);
  }
  if (problem.lengths) append_offsets(*problem.lengths, tensors);
  return safetensors_file(tensors, {{"producer", "sparkbench " + run.build.version},
                                    {"run", run.run.id},
                                    {"case", record.id},
                                    {"device", run.environment.device.name},
                                    {"status", std::string(name_of(record.status))},
                                    {"input", run.method.input},
                                    {"input_hash", run.method.input_hash.value_or("")}});
}

namespace {

/// The file of a run's folder that the flag writes.
std::string_view derived_file(std::string_view flag) {
  if (flag == "--json") return "run.json";
  if (flag == "--csv") return "cases.csv";
  return flag == "--md" ? "summary.md" : "";
}

void require_harmless(const OutputFile& file, const std::string& run, std::string_view own) {
  if (run.empty() || !would_damage_run(file.second, run, own)) return;
  throw UsageError(fmt::format("{}: '{}' is a file of the run '{}'; give another file", file.first,
                               file.second, run));
}

}  // namespace

RunsBeside runs_beside(const SweepOptions& options) {
  return {.own = {options.out_folder, options.resume_folder}, .read = {}};
}

void check_outputs(const OutputFiles& outputs, const RunsBeside& runs,
                   const std::string& tensors_file) {
  const auto files = files_asked_for(outputs);
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!is_same_output(files[i].second, files[j].second)) continue;
      throw UsageError(fmt::format("{} and {}: both write to '{}'; give them different files",
                                   files[j].first, files[i].first, files[i].second));
    }
    if (!tensors_file.empty() && is_same_output(files[i].second, tensors_file)) {
      throw UsageError(fmt::format("{}: '{}' is what --tensors reads; give another file",
                                   files[i].first, files[i].second));
    }
    for (const std::string& run : runs.own) {
      require_harmless(files[i], run, derived_file(files[i].first));
    }
    for (const std::string& run : runs.read) require_harmless(files[i], run, "");
    check_writable(files[i].first, files[i].second);
  }
}

std::ostream& report_stream(const OutputFiles& outputs, const Streams& streams) {
  const auto files = files_asked_for(outputs);
  const bool is_stdout_taken = std::any_of(
      files.begin(), files.end(), [](const auto& file) { return is_standard_output(file.second); });
  return is_stdout_taken ? streams.err : streams.out;
}

void write_outputs(const OutputFiles& files, const RunRecord& run, const Streams& streams,
                   const RunFormats& formats) {
  std::exception_ptr first_error;
  const auto write = [&](const std::string& path, auto format) {
    if (path.empty()) return;
    try {
      write_output(path, format(run), streams.out);
    } catch (const OutputError&) {
      if (!first_error) first_error = std::current_exception();
    }
  };
  write(files.json, formats.json ? formats.json : run_to_json);
  write(files.csv, files.csv_has_all_columns ? cases_to_csv : cases_to_lean_csv);
  write(files.markdown, format_summary_markdown);
  write(files.html, formats.html ? formats.html : format_html_page);
  if (first_error) std::rethrow_exception(first_error);
}

void save_outputs(const std::string& file, const SweepResult& result, const Streams& streams) {
  if (file.empty() || result.run.cases.empty()) return;
  const CaseRecord& record = result.run.cases.front();
  if (!result.outputs) {
    throw OutputError(fmt::format("--save-outputs: nothing was written to '{}', since {}", file,
                                  record.reason ? record.reason->message : "nothing was run"));
  }
  write_output(file, outputs_to_safetensors(*result.outputs, record, result.run), streams.out);
}

RunRecord load_run(const std::string& path) {
  try {
    return read_stored_run(path);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
}

RunRecord salvage_run(const std::string& path, std::ostream& err) {
  try {
    SalvagedRun salvaged = salvage_stored_run(path);
    for (const std::string& line : salvaged.damage) err << "left out: " << printable(line) << '\n';
    return std::move(salvaged.run);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
}

std::vector<RunRecord> load_runs(const std::vector<std::string>& paths) {
  std::vector<RunRecord> runs;
  runs.reserve(paths.size());
  for (const std::string& path : paths) {
    runs.push_back(load_run(path));
    stamp_provenance(runs.back());  // before they are merged
  }
  return runs;
}

}  // namespace sparkbench
