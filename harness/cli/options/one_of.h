// A flag that takes one of a few names.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class Validator;
}

namespace sparkbench {

/// Rejects any other name, with the nearest and all allowed names in the error; help shows
/// "{cold,hot}".
CLI::Validator one_of(std::vector<std::string> names);

}  // namespace sparkbench
