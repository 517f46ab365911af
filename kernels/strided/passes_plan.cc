#include "kernels/strided/passes_plan.h"

#include <utility>

#include "kernels/block_sparse/merge_steps.h"
#include "kernels/block_sparse/pattern_lists.h"

namespace sparkbench {
namespace {

class ViewPlans {
 public:
  ViewPlans(const PlanRequest& request, const PassesWorkspace& layout, void* memory,
            const PlanPass& plan_view)
      : request_(request),
        problem_(request.problem),
        layout_(layout),
        bytes_(static_cast<std::byte*>(memory)),
        plan_view_(plan_view) {}

  std::vector<Step> forward() {
    const ForwardTensors& tensors = *request_.forward;
    for (int pass = 0; pass < mask_pass_count(problem_); ++pass) {
      const ForwardTensors of_pass = tensors_of_pass(problem_, tensors, pass, layout_, bytes_);
      for (const ViewLaunch& view : view_launches(problem_, pass, token_heads(problem_, tensors))) {
        const ForwardTensors of_view = tensors_of_launch(view, of_pass);
        add(view, &of_view, nullptr);
      }
    }
    steps_.push_back(merge_passes_step(merge_params(problem_, tensors, layout_, bytes_),
                                       rows_of_tokens(problem_, problem_.heads)));
    return std::move(steps_);
  }

  std::vector<Step> backward() {
    const BackwardTensors& tensors = *request_.backward;
    for (int pass = 0; pass < mask_pass_count(problem_); ++pass) {
      steps_.push_back(gather_lse_step(gather_params(problem_, tensors, pass, layout_, bytes_),
                                       rows_of_tokens(problem_, problem_.heads)));
      const BackwardTensors of_pass = tensors_of_pass(problem_, tensors, pass, layout_, bytes_);
      for (const ViewLaunch& view : view_launches(problem_, pass, token_heads(problem_, tensors))) {
        const BackwardTensors of_view = tensors_of_launch(view, of_pass);
        add(view, nullptr, &of_view);
      }
    }
    if (mask_pass_count(problem_) == 1) return std::move(steps_);
    const GradientSums sums = gradient_sums(problem_, tensors, layout_, bytes_);
    const int key_heads = problem_.key_heads();
    steps_.push_back(sum_gradients_step(sums.dq, rows_of_tokens(problem_, problem_.heads)));
    steps_.push_back(sum_gradients_step(sums.dk, rows_of_tokens(problem_, key_heads)));
    steps_.push_back(sum_gradients_step(sums.dv, rows_of_tokens(problem_, key_heads)));
    return std::move(steps_);
  }

 private:
  /// Launches follow each other, and share what is theirs.
  void add(const ViewLaunch& view, const ForwardTensors* forward, const BackwardTensors* backward) {
    PlanRequest of_view = request_.of(view.problem);
    of_view.forward = forward;
    of_view.backward = backward;
    if (view.problem.sparse) of_view.first_list = request_.lists->first_of_view(view.view);
    DeviceWorkspace own(bytes_ + layout_.of_kernel);
    const auto problem = std::make_shared<const Problem>(view.problem);
    for (Step& step : plan_view_(of_view, own)) {
      step.view = problem;
      steps_.push_back(std::move(step));
    }
  }

  const PlanRequest& request_;
  const Problem& problem_;
  const PassesWorkspace& layout_;
  std::byte* bytes_;
  const PlanPass& plan_view_;
  std::vector<Step> steps_;
};

}  // namespace

std::vector<Step> plan_of_views(const PlanRequest& request, const PassesWorkspace& layout,
                                void* memory, const PlanPass& plan_view) {
  ViewPlans plans(request, layout, memory, plan_view);
  return request.forward != nullptr ? plans.forward() : plans.backward();
}

}  // namespace sparkbench
