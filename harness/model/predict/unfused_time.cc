#include "harness/model/predict/unfused_time.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/half.h"
#include "sweeps/work.h"

namespace sparkbench {
namespace {

constexpr double kFlopsPerMsAndTflops = 1e9;
constexpr double kBytesPerMsAtGbps = 1e6;
constexpr double kBitsOfHalf = 16;

/// Elements of the matrices, over all heads.
class UnfusedSteps {
 public:
  explicit UnfusedSteps(const Problem& problem)
      : heads_(static_cast<double>(problem.batch) * problem.heads),
        q_(static_cast<double>(problem.q_elements())),
        k_(static_cast<double>(problem.k_elements())),
        group_size_(problem.group_size()),
        all_(heads_ * problem.seqlen_q * problem.seqlen_k),
        visible_(static_cast<double>(pairs_of(problem).visible)),
        mask_(problem.sparse ? all_ / kBitsOfHalf : 0),
        flops_(2 * all_ * problem.head_dim) {}

  void forward(bool keeps_p) {
    product("S = scale Q K^T", q_ + k_ + all_);
    rows("P = softmax S", visible_ + (keeps_p ? 2 : 1) * all_ + mask_);
    product("O = P V", all_ + k_ + q_);
  }
  void backward() {
    key_gradient("dV = P^T dO", "dV of groups");
    product("dP = dO V^T", q_ + k_ + all_);
    rows("dS of P and dP", 2 * visible_ + all_ + mask_);
    product("dQ = scale dS K", all_ + k_ + q_);
    key_gradient("dK = scale dS^T Q", "dK of groups");
  }
  std::vector<UnfusedStep> take() { return std::move(steps_); }

 private:
  /// Of P or dS, and of dO or Q.
  void key_gradient(std::string_view of_heads, std::string_view of_groups) {
    if (group_size_ == 1) return product(of_heads, all_ + q_ + k_);
    const double of_each_head = group_size_ * k_ * sizeof(float) / sizeof(Half);
    product(of_heads, all_ + q_ + of_each_head);
    rows(of_groups, of_each_head + k_);
  }
  void product(std::string_view name, double elements) {
    steps_.push_back({name, flops_, elements * sizeof(Half)});
  }
  void rows(std::string_view name, double elements) {
    steps_.push_back({name, 0, elements * sizeof(Half)});
  }

  double heads_, q_, k_;  // k_: of key heads
  int group_size_;
  double all_, visible_;
  double mask_;  // the bits of a pattern, read for each head
  double flops_;
  std::vector<UnfusedStep> steps_;
};

double ms_of_product(const UnfusedStep& step, double at_most) {
  return step.flops == 0 ? 0
                         : step.flops / (gemm_tflops(step.flops, at_most) * kFlopsPerMsAndTflops);
}

double ms_of_step(const UnfusedStep& step, double ThreeWays::*way) {
  return std::max(ms_of_product(step, kGemmTflopsAtMost.*way),
                  step.bytes / (kHbmGbps.*way * kBytesPerMsAtGbps)) +
         kLaunchMs;
}

/// One after the other; sequences without rows or keys have none.
std::vector<UnfusedStep> steps_of_sequences(const Problem& problem, Pass pass) {
  std::vector<UnfusedStep> all;
  for (int i = 0; i < problem.batch; ++i) {
    const Problem alone = problem.alone(i);
    if (alone.seqlen_q == 0 || alone.seqlen_k == 0) continue;
    const std::vector<UnfusedStep> steps = unfused_steps(alone, pass);
    all.insert(all.end(), steps.begin(), steps.end());
  }
  return all;
}

}  // namespace

double gemm_tflops(double flops, double at_most) {
  const double rows = std::cbrt(flops / 2);
  const GemmRate& first = kGemmRates.front();
  if (rows <= first.rows) return std::min(first.tflops * rows / first.rows, at_most);
  const auto* const above =
      std::find_if(kGemmRates.begin(), kGemmRates.end(),
                   [rows](const GemmRate& rate) { return rate.rows >= rows; });
  if (above == kGemmRates.end()) return std::min(kGemmRates.back().tflops, at_most);
  const GemmRate& below = *(above - 1);
  const double part = std::log2(rows / below.rows) / std::log2(above->rows / below.rows);
  return std::min(below.tflops + part * (above->tflops - below.tflops), at_most);
}

std::vector<UnfusedStep> unfused_steps(const Problem& problem, Pass pass) {
  if (problem.lengths) return steps_of_sequences(problem, pass);
  UnfusedSteps steps(problem);
  const bool keeps_p = pass == Pass::kForwardBackward && problem.dropout().threshold != 0;
  if (pass != Pass::kBackward) steps.forward(keeps_p);
  if (pass != Pass::kForward) steps.backward();
  return steps.take();
}

PassTime time_of_unfused(const Problem& problem, Pass pass) {
  PassTime time;
  double bound_by_rate = 0, launches = 0;
  for (const UnfusedStep& step : unfused_steps(problem, pass)) {
    time.ms.fast += ms_of_step(step, &ThreeWays::fast);
    time.ms.likely += ms_of_step(step, &ThreeWays::likely);
    time.ms.slow += ms_of_step(step, &ThreeWays::slow);
    const double product = ms_of_product(step, kGemmTflopsAtMost.likely);
    if (product + kLaunchMs >= ms_of_step(step, &ThreeWays::likely)) bound_by_rate += product;
    launches += kLaunchMs;
  }
  time.ms = {time.ms.fast / kShareOfRates.fast, time.ms.likely / kShareOfRates.likely,
             time.ms.slow / kShareOfRates.slow};
  time.binding = launches > time.ms.likely / 2        ? "launch"
                 : bound_by_rate > time.ms.likely / 2 ? "tensor"
                                                      : "hbm";
  return time;
}

}  // namespace sparkbench
