#include "kernels/mask/mask_spec.h"

#include <charconv>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "kernels/base/split_text.h"
#include "kernels/mask/mask_table.h"
#include "kernels/mask/meant_mask.h"

namespace sparkbench {
namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw std::invalid_argument("'" + std::string(text) + "' " + std::string(why) +
                              "; allowed: " + std::string(mask_forms()));
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

[[noreturn]] void refuse_name(std::string_view text) {
  std::vector<std::string> names;
  for (const MaskRow& row : mask_rows()) names.emplace_back(row.name);
  const MeantMask meant = meant_mask(text, names);
  refuse(text, "is no mask" + did_you_mean(meant.name.empty() ? "" : meant.name + meant.fields));
}

}  // namespace

std::string_view mask_forms() {
  static const std::string forms = [] {
    std::string all;
    for (const MaskRow& row : mask_rows()) all.append(all.empty() ? "" : ", ").append(row.form);
    return all;
  }();
  return forms;
}

std::string name_of(const MaskSpec& mask) {
  const MaskRow& row = row_of(mask.kind);
  std::string name(row.name);
  if (row.parameters > 0) name.append(":").append(std::to_string(mask.first));
  if (row.parameters > 1) name.append(":").append(std::to_string(mask.second));
  return name;
}

std::vector<MaskSpec> masks_one_off(const MaskSpec& mask) {
  const MaskRow& row = row_of(mask.kind);
  std::vector<MaskSpec> masks;
  constexpr int MaskSpec::*kNumbers[] = {&MaskSpec::first, &MaskSpec::second};
  for (const auto number : std::span(kNumbers).first(static_cast<std::size_t>(row.parameters))) {
    for (const int by : {-1, 1}) {
      const std::int64_t value = std::int64_t{mask.*number} + by;
      if (value < row.least || value > std::numeric_limits<int>::max()) continue;
      masks.push_back(mask);
      masks.back().*number = static_cast<int>(value);
    }
  }
  return masks;
}

MaskSpec parse_mask(std::string_view text) {
  const std::vector<std::string_view> parts = split_text(text, ':');
  for (const MaskRow& row : mask_rows()) {
    if (row.name != parts[0]) continue;
    if (parts.size() != 1 + static_cast<std::size_t>(row.parameters)) {
      refuse(text, "has " + std::to_string(parts.size() - 1) + " numbers, not " +
                       std::to_string(row.parameters));
    }
    MaskSpec mask{row.kind, 0, 0};
    if (row.parameters > 0) mask.first = parse_parameter(text, parts[1], row.least);
    if (row.parameters > 1) mask.second = parse_parameter(text, parts[2], row.least);
    return mask;
  }
  refuse_name(text);
}

}  // namespace sparkbench
