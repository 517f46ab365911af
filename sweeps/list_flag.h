// The values of a flag that takes a list: `--seqlen 512,1k,4k` or `512:16k:*2`.
//   list   = item { "," item }
//   item   = number | first ":" last ":*" factor | first ":" last ":+" step
//   number = digits [ "k" | "m" ]                      k = 1024, m = 1024 * 1024
// A range ends at the last value that does not exceed `last`. Values keep their order; duplicates
// are dropped. Every function throws UsageError, which names `flag`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparkbench {

/// The largest extent of any axis.
inline constexpr int kMaxExtent = 1 << 24;

/// Items between commas, as typed, at most 1,024. Empty lists and empty items are errors.
std::vector<std::string_view> split_list(std::string_view flag, std::string_view text);

/// Integers from 1 to kMaxExtent.
std::vector<int> parse_extents(std::string_view flag, std::string_view text);

/// One integer from 1 to kMaxExtent.
int parse_extent(std::string_view flag, std::string_view text);

/// `number`, from 0 to kMaxExtent, is all or part of `item`. An error shows the item, and
/// `allowed`.
int parse_length(std::string_view flag, std::string_view item, std::string_view number,
                 std::string_view allowed);

/// Whether `text` is "auto", for a flag that takes that or numbers. Throws for a misspelt "auto".
bool is_auto(std::string_view flag, std::string_view text);

/// One integer, or empty for "auto".
std::optional<int> parse_extent_or_auto(std::string_view flag, std::string_view text);

/// "false", "true" or "both" (false first).
std::vector<bool> parse_booleans(std::string_view flag, std::string_view text);

/// Numbers p with 0 <= p < 1.
std::vector<float> parse_probabilities(std::string_view flag, std::string_view text);

}  // namespace sparkbench
