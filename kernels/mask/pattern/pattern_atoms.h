// The atoms of the language of masks, a row each: what one is called, and the terms that it is.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/mask/pattern/pattern_spec.h"

namespace sparkbench {

struct AtomRow {
  std::string_view name;
  std::string_view form;  // as it is typed, and the least numbers
  int least_fields = 0, most_fields = 0;
  int least = 1;                  // that each number may be
  bool takes_axes = false;        // a field is "AxB", or "AxBxC"
  bool takes_file = false;        // all that follows is a file's name
  bool takes_expression = false;  // all that follows is an expression
  /// The atom that "causal-" makes of it, when that has a name of its own, with the same fields if
  /// it is this one. nullptr: none has.
  const char* causal_name = nullptr;
  /// Why its numbers do not go together; "" when they do. nullptr: they always do.
  std::string (*check)(const PatternAtom& atom) = nullptr;
  /// Over sequences as long as those of `lengths`, whose terms are not looked at.
  std::vector<Term> (*terms)(const PatternAtom& atom, const Pattern& lengths) = nullptr;
};

std::span<const AtomRow> atom_rows();

/// nullptr when there is none of this name.
const AtomRow* find_atom(std::string_view name);

}  // namespace sparkbench
