// The statement that called a function: std::source_location, which Clang has from version 16 on
// and, before that, as an experiment.
#pragma once

#include <version>

#ifdef __cpp_lib_source_location
#include <source_location>
#else
#include <experimental/source_location>
#endif

#include <cstring>

namespace sparkbench {

#ifdef __cpp_lib_source_location
using CallSite = std::source_location;
#else
using CallSite = std::experimental::source_location;
#endif

/// Whether both are the same statement of the same instantiation. Lanes run the same machine code,
/// so equal statements have equal representations, which are far cheaper to compare than names.
inline bool same_site(const CallSite& a, const CallSite& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

}  // namespace sparkbench
