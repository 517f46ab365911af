#include "results/record/software_factor.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "sweeps/shortest.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

constexpr std::size_t kMostCharacters = 64;  // of a name
constexpr double kLeastFactor = 0.1, kMostFactor = 10;

bool is_name(std::string_view text) {
  constexpr std::string_view kCharacters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  return !text.empty() && text.size() <= kMostCharacters &&
         text.find_first_not_of(kCharacters) == std::string_view::npos;
}

std::optional<double> factor_of(std::string_view text) {
  double factor = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, factor);
  const bool is_taken =
      error == std::errc() && stop == end && factor >= kLeastFactor && factor <= kMostFactor;
  return is_taken ? std::optional(factor) : std::nullopt;
}

}  // namespace

std::string text_of(const SoftwareFactor& software) {
  return software.name + "=" + shortest(software.factor);
}

SoftwareFactor parse_software_factor(std::string_view text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string_view name = text.substr(0, equals);
  const std::optional<double> factor =
      equals == text.size() ? std::nullopt : factor_of(text.substr(equals + 1));
  if (is_name(name) && factor) return {std::string(name), *factor};
  throw UsageError(
      fmt::format("--software-factor: '{}' is not NAME=FACTOR; allowed: a name that says what the "
                  "factor is, and a number from {} to {}: launches-of-pytorch-1.13=1.32",
                  text, kLeastFactor, kMostFactor));
}

}  // namespace sparkbench
