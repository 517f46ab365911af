// The language of masks, before anyone knows how long sequences are:
//   pattern = union { "/" union }     heads take the unions by turns
//   union   = atom { "+" atom }       what any of them shows
//   atom    = [ "causal-" ] name { ":" field }
// A field is a number, or numbers between "x"; k is 1024 and m 1024 k. pattern_atoms.cc has a row
// for each name. All masks of mask_spec.h are in it, and mean the same.
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/mask/mask_spec.h"
#include "kernels/mask/pattern/pattern.h"

namespace sparkbench {

struct PatternAtom {
  std::string name;
  std::vector<std::vector<int>> fields;
  std::string file;
  bool is_causal = false;  // has the prefix

  int number(std::size_t field) const { return fields[field][0]; }
  bool operator==(const PatternAtom&) const = default;
};

struct PatternSpec {
  std::vector<std::vector<PatternAtom>> unions;  // neither is empty
  bool operator==(const PatternSpec&) const = default;
};

/// An atom that is none: what was wrong, and what is allowed.
class PatternTextError : public std::invalid_argument {
 public:
  PatternTextError(const std::string& what, std::size_t position)
      : std::invalid_argument(what), position_(position) {}
  /// Where the atom begins in the whole text.
  std::size_t position() const { return position_; }

 private:
  std::size_t position_;
};

/// Throws PatternTextError.
PatternSpec parse_pattern_spec(std::string_view text);

/// The normal form, which parse_pattern_spec() reads: numbers written out, "causal-" only where it
/// changes something, no atom twice in a union.
std::string name_of(const PatternSpec& spec);

/// Over these lengths. Throws std::invalid_argument for lengths that an atom does not fit, and for
/// files that cannot be read.
Pattern make_pattern(const PatternSpec& spec, int seqlen_q, int seqlen_k);

inline Pattern parse_pattern(std::string_view text, int seqlen_q, int seqlen_k) {
  return make_pattern(parse_pattern_spec(text), seqlen_q, seqlen_k);
}

/// The mask that today's kernels know under this name, if it is one.
std::optional<MaskSpec> mask_spec_of(const PatternSpec& spec);

/// "full, causal, window:W (W >= 1), ...": every form of an atom.
std::string_view pattern_forms();

}  // namespace sparkbench
