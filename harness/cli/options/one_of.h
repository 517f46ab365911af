// A flag that takes one of a few names.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class Validator;
}

namespace sparkbench {

/// Refuses any other name, with the one that was meant and all that are allowed; help shows these
/// as "{cold,hot}".
CLI::Validator one_of(std::vector<std::string> names);

}  // namespace sparkbench
