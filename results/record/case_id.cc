#include "results/record/case_id.h"

#include <fmt/core.h>

#include "results/record/enum_names.h"
#include "results/record/record_fields.h"
#include "results/store/shortest.h"

namespace sparkbench {
namespace {

/// Text of a method's field that differs when the field does.
std::string text_of(const std::string& value) { return value; }
std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(double value) { return shortest(value); }
std::string text_of(int value) { return std::to_string(value); }
std::string text_of(std::uint64_t value) { return std::to_string(value); }

template <class T>
std::string text_of(const std::optional<T>& value) {
  return value ? text_of(*value) : "null";
}

}  // namespace

std::string make_case_id(std::string_view kernel, Pass pass, const Problem& problem) {
  Problem unscaled = problem;
  unscaled.softmax_scale = 0.0f;
  const std::string scale = problem.scale() == unscaled.scale()
                                ? std::string()
                                : fmt::format("/scale{}", shortest(problem.scale()));
  return fmt::format("{}/{}/b{}/h{}/sq{}/sk{}/d{}/{}/p{}{}", kernel, name_of(pass), problem.batch,
                     problem.heads, problem.seqlen_q, problem.seqlen_k, problem.head_dim,
                     name_of(problem.mask), shortest(problem.dropout_p), scale);
}

std::string make_case_id(std::string_view kernel, const ProblemRecord& problem) {
  std::string id = make_case_id(kernel, problem.pass, make_problem(problem));
  const std::string input = problem.input.value_or("tensors");
  if (input != "normal" && input != "tensors") id += "/" + input;
  if (problem.input_scale.value_or(1) != 1) id += fmt::format("/x{}", *problem.input_scale);
  return id;
}

std::string make_problem_key(const ProblemRecord& problem) { return make_case_id("", problem); }

std::uint64_t fnv1a(std::string_view bytes, std::uint64_t hash) {
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  }
  return hash;
}

std::string to_hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

std::string make_config_hash(std::string_view case_id, std::uint64_t seed, const Method& method) {
  std::string text = fmt::format("{}\nseed={}\n", case_id, seed);
  visit_fields(method, [&](const char* name, const auto& field) {
    const void* const address = &field;
    if (address == &method.timeout_s) return;  // when to give up, not how to measure
    text += fmt::format("{}={}\n", name, text_of(field));
  });
  return to_hex(fnv1a(text));
}

}  // namespace sparkbench
