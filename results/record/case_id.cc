#include "results/record/case_id.h"

#include <fmt/core.h>

#include <algorithm>
#include <istream>

#include "results/record/record_fields.h"
#include "sweeps/layer_axes.h"
#include "sweeps/shortest.h"

namespace sparkbench {
namespace {

/// Text of a method's field; differs if and only if the field differs.
std::string text_of(const std::string& value) { return value; }
std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(double value) { return shortest(value); }
std::string text_of(int value) { return std::to_string(value); }
std::string text_of(std::uint64_t value) { return std::to_string(value); }

template <class T>
std::string text_of(const std::optional<T>& value) {
  return value ? text_of(*value) : "null";
}

/// "/scale0.25"; "" for the default.
std::string scale_part(const Problem& problem) {
  Problem unscaled = problem;
  unscaled.softmax_scale = 0.0f;
  if (problem.scale() == unscaled.scale()) return "";
  return "/scale" + shortest(problem.scale());
}

}  // namespace

std::string make_case_id(std::string_view kernel, const CaseProblem& problem) {
  std::string id(kernel), unusual;
  const auto append = [&](const Axis* axis) {
    const AxisValue value = axis->access.get(problem);
    const AxisInId& in_id = axis->id;
    const bool is_usual =
        std::find(in_id.usual.begin(), in_id.usual.end(), value) != in_id.usual.end();
    const bool is_like_twin = in_id.is_left_out_like_twin && equals_twin(*axis, problem);
    if (is_none(value) || is_usual || is_like_twin) return;
    const std::string text = in_id.text != nullptr ? in_id.text(problem) : text_of_value(value);
    const std::string part = fmt::format("/{}{}", in_id.prefix, text);
    (in_id.place > 0 ? id : unusual) += part;
  };
  for (const Axis* axis : recorded_axes()) append(axis);
  for (const Axis* axis : layer_axes()) append(axis);
  return id + scale_part(problem) + unusual;
}

std::string make_problem_key(const CaseProblem& problem) { return make_case_id("", problem); }

std::uint64_t fnv1a(std::string_view bytes, std::uint64_t hash) {
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  }
  return hash;
}

std::uint64_t fnv1a(std::istream& bytes) {
  std::string chunk(1 << 20, '\0');
  std::uint64_t hash = fnv1a("");
  while (bytes.read(chunk.data(), static_cast<std::streamsize>(chunk.size())) ||
         bytes.gcount() > 0) {
    hash = fnv1a({chunk.data(), static_cast<std::size_t>(bytes.gcount())}, hash);
  }
  return hash;
}

std::string to_hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

std::string make_config_hash(std::string_view case_id, std::uint64_t seed, const Method& method) {
  std::string text = fmt::format("{}\nseed={}\n", case_id, seed);
  visit_fields(method, [&](const char* name, const auto& field) {
    const void* const address = &field;
    if (address == &method.timeout_s) return;  // a limit, not a way of measuring
    text += fmt::format("{}={}\n", name, text_of(field));
  });
  return to_hex(fnv1a(text));
}

}  // namespace sparkbench
