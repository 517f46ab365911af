// A text of JSON that says, in its last field, the hash of itself without that field: FNV-1a, 64
// bits. Who finds another hash knows that the text was changed since it was written.
#pragma once

#include <string>
#include <string_view>

namespace sparkbench {

/// How a kind of text ends: with the field's name and what comes before it, and after its value.
struct Seal {
  std::string_view before, after;
};

inline constexpr Seal kRowSeal{",\"row_hash\":\"", "\"}"};           // a line of cases.jsonl
inline constexpr Seal kRunSeal{",\n  \"run_hash\": \"", "\"\n}\n"};  // run.json

enum class SealState { kNone, kFits, kBroken };

/// `json` with its hash; it ends as `seal.after` does behind the quote.
std::string sealed(std::string json, const Seal& seal);

/// Of a text that may be sealed.
SealState seal_state(std::string_view text, const Seal& seal);

}  // namespace sparkbench
