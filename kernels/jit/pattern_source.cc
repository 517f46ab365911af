#include "kernels/jit/pattern_source.h"

#include <algorithm>
#include <string>

#include "kernels/base/ceil_divide.h"
#include "kernels/mask/predicate/device_source.h"

namespace sparkbench {
namespace {

constexpr std::string_view kBefore =
    "#include \"kernels/mask/predicate/whole_numbers.h\"\n"
    "namespace sparkbench {\n"
    "__device__ inline bool pattern_sees(int text, Whole h, Whole q, Whole k, Whole seqlen_q,\n"
    "                                    Whole seqlen_k) {\n"
    "  switch (text) {\n";
constexpr std::string_view kBehind =
    "    default:\n      return false;\n  }\n}\n}  // namespace sparkbench\n"
    "#include \"kernels/jit/tile_kernels.cuh\"\n";

void add_bound(std::string& text, const char* of, const char* relation, int bound, int none) {
  if (bound == none) return;
  text.append("(").append(of).append(relation).append(std::to_string(bound)).append(") && ");
}

/// Nothing for a term with more than a flat zone and a predicate.
std::optional<std::string> c_text_of_term(const Term& term) {
  if (term.grid.axes != 0 || term.bounds != nullptr || term.bits != nullptr ||
      term.hidden_by != 0) {
    return std::nullopt;
  }
  std::string text("(");
  add_bound(text, "q", " >= ", term.flat.q0, -kUnbounded);
  add_bound(text, "q", " < ", term.flat.q1, kUnbounded);
  add_bound(text, "k", " >= ", term.flat.k0, -kUnbounded);
  add_bound(text, "k", " < ", term.flat.k1, kUnbounded);
  add_bound(text, "k - q", " >= ", term.flat.d0, -kUnbounded);
  add_bound(text, "k - q", " < ", term.flat.d1, kUnbounded);
  if (term.where != nullptr) {
    if (term.where->is_transposed()) return std::nullopt;
    for (const PairPredicate::Factor& factor : term.where->factors()) {
      text.append(factor.is_negated ? "!(" : "(").append(c_text_of(*factor.expression));
      text.append(factor.is_negated ? ") && " : " != 0) && ");
    }
  }
  return text.append("true)");
}

std::optional<std::string> c_text_of_union(const std::vector<Term>& terms) {
  std::string text;
  for (const Term& term : terms) {
    const std::optional<std::string> of_term = c_text_of_term(term);
    if (!of_term) return std::nullopt;
    text.append(*of_term).append(" || ");
  }
  return text.append("false");
}

int head_of_union(const std::vector<Term>& terms) {
  for (const Term& term : terms) {
    if (term.where != nullptr) return static_cast<int>(term.where->names().h);
  }
  return 0;
}

}  // namespace

std::optional<PatternSource> pattern_source(const Pattern& pattern) {
  bool has_predicate = false;
  std::vector<std::string> texts;
  PatternSource made;
  for (const std::vector<Term>& terms : pattern.unions) {
    const std::optional<std::string> text = c_text_of_union(terms);
    if (!text) return std::nullopt;
    const auto known = std::find(texts.begin(), texts.end(), *text);
    made.texts.push_back(static_cast<int>(known - texts.begin()));
    if (known == texts.end()) texts.push_back(*text);
    made.heads.push_back(head_of_union(terms));
    has_predicate = has_predicate || std::any_of(terms.begin(), terms.end(), [](const Term& term) {
                      return term.where != nullptr;
                    });
  }
  if (!has_predicate || pattern.key_at != 0) return std::nullopt;
  made.source.text = kBefore;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    made.source.text.append("    case ").append(std::to_string(i)).append(":\n      return ");
    made.source.text.append(texts[i]).append(";\n");
  }
  made.source.text.append(kBehind);
  made.source.headers = embedded_headers();
  return made;
}

TileQuestion tile_question(const PatternSource& source, const Pattern& pattern, int of_union,
                           const SightedTiles& tiles) {
  const auto index = static_cast<std::size_t>(of_union);
  return {.seqlen_q = pattern.seqlen_q,
          .seqlen_k = pattern.seqlen_k,
          .row_at = pattern.row_at,
          .text = source.texts[index],
          .head = source.heads[index],
          .rows = tiles.rows,
          .keys = tiles.keys,
          .row_tiles = ceil_divide(pattern.seqlen_q, tiles.rows),
          .key_tiles = ceil_divide(pattern.seqlen_k, tiles.keys),
          .may_pass_keys = tiles.is_of_keys ? 1 : 0};
}

}  // namespace sparkbench
