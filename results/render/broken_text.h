// Text in lines of so many characters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sparkbench {

/// Of UTF-8, a character each.
int characters_in(std::string_view text);

/// Lines of at most `room` characters, those behind the first indented by `indent`, which is less.
/// Broken at a space, which is left out, or behind one of "/,:+_", or else where the room ends.
std::vector<std::string> broken(std::string_view text, int room, int indent = 0);

}  // namespace sparkbench
