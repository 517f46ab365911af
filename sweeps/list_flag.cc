#include "sweeps/list_flag.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>

#include "kernels/base/closest_name.h"
#include "kernels/base/split_text.h"
#include "sweeps/names.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

constexpr std::string_view kAllowedExtents =
    "whole numbers from 1 to 16m (suffix k = 1024, m = 1024k), ranges first:last:*factor or "
    "first:last:+step, and comma lists of both";

/// A sweep with more values is a typing error, such as a step without its zeros.
constexpr std::size_t kMaxValues = 1024;
constexpr std::string_view kAllowedCounts = "at most 1024 values an axis";

[[noreturn]] void reject(std::string_view flag, std::string_view item, std::string_view wrong,
                         std::string_view allowed) {
  throw UsageError(fmt::format("{}: '{}' {}; allowed: {}", flag, item, wrong, allowed));
}

template <class T>
void push_new(std::vector<T>& values, T value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

std::optional<std::int64_t> suffix_factor(std::string_view suffix) {
  if (suffix.empty()) return 1;
  if (suffix == "k" || suffix == "K") return 1024;
  if (suffix == "m" || suffix == "M") return 1024 * 1024;
  return std::nullopt;
}

/// `number` is all or part of `item`. An error shows the item as typed.
int parse_number(std::string_view flag, std::string_view item, std::string_view number,
                 std::int64_t least = 1, std::string_view allowed = kAllowedExtents) {
  std::int64_t value = 0;
  const char* end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, value);
  if (error == std::errc::result_out_of_range) reject(flag, item, "is too large", allowed);
  const std::string_view suffix(stop, static_cast<std::size_t>(end - stop));
  const std::optional<std::int64_t> factor = suffix_factor(suffix);
  if (error != std::errc() || !factor) reject(flag, item, "is not a whole number", allowed);
  if (value < least) reject(flag, item, fmt::format("is below {}", least), allowed);
  if (value > kMaxExtent / *factor) reject(flag, item, "is too large", allowed);
  return static_cast<int>(value * *factor);
}

/// `item` is first:last:*factor or first:last:+step.
void append_range(std::string_view flag, std::string_view item, std::vector<int>& values) {
  const std::size_t colon = item.find(':');
  const std::size_t second_colon = item.find(':', colon + 1);
  if (second_colon == std::string_view::npos || second_colon + 1 == item.size()) {
    reject(flag, item, "is a range without a step", kAllowedExtents);
  }
  const char operation = item[second_colon + 1];
  if (operation != '*' && operation != '+') {
    reject(flag, item, "has a step that starts with neither * nor +", kAllowedExtents);
  }
  const int first = parse_number(flag, item, item.substr(0, colon));
  const int last = parse_number(flag, item, item.substr(colon + 1, second_colon - colon - 1));
  const int step = parse_number(flag, item, item.substr(second_colon + 2));
  if (first > last) reject(flag, item, "runs from the larger to the smaller", kAllowedExtents);
  if (operation == '*' && step == 1) {
    reject(flag, item, "has a factor of 1 and would never end", kAllowedExtents);
  }
  for (std::int64_t value = first; value <= last;
       value = operation == '*' ? value * step : value + step) {
    if (values.size() == kMaxValues) reject(flag, item, "has too many values", kAllowedCounts);
    push_new(values, static_cast<int>(value));
  }
}

}  // namespace

std::vector<std::string_view> split_list(std::string_view flag, std::string_view text) {
  std::vector<std::string_view> items = split_text(text, ',');
  if (items.size() > kMaxValues) {
    throw UsageError(
        fmt::format("{}: the list has too many values; allowed: {}", flag, kAllowedCounts));
  }
  for (const std::string_view item : items) {
    if (item.empty()) reject(flag, text, "has an empty item", "values separated by single commas");
  }
  return items;
}

std::vector<int> parse_extents(std::string_view flag, std::string_view text) {
  std::vector<int> values;
  for (const std::string_view item : split_list(flag, text)) {
    if (item.find(':') != std::string_view::npos) {
      append_range(flag, item, values);
    } else {
      push_new(values, parse_number(flag, item, item));
    }
  }
  return values;
}

int parse_extent(std::string_view flag, std::string_view text) {
  const std::vector<int> values = parse_extents(flag, text);
  if (values.size() != 1) reject(flag, text, "is a list", "one whole number from 1 to 16m");
  return values.front();
}

int parse_length(std::string_view flag, std::string_view item, std::string_view number,
                 std::string_view allowed) {
  return parse_number(flag, item, number, 0, allowed);
}

bool is_auto(std::string_view flag, std::string_view text) {
  constexpr std::string_view kNames[] = {"auto"};
  if (text == kNames[0]) return true;
  const bool is_word = !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0;
  const std::string meant = is_word ? closest_name(text, kNames) : "";
  if (!meant.empty()) {
    reject(flag, text, "is not a whole number" + did_you_mean(meant),
           fmt::format("{}, or auto", kAllowedExtents));
  }
  return false;
}

std::optional<int> parse_extent_or_auto(std::string_view flag, std::string_view text) {
  if (is_auto(flag, text)) return std::nullopt;
  return parse_extent(flag, text);
}

std::vector<bool> parse_booleans(std::string_view flag, std::string_view text) {
  if (text == "false") return {false};
  if (text == "true") return {true};
  if (text == "both") return {false, true};
  const std::vector<std::string> known = {"true", "false", "both"};
  throw UsageError(unknown_name_message(flag, text, known));
}

std::vector<float> parse_probabilities(std::string_view flag, std::string_view text) {
  std::vector<float> values;
  for (const std::string_view item : split_list(flag, text)) {
    float p = 0.0f;
    const char* end = item.data() + item.size();
    const auto [stop, error] = std::from_chars(item.data(), end, p);
    if (error != std::errc() || stop != end) {
      reject(flag, item, "is not a number", "numbers p with 0 <= p < 1, separated by commas");
    }
    if (!(p >= 0.0f && p < 1.0f)) {
      reject(flag, item, "is outside [0, 1)", "numbers p with 0 <= p < 1, separated by commas");
    }
    push_new(values, p == 0.0f ? 0.0f : p);  // -0 is 0
  }
  return values;
}

}  // namespace sparkbench
