// The guesses that a path rests on where the launch does not determine it: how far to trust it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/sass/sass_listing.h"

namespace sparkbench {

enum class PathDoubt : std::uint8_t {
  kUnknownBranch,  // data decides: not taken, unless it leads around a call
  kUnknownEnd,     // data decides: the threads go on
  kUnlisted,       // an opcode that the model does not have: its results are unknown
  kNeverMet,       // threads that wait for others which never come: they go on
};

struct PathNote {
  std::int32_t instruction;
  PathDoubt doubt;
  std::uint64_t times;
};

/// "0x1e60 @P0 BRA 0x1ea0: depends on data, not taken (12 times)"
std::string text_of(const PathNote& note, const SassFunction& function);

class PathNotes {
 public:
  void add(std::int32_t instruction, PathDoubt doubt, std::uint64_t times = 1) {
    times_[{instruction, doubt}] += times;
  }
  void add(const PathNotes& other) {
    for (const auto& [key, times] : other.times_) times_[key] += times;
  }
  /// In the order of the code.
  std::vector<PathNote> all() const;

 private:
  std::map<std::pair<std::int32_t, PathDoubt>, std::uint64_t> times_;
};

}  // namespace sparkbench
