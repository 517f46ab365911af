// Whether a problem's pattern runs as strided passes, and where its pairs have their dropout
// (mask/dropout_views.h), for kernels and references alike. C++17.
#pragma once

#include <optional>
#include <vector>

#include "kernels/mask/dropout_views.h"
#include "kernels/problem/attention.h"

namespace sparkbench {

/// True if the pair with these coordinates is kept.
SPARK_HD bool dropout_keeps(const Dropout& dropout, const DropoutPlace& place) {
  return dropout_keeps(dropout, place.sequence, place.row, place.column);
}

struct MaskPass;  // kernels/mask/pattern/mask_passes.h

/// Dropout's views for these passes and so many batch entries and heads. nullopt if 28 bits cannot
/// count the sequences of a view or of the sequence order, or if there are more than
/// kMostDropoutZones zones.
std::optional<DropoutViews> dropout_views(const std::vector<MaskPass>& passes, int batch,
                                          int heads);

/// Whether kernels run the problem's pattern as passes. With dropout they do unless there are no
/// dropout_views() of them.
bool has_mask_passes(const Problem& problem);

/// Dropout coordinates for any problem: without passes in the order in which its mask is visited,
/// without dropout in sequence order.
DropoutViews dropout_views_of(const Problem& problem);

/// For a problem that has_mask_passes() and dropout: the argument of of_sequences() for a batch
/// entry's sequences of a view. Views are counted over all passes, including those in sequence
/// order.
std::uint32_t first_dropout_sequence(const Problem& problem, int view, int entry);

}  // namespace sparkbench
