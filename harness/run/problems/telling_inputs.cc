#include "harness/run/problems/telling_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

namespace sparkbench {
namespace {

constexpr std::size_t kMostRows = 32;
constexpr double kSame = Tolerance{}.floor;  // below a verdict's resolution
constexpr float kNoScale = 1e-30f;           // 0 would mean the default
constexpr float kSharp = 16.0f;

/// Indices in the plan's rows, evenly spread.
std::vector<std::size_t> positions_of(const std::vector<QueryRow>& rows) {
  std::vector<std::size_t> positions;
  const std::size_t count = std::min(rows.size(), kMostRows);
  for (std::size_t i = 0; i < count; ++i) positions.push_back(i * rows.size() / count);
  return positions;
}

/// O of some checked rows, with the given and with another scale of the scores.
class ScaledRows {
 public:
  explicit ScaledRows(ProblemData& data) : data_(data) {
    const std::vector<QueryRow>& all = data.plan().rows;
    const auto head_dim = static_cast<std::size_t>(data.problem().head_dim);
    for (const std::size_t position : positions_of(all)) {
      rows_.push_back(all[position]);
      const auto row = std::span(data.exact().o).subspan(position * head_dim, head_dim);
      o_.insert(o_.end(), row.begin(), row.end());
    }
  }

  bool is_same_with(float scale) const {
    Problem scaled = data_.problem();
    scaled.softmax_scale = scale;
    const std::vector<double> o = exact_forward(scaled, data_.inputs(), rows_).o;
    double difference = 0, size = 0;
    for (std::size_t i = 0; i < o.size(); ++i) {
      difference += std::abs(o[i] - o_[i]);
      size += std::abs(o_[i]);
    }
    return difference <= kSame * size;
  }

 private:
  ProblemData& data_;
  std::vector<QueryRow> rows_;
  std::vector<double> o_;
};

double sum_of_squares(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

double rms_of(const std::vector<double>& values) {
  return values.empty() ? 0.0
                        : std::sqrt(sum_of_squares(values) / static_cast<double>(values.size()));
}

std::string about_scores(ProblemData& data) {
  const ScaledRows rows(data);
  const bool is_flat = rows.is_same_with(kNoScale);
  if (is_flat) {
    return "O is what equal scores give (are V's rows alike, are scores alike, is there one key to "
           "see?), so it says nothing of scores, scale and softmax";
  }
  if (rows.is_same_with(kSharp * data.problem().scale())) {
    return "each row of O is one row of V, that of its largest score, so it says nothing of the "
           "softmax's other weights and of sums over keys";
  }
  return "";
}

std::string about_gradients(GradientData& gradients) {
  const ExactGradients& exact = gradients.exact();
  const double dq = rms_of(exact.dq), dk = rms_of(exact.dk), dv = rms_of(exact.dv);
  const double largest = std::max({dq, dk, dv});
  std::vector<std::string> small;
  if (dq <= kSame * largest) small.emplace_back("dQ");
  if (dk <= kSame * largest) small.emplace_back("dK");
  if (dv <= kSame * largest) small.emplace_back("dV");
  if (small.empty()) return "";
  return fmt::format("zeros would pass for {}, so the verdict says nothing of {}",
                     fmt::join(small, " and "), small.size() == 1 ? "it" : "them");
}

}  // namespace

std::vector<Warning> warn_of_telling_nothing(ProblemData& data, GradientData* gradients) {
  std::string why = about_scores(data);
  const std::string of_gradients = gradients == nullptr ? "" : about_gradients(*gradients);
  if (!why.empty() && !of_gradients.empty()) why += "; ";
  why += of_gradients;
  if (why.empty()) return {};
  return {{"W-INPUT-TELLS-NOTHING", "these inputs: " + why, std::nullopt}};
}

}  // namespace sparkbench
