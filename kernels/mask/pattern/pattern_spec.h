// The language of masks, independent of lengths:
//   pattern = union { "/" union }     head h has union h % unions
//   union   = atom { "+" atom }       what any of them shows
//   atom    = [ "causal-" ] name { ":" field }
// "zones:" and "where:" take all that follows, a file's name and an expression (expression.h).
// A field is a number, or numbers between "x"; k is 1024 and m 1024 k. pattern_atoms.cc has a row
// for each name. All masks of mask_spec.h are in the language, and mean the same.
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
  std::string expression;  // in its normal form

  int number(std::size_t field) const { return fields[field][0]; }
  bool operator==(const PatternAtom&) const = default;
};

struct PatternSpec {
  std::vector<std::vector<PatternAtom>> unions;  // neither is empty
  bool operator==(const PatternSpec&) const = default;
};

/// A text that is no atom: what was wrong, and what is allowed.
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

/// Whether an expression of it names h: then each head has a pattern of its own, and make_pattern()
/// needs the number of heads.
bool names_heads(const PatternSpec& spec);

/// The most heads that names_heads() takes: no kernel's grid has more.
inline constexpr int kMostHeadUnions = 65535;

/// The pattern over these lengths; `heads` is 0 if not known. Throws std::invalid_argument for
/// lengths that an atom does not fit, for files that cannot be read, and if names_heads() and
/// `heads` is 0 or above kMostHeadUnions.
Pattern make_pattern(const PatternSpec& spec, int seqlen_q, int seqlen_k, int heads = 0);

inline Pattern parse_pattern(std::string_view text, int seqlen_q, int seqlen_k, int heads = 0) {
  return make_pattern(parse_pattern_spec(text), seqlen_q, seqlen_k, heads);
}

/// The dense mask of this name, if it is one.
std::optional<MaskSpec> mask_spec_of(const PatternSpec& spec);

/// "full, causal, window:W (W >= 1), ...": every form of an atom.
std::string_view pattern_forms();

}  // namespace sparkbench
