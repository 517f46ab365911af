#include "harness/model/sass/inspection_report.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "results/record/enum_names.h"

namespace sparkbench {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

template <class T>
Json optional(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json to_json(const KernelInstance& instance) {
  return {{"id", instance.id},
          {"symbol", instance.symbol},
          {"kernel", instance.kernel()},
          {"pass", instance.pass()},
          {"instruction", traits_of(instance.instruction).name},
          {"accumulator", name_of(instance.accumulator)},
          {"head_dim", instance.head_dim},
          {"dropout", instance.has_dropout}};
}

Json to_json(const KernelResources& resources) {
  return {{"registers", resources.registers},
          {"stack_bytes", resources.stack_bytes},
          {"local_bytes", resources.local_bytes},
          {"static_shared_bytes", resources.shared_bytes}};
}

Json launch_json(const std::optional<KernelInstance>& instance) {
  if (!instance) return nullptr;
  return {{"threads", instance->threads},
          {"dynamic_shared_bytes", instance->dynamic_shared_bytes},
          {"block_rows", instance->block_rows},
          {"step_columns", instance->step_columns}};
}

Json to_json(const Occupancy& occupancy) {
  return {{"blocks_per_sm", occupancy.blocks},
          {"warps_per_sm", occupancy.warps},
          {"limited_by", occupancy.limiter}};
}

Json to_json(const LoopCaps& caps) {
  return {{"issue", number(caps.issue)}, {"lsu", number(caps.lsu)},
          {"xu", number(caps.xu)},       {"fp32", number(caps.fp32)},
          {"alu", number(caps.alu)},     {"tensor_port", number(caps.tensor_port)}};
}

/// `per` makes a field of a count.
Json mix_json(const LoopMix& mix, auto&& per) {
  Json json;
  for (int i = 0; i < kInstructionClasses; ++i) {
    json[std::string(name_of(static_cast<InstructionClass>(i)))] = per(mix.counts[i]);
  }
  json["instructions"] = per(mix.instructions);
  json["lsu_wavefronts"] = per(mix.lsu_wavefronts);
  return json;
}

Json to_json(const LoopInspection& loop) {
  return {{"begin", loop.first_address},
          {"end", loop.end_address},
          {"first_address", loop.first_address},
          {"last_address", loop.last_address},
          {"instructions", loop.instructions},
          {"mma", loop.mix.mma},
          {"scores", optional(loop.scores)},
          {"columns", optional(loop.columns)},
          {"masks", loop.masks},
          {"mix", mix_json(loop.mix, [](int count) { return count; })},
          {"per_mma", mix_json(loop.mix, [&loop](int count) { return count / loop.mix.mma; })},
          {"caps", to_json(loop.caps)}};
}

Json to_json(const GateResult& gate) {
  return {{"name", gate.name},
          {"value", gate.value ? number(*gate.value) : Json(nullptr)},
          {gate.is_minimum ? "at_least" : "at_most", gate.limit},
          {"holds", optional(gate.holds())},
          {"reason", gate.reason.empty() ? Json(nullptr) : Json(gate.reason)}};
}

template <class T>
Json optional_object(const std::optional<T>& value) {
  return value ? to_json(*value) : Json(nullptr);
}

Json to_json(const KernelInspection& kernel);

template <class T>
Json array(const std::vector<T>& values) {
  Json json = Json::array();
  for (const T& value : values) json.push_back(to_json(value));
  return json;
}

Json to_json(const KernelInspection& kernel) {
  return {{"name", kernel.name},
          {"symbol", kernel.symbol},
          {"function", kernel.function},
          {"sm", kernel.sm},
          {"instance", optional_object(kernel.instance)},
          {"resources", to_json(kernel.resources)},
          {"launch", launch_json(kernel.instance)},
          {"occupancy", optional_object(kernel.occupancy)},
          {"instructions", kernel.instructions},
          {"local_accesses", kernel.local_accesses},
          {"tensor_instructions", kernel.tensor_instructions},
          {"main_loop", kernel.loops.empty() ? Json(nullptr) : to_json(kernel.loops.front())},
          {"tensor_loops", array(kernel.loops)},
          {"gates", array(kernel.gates)}};
}

}  // namespace

std::string format_inspection_json(const std::filesystem::path& binary,
                                   std::span<const KernelInspection> kernels,
                                   std::span<const std::string> broken_gates) {
  Json document = {{"schema", "sparkbench.inspection 1.1.0"},
                   {"binary", binary.string()},
                   {"kernels", array(std::vector(kernels.begin(), kernels.end()))},
                   {"broken_gates", std::vector(broken_gates.begin(), broken_gates.end())}};
  return document.dump(2) + "\n";
}

}  // namespace sparkbench
