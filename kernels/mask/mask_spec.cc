#include "kernels/mask/mask_spec.h"

#include <array>
#include <charconv>
#include <stdexcept>
#include <vector>

namespace sparkbench {
namespace {

struct Form {
  MaskKind kind;
  std::string_view name;
  int parameters;
  int least;  // that each may be
};

constexpr std::array kForms = {
    Form{MaskKind::kFull, "full", 0, 0},     Form{MaskKind::kCausal, "causal", 0, 0},
    Form{MaskKind::kWindow, "window", 1, 1}, Form{MaskKind::kBand, "band", 2, 0},
    Form{MaskKind::kPrefix, "prefix", 1, 0},
};

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw std::invalid_argument("'" + std::string(text) + "' " + std::string(why) +
                              "; allowed: " + std::string(mask_forms()));
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t colon = text.find(':'); colon != std::string_view::npos;
       colon = text.find(':')) {
    parts.push_back(text.substr(0, colon));
    text.remove_prefix(colon + 1);
  }
  parts.push_back(text);
  return parts;
}

int parse_parameter(std::string_view text, std::string_view part, int least) {
  int value = 0;
  const char* const end = part.data() + part.size();
  const auto [stop, error] = std::from_chars(part.data(), end, value);
  if (error == std::errc::result_out_of_range) refuse(text, "has a number beyond 2147483647");
  if (error != std::errc() || stop != end) refuse(text, "has no whole number where one is wanted");
  if (value < least) refuse(text, "has a number below " + std::to_string(least));
  return value;
}

}  // namespace

std::string_view mask_forms() {
  return "full, causal, window:W (W >= 1), band:L:R and prefix:P (L, R, P >= 0)";
}

std::string name_of(const MaskSpec& mask) {
  for (const Form& form : kForms) {
    if (form.kind != mask.kind) continue;
    std::string name(form.name);
    if (form.parameters > 0) name.append(":").append(std::to_string(mask.first));
    if (form.parameters > 1) name.append(":").append(std::to_string(mask.second));
    return name;
  }
  throw std::invalid_argument("a mask of no known kind");
}

MaskSpec parse_mask(std::string_view text) {
  const std::vector<std::string_view> parts = split(text);
  for (const Form& form : kForms) {
    if (form.name != parts[0]) continue;
    if (parts.size() != 1 + static_cast<std::size_t>(form.parameters)) {
      refuse(text, "has " + std::to_string(parts.size() - 1) + " numbers, not " +
                       std::to_string(form.parameters));
    }
    MaskSpec mask{form.kind, 0, 0};
    if (form.parameters > 0) mask.first = parse_parameter(text, parts[1], form.least);
    if (form.parameters > 1) mask.second = parse_parameter(text, parts[2], form.least);
    return mask;
  }
  refuse(text, "is no mask");
}

}  // namespace sparkbench
