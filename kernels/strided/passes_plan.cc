#include "kernels/strided/passes_plan.h"

#include <utility>

#include "kernels/block_sparse/merge_steps.h"
#include "kernels/block_sparse/pattern_lists.h"

namespace sparkbench {
namespace {

class ViewsWalk {
 public:
  ViewsWalk(const PlanRequest& request, const PassesWorkspace& layout, std::byte* memory,
            const AddRows& add_rows, const AddView& add_view)
      : request_(request),
        problem_(request.problem),
        passes_(mask_pass_count(problem_)),
        layout_(layout),
        memory_(memory),
        add_rows_(add_rows),
        add_view_(add_view) {}

  void forward() const {
    const ForwardTensors& tensors = *request_.forward;
    for (int pass = 0; pass < passes_; ++pass) add_views(&PlanRequest::forward, pass);
    RowsStep merge{merge_passes_step(merge_params(problem_, tensors, layout_, memory_),
                                     rows_of_tokens(problem_, problem_.heads))};
    if (passes_ > 1) {
      merge.name = "o";
      merge.sum = tensors.o;
    }
    add_rows_(std::move(merge));
  }

  void backward() const {
    const BackwardTensors& tensors = *request_.backward;
    const RowsOfHeads queries = rows_of_tokens(problem_, problem_.heads);
    const RowsOfHeads keys = rows_of_tokens(problem_, problem_.key_heads());
    for (int pass = 0; pass < passes_; ++pass) {
      add_rows_(
          {gather_lse_step(gather_params(problem_, tensors, pass, layout_, memory_), queries)});
      add_views(&PlanRequest::backward, pass);
    }
    if (passes_ == 1) return;
    const GradientSums sums = gradient_sums(problem_, tensors, layout_, memory_);
    add_rows_({sum_gradients_step(sums.dq, queries), "dq", tensors.dq, false});
    add_rows_({sum_gradients_step(sums.dk, keys), "dk", tensors.dk, true});
    add_rows_({sum_gradients_step(sums.dv, keys), "dv", tensors.dv, true});
  }

 private:
  /// `tensors` is the member of a request that has them.
  template <class Tensors>
  void add_views(const Tensors* PlanRequest::*tensors, int pass) const {
    const Tensors& whole = *(request_.*tensors);
    const Tensors of_pass = tensors_of_pass(problem_, whole, pass, layout_, memory_);
    for (const ViewLaunch& view : view_launches(problem_, pass, token_heads(problem_, whole))) {
      const Tensors own = tensors_of_launch(view, of_pass);
      PlanRequest of_view = request_.of(view.problem);
      of_view.*tensors = &own;
      if (view.problem.sparse) of_view.first_list = request_.lists->first_of_view(view.view);
      add_view_(view, of_view);
    }
  }

  const PlanRequest& request_;
  const Problem& problem_;
  const int passes_;
  const PassesWorkspace& layout_;
  std::byte* memory_;
  const AddRows& add_rows_;
  const AddView& add_view_;
};

}  // namespace

void walk_views(const PlanRequest& request, const PassesWorkspace& layout, std::byte* memory,
                const AddRows& add_rows, const AddView& add_view) {
  const ViewsWalk walk(request, layout, memory, add_rows, add_view);
  return request.forward != nullptr ? walk.forward() : walk.backward();
}

std::vector<Step> plan_of_views(const PlanRequest& request, const PassesWorkspace& layout,
                                void* memory, const PlanPass& plan_view) {
  auto* const bytes = static_cast<std::byte*>(memory);
  std::vector<Step> steps;
  walk_views(
      request, layout, bytes, [&](RowsStep rows) { steps.push_back(std::move(rows.step)); },
      [&](const ViewLaunch& view, const PlanRequest& of_view) {
        DeviceWorkspace own(bytes + layout.of_kernel);  // views run one after the other
        const auto problem = std::make_shared<const Problem>(view.problem);
        for (Step& step : plan_view(of_view, own)) {
          step.view = problem;
          steps.push_back(std::move(step));
        }
      });
  return steps;
}

}  // namespace sparkbench
