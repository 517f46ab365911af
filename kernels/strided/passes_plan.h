// The launches of a pattern that is run as strided views (pattern_launches.h), whatever kernels
// these are launches of: as one plan, or view by view (passes_emulated.h).
#pragma once

#include <functional>
#include <vector>

#include "kernels/launch/plan.h"
#include "kernels/strided/pattern_launches.h"

namespace sparkbench {

/// A launch over all rows of the problem, before or after those over views.
struct RowsStep {
  Step step;
  /// The tensor to which it adds the passes after the first. Null for none.
  const char* name = nullptr;
  TensorView<Bits16> sum = {};
  bool is_of_keys = false;  // the rows of dK or dV

  bool adds() const { return name != nullptr; }
};
using AddRows = std::function<void(RowsStep rows)>;

/// `of_view` has the view's problem, tensors, and first list. They last as long as the call.
using AddView = std::function<void(const ViewLaunch& view, const PlanRequest& of_view)>;

/// Calls `add_rows` and `add_view` for each launch, in order. The problem has_mask_passes(), and
/// the request has lists. `memory` has the bytes of `layout`.
void walk_views(const PlanRequest& request, const PassesWorkspace& layout, std::byte* memory,
                const AddRows& add_rows, const AddView& add_view);

/// The same as a plan. `plan_view` plans the launches of one view, with or without a pattern.
std::vector<Step> plan_of_views(const PlanRequest& request, const PassesWorkspace& layout,
                                void* memory, const PlanPass& plan_view);

}  // namespace sparkbench
