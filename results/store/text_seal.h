// JSON text whose last field is the hash of the text without that field: FNV-1a, 64 bits. A
// different hash shows that the text was changed after it was written.
#pragma once

#include <string>
#include <string_view>

namespace sparkbench {

/// The end of a kind of text: the field's name with the characters before it, and those after its
/// value.
struct Seal {
  std::string_view before, after;
};

inline constexpr Seal kRowSeal{",\"row_hash\":\"", "\"}"};           // a line of cases.jsonl
inline constexpr Seal kRunSeal{",\n  \"run_hash\": \"", "\"\n}\n"};  // run.json

enum class SealState { kNone, kFits, kBroken };

/// `json` with its hash. It must end like `seal.after` after the quote.
std::string sealed(std::string json, const Seal& seal);

/// For a text that may be sealed.
SealState seal_state(std::string_view text, const Seal& seal);

}  // namespace sparkbench
