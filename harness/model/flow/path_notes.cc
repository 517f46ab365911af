#include "harness/model/flow/path_notes.h"

#include <fmt/format.h>

namespace sparkbench {
namespace {

std::string_view reason_of(PathDoubt doubt) {
  switch (doubt) {
    case PathDoubt::kUnknownBranch:
      return "depends on data; not taken unless it leads around a call";
    case PathDoubt::kUnknownEnd:
      return "depends on data; threads go on";
    case PathDoubt::kUnlisted:
      return "is no instruction that the model knows; its results are unknown";
    case PathDoubt::kNeverMet:
      return "threads wait for others that never come; they go on";
  }
  return "";
}

}  // namespace

std::string text_of(const PathNote& note, const SassFunction& function) {
  const SassInstruction& instruction = function.instructions[note.instruction];
  return fmt::format("{:#x} {}: {} ({} times)", instruction.address, text_of(instruction),
                     reason_of(note.doubt), note.times);
}

std::vector<PathNote> PathNotes::all() const {
  std::vector<PathNote> notes;
  for (const auto& [key, times] : times_) notes.push_back({key.first, key.second, times});
  return notes;
}

}  // namespace sparkbench
