#include "harness/model/predict/unfused_time.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/ceil_divide.h"
#include "kernels/base/half.h"
#include "sweeps/work.h"

namespace sparkbench {
namespace {

constexpr double kFlopsPerMsAndTflops = 1e9;
constexpr double kBytesPerMsAtGbps = 1e6;
constexpr double kBitsOfHalf = 16;

double whole_tiles(int extent, int tile) { return ceil_divide(extent, tile) * tile; }

/// Elements of the matrices, over all heads.
class UnfusedSteps {
 public:
  UnfusedSteps(const Problem& problem, ScoreRows score_rows)
      : problem_(problem),
        heads_(static_cast<double>(problem.batch) * problem.heads),
        q_(static_cast<double>(problem.q_elements())),
        k_(static_cast<double>(problem.k_elements())),
        all_(heads_ * problem.seqlen_q * problem.seqlen_k),
        visible_(static_cast<double>(pairs_of(problem).visible)),
        mask_(problem.sparse ? all_ / kBitsOfHalf : 0),
        is_aligned_(is_aligned(problem.head_dim) &&
                    (score_rows == ScoreRows::kPadded || is_aligned(problem.seqlen_k))) {}

  void forward(bool keeps_p) {
    of_rows("S = scale Q K^T", q_ + k_ + all_);
    softmax("P = softmax S", visible_ + (keeps_p ? 2 : 1) * all_ + mask_);
    of_columns("O = P V", all_ + k_ + q_, problem_.seqlen_q, problem_.seqlen_k);
  }
  void backward() {
    key_gradient("dV = P^T dO", "dV of groups");
    of_rows("dP = dO V^T", q_ + k_ + all_);
    softmax("dS of P and dP", 2 * visible_ + all_ + mask_);
    of_columns("dQ = scale dS K", all_ + k_ + q_, problem_.seqlen_q, problem_.seqlen_k);
    key_gradient("dK = scale dS^T Q", "dK of groups");
  }
  std::vector<UnfusedStep> take() { return std::move(steps_); }

 private:
  static bool is_aligned(int extent) {
    return extent * static_cast<int>(sizeof(Half)) % kGemmRowBytes == 0;
  }

  /// The product of P or dS, transposed, and of dO or Q.
  void key_gradient(std::string_view of_heads, std::string_view of_groups) {
    const int group_size = problem_.group_size();
    const double of_each_head =
        group_size == 1 ? k_ : group_size * k_ * sizeof(float) / sizeof(Half);
    of_columns(of_heads, all_ + q_ + of_each_head, problem_.seqlen_k, problem_.seqlen_q);
    if (group_size == 1) return;
    steps_.push_back({of_groups, LaunchKind::kCopy, 0, (of_each_head + k_) * sizeof(Half)});
  }
  /// [seqlen_q, head_dim] by [head_dim, seqlen_k].
  void of_rows(std::string_view name, double elements) {
    product(name, elements, whole_tiles(problem_.seqlen_q, kGemmTileColumns),
            whole_tiles(problem_.seqlen_k, kGemmTileColumns),
            whole_tiles(problem_.head_dim, kGemmTileInner));
  }
  /// [rows, inner] by [inner, head_dim].
  void of_columns(std::string_view name, double elements, int rows, int inner) {
    product(name, elements, whole_tiles(rows, kGemmTileColumns),
            whole_tiles(problem_.head_dim, kGemmTileColumns), whole_tiles(inner, kGemmTileInner));
  }
  void product(std::string_view name, double elements, double rows, double columns, double inner) {
    const double bytes = elements * sizeof(Half);
    if (is_aligned_) {
      steps_.push_back({name, LaunchKind::kProduct, 2 * heads_ * rows * columns * inner, bytes});
    } else {
      steps_.push_back({name, LaunchKind::kUnalignedProduct, 2 * all_ * problem_.head_dim, bytes});
    }
  }
  void softmax(std::string_view name, double elements) {
    steps_.push_back({name, LaunchKind::kSoftmax, 0, elements * sizeof(Half)});
  }

  const Problem& problem_;
  double heads_, q_, k_;  // k_: of key heads
  double all_, visible_;
  double mask_;  // the bits of a pattern, read for each head
  bool is_aligned_;
  std::vector<UnfusedStep> steps_;
};

double ms_of_product(const UnfusedStep& step, double at_most) {
  if (step.flops == 0) return 0;
  const double tflops = step.kind == LaunchKind::kUnalignedProduct
                            ? kGemmFp32Tflops
                            : gemm_tflops(step.flops, at_most);
  return step.flops / (tflops * kFlopsPerMsAndTflops);
}

double ms_of_bytes(const UnfusedStep& step, double ThreeWays::*way) {
  const ThreeWays& gbps = step.kind == LaunchKind::kSoftmax ? kSoftmaxGbps : kHbmGbps;
  return step.bytes / (gbps.*way * kBytesPerMsAtGbps);
}

double ms_of_step(const UnfusedStep& step, double ThreeWays::*way) {
  const auto [shorter, longer] =
      std::minmax({ms_of_product(step, kGemmTflopsAtMost.*way), ms_of_bytes(step, way)});
  return longer + kGemmExposed.*way * shorter + kLaunchMs / kShareOfRates.*way;
}

bool is_bound_by_rate(const UnfusedStep& step) {
  return ms_of_product(step, kGemmTflopsAtMost.likely) > ms_of_bytes(step, &ThreeWays::likely);
}

/// One after the other; sequences without rows or keys have none.
std::vector<UnfusedStep> steps_of_sequences(const Problem& problem, Pass pass,
                                            ScoreRows score_rows) {
  std::vector<UnfusedStep> all;
  for (int i = 0; i < problem.batch; ++i) {
    const Problem alone = problem.alone(i);
    if (alone.seqlen_q == 0 || alone.seqlen_k == 0) continue;
    const std::vector<UnfusedStep> steps = unfused_steps(alone, pass, score_rows);
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

std::vector<UnfusedStep> unfused_steps(const Problem& problem, Pass pass, ScoreRows score_rows) {
  if (problem.lengths) return steps_of_sequences(problem, pass, score_rows);
  UnfusedSteps steps(problem, score_rows);
  const bool keeps_p = pass == Pass::kForwardBackward && problem.dropout().threshold != 0;
  if (pass != Pass::kBackward) steps.forward(keeps_p);
  if (pass != Pass::kForward) steps.backward();
  return steps.take();
}

PassTime time_of_unfused_steps(const std::vector<UnfusedStep>& steps) {
  PassTime time;
  double bound_by_rate = 0, launches = 0;
  for (const UnfusedStep& step : steps) {
    time.ms.fast += ms_of_step(step, &ThreeWays::fast);
    time.ms.likely += ms_of_step(step, &ThreeWays::likely);
    time.ms.slow += ms_of_step(step, &ThreeWays::slow);
    if (is_bound_by_rate(step)) bound_by_rate += ms_of_product(step, kGemmTflopsAtMost.likely);
    launches += kLaunchMs;
  }
  time.binding = launches > time.ms.likely / 2        ? "launch"
                 : bound_by_rate > time.ms.likely / 2 ? "tensor"
                                                      : "hbm";
  return time;
}

PassTime time_of_unfused(const Problem& problem, Pass pass) {
  return time_of_unfused_steps(unfused_steps(problem, pass));
}

}  // namespace sparkbench
