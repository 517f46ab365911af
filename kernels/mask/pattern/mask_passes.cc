#include "kernels/mask/pattern/mask_passes.h"

#include <algorithm>
#include <utility>

#include "kernels/base/ceil_divide.h"
#include "kernels/mask/pattern/passes.h"
#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench {
namespace {

/// Residues of fewer lines use tile lists, which leave out tiles that only rows past the last line
/// would see.
constexpr int kLeastDenseLines = 65;

/// The dense mask (one key interval per row) that a single term is, for rows that stand at their
/// own index.
std::optional<MaskSpec> dense_mask(const std::vector<Term>& terms, int lines) {
  if (lines < kLeastDenseLines || terms.size() != 1) return std::nullopt;
  const Term& term = terms.front();
  const Zone& zone = term.flat;
  const bool has_all = zone.q0 <= 0 && zone.k0 <= 0 && lines <= zone.q1 && lines <= zone.k1;
  const bool is_plain = term.is_closed_form() && term.grid.axes == 0 && term.hidden_by == 0;
  if (!has_all || !is_plain || is_empty(both(zone, zone_of_offsets(1 - lines, lines)))) {
    return std::nullopt;
  }
  const bool sees_first = zone.d0 <= 1 - lines;
  if (sees_first && lines <= zone.d1) return MaskSpec::full();
  if (zone.d1 == 1) return sees_first ? MaskSpec::causal() : MaskSpec::window(1 - zone.d0);
  return MaskSpec::band(std::min(-zone.d0, lines), std::min(zone.d1, lines) - 1);
}

/// A residue's terms over its lines, from a pass over all residues (PatternPass).
std::vector<Term> terms_of_residue(const PatternPass& pass, int residue) {
  std::vector<Term> terms;
  for (const Term& term : pass.pattern.unions.front()) {
    const Zone& residues = term.grid.zone[0];
    if (residue < residues.q0 || residues.q1 <= residue) continue;
    Term of_lines;
    of_lines.flat = term.grid.zone[1];
    terms.push_back(std::move(of_lines));
  }
  return terms;
}

ResidueView view_of(const PatternPass& pass, int first_residue, int end_residue, int lines,
                    const std::string& spec) {
  ResidueView view{first_residue, end_residue - first_residue, lines, MaskSpec::full(), nullptr};
  const std::vector<Term> terms = terms_of_residue(pass, first_residue);
  if (const std::optional<MaskSpec> dense = dense_mask(terms, lines)) {
    view.dense = *dense;
    return view;
  }
  SparseMask mask;
  mask.spec = spec + " by " + std::to_string(pass.stride);
  mask.pattern = empty_pattern(lines, lines);
  mask.pattern.unions = {terms};
  view.sparse = std::make_shared<const SparseMask>(std::move(mask));
  return view;
}

/// Tiles that the blocks of rows of a sequence visit if each row sees so many keys, plus a block's
/// fixed cost.
double tiles_of_blocks(int rows, int keys) {
  constexpr int kRows = 128, kKeys = 64, kBesides = 2;
  return ceil_divide(rows, kRows) *
         (static_cast<double>(ceil_divide(std::min(rows, keys + std::min(rows, kRows)), kKeys)) +
          kBesides);
}

/// Whether a strided pass has less work than a pass in sequence order.
bool is_shorter(const PatternPass& pass, int seqlen) {
  if (pass.stride == 1) return true;
  int most = 0;  // offsets of a term's keys, in lines
  for (const Term& term : pass.pattern.unions.front()) {
    const Zone& zone = term.grid.zone[1];
    most = std::max(most, std::min(zone.d1, pass.lines) - std::max(zone.d0, 1 - pass.lines));
  }
  const int keys = std::min(most, pass.lines);
  return pass.stride * tiles_of_blocks(pass.lines, keys) <
         tiles_of_blocks(seqlen, keys * pass.stride);
}

MaskPass pass_of(const PatternPass& pass, int seqlen, const std::string& spec) {
  if (pass.stride > 1) {
    const int whole = seqlen - (pass.lines - 1) * pass.stride;
    MaskPass made{pass.stride, {view_of(pass, 0, whole, pass.lines, spec)}};
    if (whole < pass.stride) {
      made.views.push_back(view_of(pass, whole, pass.stride, pass.lines - 1, spec));
    }
    return made;
  }
  if (const std::optional<MaskSpec> dense = dense_mask(pass.pattern.unions.front(), seqlen)) {
    return {1, {{0, 1, seqlen, *dense, nullptr}}};
  }
  SparseMask mask;
  mask.spec = spec + " in order";
  mask.pattern = pass.pattern;
  return {1, {{0, 1, seqlen, MaskSpec::full(), std::make_shared<const SparseMask>(mask)}}};
}

}  // namespace

std::vector<MaskPass> mask_passes(const Pattern& pattern, const std::string& spec) {
  if (pattern.unions.size() != 1) return {};
  const std::vector<PatternPass> passes = passes_of(pattern, 0);
  const bool has_stride = std::any_of(passes.begin(), passes.end(),
                                      [](const PatternPass& pass) { return pass.stride > 1; });
  const bool is_worse = std::any_of(passes.begin(), passes.end(), [&](const PatternPass& pass) {
    return pass.stride > kMostResidues || !is_shorter(pass, pattern.seqlen_q);
  });
  if (!has_stride || is_worse || static_cast<int>(passes.size()) > kMostMaskPasses) return {};
  std::vector<MaskPass> made;
  made.reserve(passes.size());
  for (const PatternPass& pass : passes) made.push_back(pass_of(pass, pattern.seqlen_q, spec));
  return made;
}

}  // namespace sparkbench
