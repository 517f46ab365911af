// The values of a flag that takes a list: `--seqlen 512,1k,4k` or `512:16k:*2`.
//   list   = item { "," item }
//   item   = number | first ":" last ":*" factor | first ":" last ":+" step
//   number = digits [ "k" | "m" ]                      k = 1024, m = 1024 * 1024
// A range ends at the last value that does not exceed `last`. Values keep their order, and a value
// that comes twice counts once. Every function throws UsageError, which names `flag`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparkbench {

/// The largest extent any axis takes.
inline constexpr int kMaxExtent = 1 << 24;

/// Items between commas, as typed, at most 1,024. An empty list and an empty item are errors.
std::vector<std::string_view> split_list(std::string_view flag, std::string_view text);

/// Integers of 1 to kMaxExtent.
std::vector<int> parse_extents(std::string_view flag, std::string_view text);

/// One integer of 1 to kMaxExtent.
int parse_extent(std::string_view flag, std::string_view text);

/// `number`, of 0 to kMaxExtent, all or part of `item`: an error shows that, and `allowed`.
int parse_length(std::string_view flag, std::string_view item, std::string_view number,
                 std::string_view allowed);

/// Whether all that is typed is "auto", where it may be that or numbers. Throws for a slip of it.
bool is_auto(std::string_view flag, std::string_view text);

/// One integer, or nothing for "auto".
std::optional<int> parse_extent_or_auto(std::string_view flag, std::string_view text);

/// "false", "true" or "both" (false first).
std::vector<bool> parse_booleans(std::string_view flag, std::string_view text);

/// Numbers p with 0 <= p < 1.
std::vector<float> parse_probabilities(std::string_view flag, std::string_view text);

}  // namespace sparkbench
