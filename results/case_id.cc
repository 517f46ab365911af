#include "results/case_id.h"

#include <fmt/core.h>

#include "results/enum_names.h"
#include "results/record_fields.h"
#include "results/shortest.h"

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
                     problem.causal ? "causal" : "full", shortest(problem.dropout_p), scale);
}

std::string make_problem_key(const ProblemRecord& problem) {
  return make_case_id("", problem.pass, make_problem(problem));
}

std::uint64_t fnv1a(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  }
  return hash;
}

std::string to_hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

std::string make_config_hash(std::string_view case_id, std::uint64_t seed, const Method& method) {
  std::string text = fmt::format("{}\nseed={}\n", case_id, seed);
  visit_fields(method, [&text](const char* name, const auto& field) {
    text += fmt::format("{}={}\n", name, text_of(field));
  });
  return to_hex(fnv1a(text));
}

}  // namespace sparkbench
