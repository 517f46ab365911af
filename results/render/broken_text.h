// Breaks text into lines of limited length.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sparkbench {

/// Counts UTF-8 characters.
int characters_in(std::string_view text);

enum class Words { kSplit, kWhole };

/// Lines of at most `room` characters. Lines after the first are indented by `indent`, which must
/// be smaller. Breaks at a space, which is dropped, but never between a number and its percent
/// sign. A word that is kept whole may be longer than a line; one that may be split ends after one
/// of "/,:+_", or else at the limit.
std::vector<std::string> broken(std::string_view text, int room, int indent = 0,
                                Words words = Words::kSplit);

}  // namespace sparkbench
