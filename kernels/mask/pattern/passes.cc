#include "kernels/mask/pattern/passes.h"

#include <algorithm>

#include "kernels/base/ceil_divide.h"
#include "kernels/mask/pattern/disjoint.h"

namespace sparkbench {
namespace {

bool is_unbounded(const Zone& zone) {
  return zone.q0 <= -kUnbounded && zone.q1 >= kUnbounded && zone.k0 <= -kUnbounded &&
         zone.k1 >= kUnbounded;
}

/// The stride in whose order the term is a band of lines; 1 when there is none.
int stride_of(const Pattern& pattern, const Term& term) {
  const Grid& grid = term.grid;
  const bool is_strided = grid.axes == 2 && grid.clamp == Clamp::kNone && grid.extent[1] > 1 &&
                          grid.zone[1] == zone_of_offsets(0, 1);
  const bool is_plain = term.is_closed_form() && term.hidden_by == 0 && is_unbounded(term.flat);
  return is_strided && is_plain && pattern.seqlen_q == pattern.seqlen_k && pattern.row_at == 0 &&
                 pattern.key_at == 0
             ? grid.extent[1]
             : 1;
}

/// Offsets of tokens to those of lines, where residues are equal.
int line_offset(int offset, int stride) {
  if (offset <= -kUnbounded + 1 || offset >= kUnbounded) return offset;
  return -floor_divide(-offset, stride);
}

/// Adds the term over positions: a zone of lines inside, a zone of residues outside.
void add_viewed(const Term& term, int seqlen, PatternPass& pass) {
  const int stride = term.grid.extent[1], lines = ceil_divide(seqlen, stride);
  Term viewed;
  viewed.grid.axes = 2;
  viewed.grid.extent[0] = stride;
  viewed.grid.extent[1] = lines;
  viewed.grid.zone[0] = zone_of_offsets(0, 1);
  viewed.grid.zone[1] = both(term.grid.zone[0], zone_of_offsets(line_offset(term.flat.d0, stride),
                                                                line_offset(term.flat.d1, stride)));
  // The last residues may lack the last line.
  const int whole = seqlen - (lines - 1) * stride;
  Term shorter = viewed;
  viewed.grid.zone[0].q1 = whole;
  pass.pattern.unions[0].push_back(viewed);
  if (whole == stride) return;
  shorter.grid.zone[0].q0 = whole;
  shorter.grid.zone[1].q1 = std::min(shorter.grid.zone[1].q1, lines - 1);
  shorter.grid.zone[1].k1 = std::min(shorter.grid.zone[1].k1, lines - 1);
  pass.pattern.unions[0].push_back(shorter);
}

}  // namespace

std::vector<PatternPass> passes_of(const Pattern& pattern, int head) {
  Pattern one = pattern;
  one.unions = {pattern.terms(head)};
  one = disjoint(one);
  std::vector<PatternPass> passes;
  const std::vector<Term>& terms = one.unions[0];
  // Terms that hide others stay in one pass with these.
  const bool is_hiding =
      std::any_of(terms.begin(), terms.end(), [](const Term& term) { return term.hidden_by != 0; });
  for (const Term& term : terms) {
    const int stride = is_hiding ? 1 : stride_of(one, term);
    auto pass = std::find_if(passes.begin(), passes.end(),
                             [&](const PatternPass& other) { return other.stride == stride; });
    if (pass == passes.end()) {
      const int lines = stride == 1 ? 0 : ceil_divide(one.seqlen_k, stride);
      Pattern over = one;
      if (stride > 1) over = empty_pattern(stride * lines, stride * lines);
      over.unions = {{}};
      pass = passes.insert(pass, {stride, lines, over});
    }
    if (stride == 1) {
      pass->pattern.unions[0].push_back(term);
    } else {
      add_viewed(term, one.seqlen_k, *pass);
    }
  }
  return passes;
}

}  // namespace sparkbench
