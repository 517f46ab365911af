// Whether a problem's pattern is run as passes, and where its pairs have their dropout
// (mask/dropout_views.h): what kernels and references ask alike. C++17.
#pragma once

#include <optional>
#include <vector>

#include "kernels/mask/dropout_views.h"
#include "kernels/problem/attention.h"

namespace sparkbench {

/// True when a pair in this place is kept.
SPARK_HD bool dropout_keeps(const Dropout& dropout, const DropoutPlace& place) {
  return dropout_keeps(dropout, place.sequence, place.row, place.column);
}

struct MaskPass;  // kernels/mask/pattern/mask_passes.h

/// Of the views of these passes, for so many batch entries and heads. Nothing where 28 bits do not
/// count the sequences of a view, or of the order of the sequence, and where zones are more than
/// kMostDropoutZones.
std::optional<DropoutViews> dropout_views(const std::vector<MaskPass>& passes, int batch,
                                          int heads);

/// Whether kernels run the problem's pattern as passes. With dropout they do unless there are no
/// dropout_views() of them.
bool has_mask_passes(const Problem& problem);

/// Where any problem has the dropout of a pair: of one without passes in the order in which its
/// mask is walked, and of one without dropout in that of the sequence.
DropoutViews dropout_views_of(const Problem& problem);

/// Of a problem that has_mask_passes(), and dropout: what of_sequences() is to be given for a batch
/// entry's sequences of a view. Views are counted over all passes, those in the order of the
/// sequence, too.
std::uint32_t first_dropout_sequence(const Problem& problem, int view, int entry);

}  // namespace sparkbench
