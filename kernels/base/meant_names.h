// Which known names somebody meant who typed none of them: a word that other programs use, a slip
// of one letter, a part of a name, or a larger slip. Messages that ask "did you mean" ask here.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/closest_name.h"

namespace sparkbench {

struct Synonym {
  std::string_view typed, name;
};

/// Words of other programs and of papers, for what has another name here. Both without the dashes
/// of a flag, and with '-' for '_'.
inline constexpr Synonym kSynonyms[] = {
    // passes
    {"forward", "fwd"},
    {"backward", "bwd"},
    {"both", "fwd+bwd"},
    {"training", "fwd+bwd"},
    // masks
    {"sliding", "window"},
    {"sliding-window", "window"},
    {"swa", "window"},
    {"local", "window"},
    {"none", "full"},
    {"bidirectional", "full"},
    // axes
    {"d", "headdim"},
    {"dim", "headdim"},
    {"head-dim", "headdim"},
    {"head-size", "headdim"},
    {"headdim", "head_dim"},
    {"n", "seqlen"},
    {"length", "seqlen"},
    {"seq-len", "seqlen"},
    {"sequence-length", "seqlen"},
    {"batch-size", "batch"},
    {"num-heads", "heads"},
    {"nheads", "heads"},
    {"kv-heads", "heads-k"},
    {"num-kv-heads", "heads-k"},
    {"p", "dropout"},
    {"dropout-p", "dropout"},
    {"heads", "hidden"},  // of layers, which have hidden / head_dim
    {"accumulator", "kernel"},
    // kernels that there were
    {"volta-fp16acc-o16", "volta-fp16acc"},
    {"volta-mixedacc", "volta-fp32acc"},
    // other flags
    {"gpu", "device"},
    {"output", "out"},
    {"filter", "where"},
    {"group-by", "by"},
    {"verbose", "columns"},
    {"repeat", "min-samples"},
    {"iterations", "min-samples"},
    {"iters", "min-samples"},
};

/// Small letters, no dashes of a flag, '-' for '_'.
inline std::string plain_name(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  std::string plain(name);
  for (char& letter : plain) {
    if (letter == '_') letter = '-';
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return plain;
}

/// Whether the name, as plain_name() has it, begins with the part, or has it between dashes.
inline bool has_part(const std::string& name, const std::string& part) {
  constexpr std::size_t kLeast = 3;  // letters: fewer are in too many names
  if (part.size() < kLeast) return false;
  if (name.starts_with(part)) return true;
  return ("-" + name + "-").find("-" + part + "-") != std::string::npos;
}

/// The known names that other programs call so.
template <class Names>
std::vector<std::string> named_otherwise(std::string_view typed, const Names& known) {
  const std::string plain = plain_name(typed);
  std::vector<std::string> found;
  for (const auto& each : known) {
    const std::string name = plain_name(each);
    const bool is_synonym =
        std::any_of(std::begin(kSynonyms), std::end(kSynonyms), [&](const Synonym& synonym) {
          return synonym.typed == plain && plain_name(synonym.name) == name;
        });
    if (name == plain || is_synonym) found.emplace_back(each);
  }
  return found;
}

/// At most two, the likelier first; none when nothing is near enough to be meant.
template <class Names>
std::vector<std::string> meant_names(std::string_view typed, const Names& known) {
  constexpr std::size_t kMost = 2;
  std::vector<std::string> found = named_otherwise(typed, known);
  if (found.empty()) {
    std::string slip = closest_name(typed, known);
    if (!slip.empty() && edit_distance(typed, slip) == 1) return {std::move(slip)};
    const std::string plain = plain_name(typed);
    for (const auto& each : known) {
      if (has_part(plain_name(each), plain)) found.emplace_back(each);
    }
    if (found.empty() && !slip.empty()) return {std::move(slip)};
  }
  if (found.size() > kMost) found.resize(kMost);
  return found;
}

/// ", did you mean 'volta-fp16acc' or 'volta-fp32acc'?", to append to a message; "" for no name.
inline std::string did_you_mean(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? ", did you mean '" : " or '") + name + "'";
  }
  return text.empty() ? text : text + "?";
}

}  // namespace sparkbench
