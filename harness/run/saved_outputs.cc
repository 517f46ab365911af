#include "harness/run/saved_outputs.h"

#include <fmt/format.h>

#include "reference/tensors/safetensors.h"
#include "results/record/enum_names.h"
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
  std::vector<TensorToStore> tensors = {{"o", "F16", queries, bytes_of(outputs.o)},
                                        {"lse", "F32", statistics, bytes_of(outputs.lse)}};
  if (problem.pass != Pass::kForward) {
    tensors.push_back({"dq", "F16", queries, bytes_of(outputs.dq)});
    tensors.push_back({"dk", "F16", keys, bytes_of(outputs.dk)});
    tensors.push_back({"dv", "F16", keys, bytes_of(outputs.dv)});
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

}  // namespace sparkbench
