#include "kernels/mask/pattern/pattern_atoms.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "kernels/base/ceil_divide.h"
#include "kernels/mask/mask_table.h"
#include "kernels/mask/pattern/zones_file.h"

namespace sparkbench {
namespace {

int clamped_offset(std::int64_t offset) {
  return static_cast<int>(std::clamp<std::int64_t>(offset, -kUnbounded, kUnbounded));
}

Term term_of_offsets(std::int64_t d0, std::int64_t d1) {
  return {.flat = zone_of_offsets(clamped_offset(d0), clamped_offset(d1))};
}

Term first_keys(int keys) {
  Term term;
  term.flat.k1 = std::min(keys, kUnbounded);
  return term;
}

Term first_rows(int rows) {
  Term term;
  term.flat.q1 = std::min(rows, kUnbounded);
  return term;
}

/// The sequence in lines of `line` keys, all pairs visible.
Term in_lines(int line, const Pattern& lengths) {
  Term term;
  const int shortened = std::min(line, kLongestSequence);
  term.grid.axes = 2;
  term.grid.extent[0] = ceil_divide(lengths.seqlen_k, shortened);
  term.grid.extent[1] = shortened;
  return term;
}

/// A dense mask: the same bounds, from the same table.
template <MaskKind kKind>
std::vector<Term> mask_terms(const PatternAtom& atom, const Pattern& /*lengths*/) {
  const MaskRow& row = row_of(kKind);
  const MaskBounds bounds =
      row.bounds(row.parameters > 0 ? atom.number(0) : 0, row.parameters > 1 ? atom.number(1) : 0);
  std::vector<Term> terms = {term_of_offsets(bounds.begin, bounds.end)};
  const bool shows_all = terms[0].flat == Zone();
  if (bounds.prefix > 0 && !shows_all) terms.push_back(first_keys(static_cast<int>(bounds.prefix)));
  return terms;
}

template <MaskKind kKind>
AtomRow mask_atom(const char* causal_name) {
  const MaskRow& row = row_of(kKind);
  return {.name = row.name,
          .form = row.form,
          .least_fields = row.parameters,
          .most_fields = row.parameters,
          .least = row.least,
          .causal_name = causal_name,
          .terms = mask_terms<kKind>};
}

std::vector<Term> blocked_terms(const PatternAtom& atom, const Pattern& lengths) {
  Term term = in_lines(atom.number(0), lengths);
  term.grid.zone[0] = zone_of_offsets(-1, 1);
  return {term};
}

std::vector<Term> chunk_terms(const PatternAtom& atom, const Pattern& lengths) {
  Term term = in_lines(atom.number(0), lengths);
  term.grid.zone[0] = zone_of_offsets(0, 1);
  return {term};
}

std::vector<Term> strided_terms(const PatternAtom& atom, const Pattern& lengths) {
  Term term = in_lines(atom.number(0), lengths);
  term.grid.zone[1] = zone_of_offsets(0, 1);
  return {term};
}

std::vector<Term> dilated_terms(const PatternAtom& atom, const Pattern& lengths) {
  const std::int64_t reach = atom.number(0);
  Term term = in_lines(atom.number(1), lengths);
  term.grid.zone[0] = zone_of_offsets(clamped_offset(-reach), clamped_offset(reach + 1));
  term.grid.zone[1] = zone_of_offsets(0, 1);
  return {term};
}

std::string check_fixed(const PatternAtom& atom) {
  return atom.number(1) <= atom.number(0) ? "" : "has more summary keys than a block";
}

std::vector<Term> fixed_terms(const PatternAtom& atom, const Pattern& lengths) {
  Term summaries = in_lines(atom.number(0), lengths);
  summaries.grid.zone[0] = zone_of_offsets(-kUnbounded, 0);
  summaries.grid.zone[1].k0 = atom.number(0) - atom.number(1);
  Term own = in_lines(atom.number(0), lengths);
  own.grid.zone[0] = zone_of_offsets(0, 1);
  own.flat.d1 = 1;
  return {summaries, own};
}

std::vector<Term> longformer_terms(const PatternAtom& atom, const Pattern& /*lengths*/) {
  const std::int64_t reach = atom.number(0);
  return {term_of_offsets(-reach, reach + 1), first_keys(atom.number(1)),
          first_rows(atom.number(1))};
}

std::vector<Term> sink_terms(const PatternAtom& atom, const Pattern& /*lengths*/) {
  Term term = first_keys(atom.number(0));
  term.flat.d1 = 1;
  return {term};
}

std::vector<Term> document_terms(const PatternAtom& atom, const Pattern& lengths) {
  std::vector<int> documents;
  for (const std::vector<int>& field : atom.fields) documents.push_back(field[0]);
  if (documents.size() == 1) documents = drawn_documents(documents[0], lengths.seqlen_k);
  return {{.bounds = document_bounds(documents, lengths.seqlen_q, lengths.seqlen_k)}};
}

std::string check_neighbourhood(const PatternAtom& atom) {
  if (atom.fields[0].size() != atom.fields[1].size()) {
    return "has a window of " + std::to_string(atom.fields[1].size()) + " axes for " +
           std::to_string(atom.fields[0].size());
  }
  for (std::size_t axis = 0; axis < atom.fields[0].size(); ++axis) {
    if (atom.fields[1][axis] > atom.fields[0][axis]) {
      return "has a window of " + std::to_string(atom.fields[1][axis]) + " on an axis of " +
             std::to_string(atom.fields[0][axis]);
    }
  }
  return "";
}

std::vector<Term> neighbourhood_terms(const PatternAtom& atom, const Pattern& lengths) {
  Term term;
  term.grid.clamp = Clamp::kRows;
  term.grid.axes = static_cast<int>(atom.fields[0].size());
  for (std::size_t axis = 0; axis < atom.fields[0].size(); ++axis) {
    const int window = atom.fields[1][axis];
    term.grid.extent[axis] = atom.fields[0][axis];
    term.grid.zone[axis] = zone_of_offsets(-(window / 2), window - window / 2);
  }
  require_fitting_axes(term.grid, lengths.seqlen_k);
  return {term};
}

/// The predicate for head 0: make_pattern() sets the head.
std::vector<Term> predicate_terms(const PatternAtom& atom, const Pattern& lengths) {
  const ExpressionPoint names = {.seqlen_q = lengths.seqlen_q, .seqlen_k = lengths.seqlen_k};
  return {
      {.where = std::make_shared<const PairPredicate>(parse_expression(atom.expression), names)}};
}

std::vector<Term> file_terms(const PatternAtom& atom, const Pattern& lengths) {
  return read_zones_file(atom.file, lengths.seqlen_k);
}

}  // namespace

std::span<const AtomRow> atom_rows() {
  constexpr int kMany = std::numeric_limits<int>::max();
  static const AtomRow rows[] = {
      mask_atom<MaskKind::kFull>("causal"),
      mask_atom<MaskKind::kCausal>("causal"),
      mask_atom<MaskKind::kWindow>("window"),
      mask_atom<MaskKind::kBand>(nullptr),
      mask_atom<MaskKind::kPrefix>("causal"),
      {.name = "blocked",
       .form = "blocked:P (P >= 1)",
       .least_fields = 1,
       .most_fields = 1,
       .terms = blocked_terms},
      {.name = "chunk",
       .form = "chunk:P (P >= 1)",
       .least_fields = 1,
       .most_fields = 1,
       .terms = chunk_terms},
      {.name = "strided",
       .form = "strided:S (S >= 1)",
       .least_fields = 1,
       .most_fields = 1,
       .terms = strided_terms},
      {.name = "dilated",
       .form = "dilated:R:D (R, D >= 1)",
       .least_fields = 2,
       .most_fields = 2,
       .terms = dilated_terms},
      {.name = "fixed",
       .form = "fixed:L:C (L >= C >= 1)",
       .least_fields = 2,
       .most_fields = 2,
       .causal_name = "fixed",
       .check = check_fixed,
       .terms = fixed_terms},
      {.name = "longformer",
       .form = "longformer:W:G (W, G >= 0)",
       .least_fields = 2,
       .most_fields = 2,
       .least = 0,
       .terms = longformer_terms},
      {.name = "sink",
       .form = "sink:G (G >= 1)",
       .least_fields = 1,
       .most_fields = 1,
       .causal_name = "sink",
       .terms = sink_terms},
      {.name = "documents",
       .form = "documents:MEAN or documents:N:N:... (>= 1)",
       .least_fields = 1,
       .most_fields = kMany,
       .terms = document_terms},
      {.name = "nd",
       .form = "nd:HxW:AxB (one to three axes, 1 <= A <= H)",
       .least_fields = 2,
       .most_fields = 2,
       .takes_axes = true,
       .check = check_neighbourhood,
       .terms = neighbourhood_terms},
      {.name = "where",
       .form = "where:EXPRESSION (of q, k, h, seqlen_q, seqlen_k; last)",
       .takes_expression = true,
       .terms = predicate_terms},
      {.name = "zones", .form = "zones:FILE (last)", .takes_file = true, .terms = file_terms},
  };
  return rows;
}

const AtomRow* find_atom(std::string_view name) {
  for (const AtomRow& row : atom_rows()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace sparkbench
