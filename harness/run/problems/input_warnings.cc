#include "harness/run/problems/input_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

namespace sparkbench {
namespace {

/// For normal values of size 1, 0.005 % are subnormal, which is harmless. A tensor with a larger
/// share than this is too small.
constexpr double kHarmlessShare = 0.001;

std::string share_text(std::size_t count, const SmallValues& tensor) {
  return count == tensor.elements ? fmt::format("all {}", count)
                                  : fmt::format("{} of {}", count, tensor.elements);
}

std::string remedy_of(const std::string& name) {
  if (name == "d_o") {
    return "scale the loss (torch.amp.GradScaler) before d_o is taken, and divide dq, dk and dv by "
           "the scale";
  }
  if (name == "v") return "multiply v by a power of two, and divide the output by it";
  const std::string other = name == "q" ? "k" : "q";
  return fmt::format("multiply {} by a power of two and divide {} by it: the scores stay", name,
                     other);
}

/// A warning about the tensors above that share: "3 of 10 values of 'q', ...; " and the remedy.
void add_warning(const char* code, const char* what, std::size_t SmallValues::*count,
                 double least_share, const std::vector<SmallValues>& tensors,
                 std::vector<Warning>& warnings) {
  std::vector<std::string> counts, remedies;
  std::size_t total = 0;
  for (const SmallValues& tensor : tensors) {
    const std::size_t of_tensor = tensor.*count;
    const double harmless = least_share * static_cast<double>(tensor.elements);
    if (static_cast<double>(of_tensor) <= harmless) continue;
    total += of_tensor;
    counts.push_back(fmt::format("{} values of '{}'", share_text(of_tensor, tensor), tensor.name));
    remedies.push_back(remedy_of(tensor.name));
  }
  if (counts.empty()) return;
  warnings.push_back(
      {code, fmt::format("{}: {}; {}", what, fmt::join(counts, ", "), fmt::join(remedies, "; ")),
       static_cast<double>(total)});
}

}  // namespace

SmallValues count_small_values(const std::string& name, std::span<const Half> values,
                               std::size_t vanished) {
  SmallValues small{name, values.size(), vanished, 0, true};
  for (const Half value : values) {
    const unsigned magnitude = value.bits & 0x7fffu;
    small.subnormal += magnitude != 0 && magnitude < 0x0400u;
    small.is_all_zero = small.is_all_zero && magnitude == 0;
  }
  return small;
}

std::vector<Warning> warn_of_small_values(const std::vector<SmallValues>& tensors) {
  std::vector<Warning> warnings;
  add_warning("W-INPUT-UNDERFLOW", "too small for fp16, and became 0", &SmallValues::vanished, 0.0,
              tensors, warnings);
  add_warning("W-INPUT-SUBNORMAL", "subnormal in fp16, below 6.1e-05, where digits are lost",
              &SmallValues::subnormal, kHarmlessShare, tensors, warnings);
  std::vector<std::string> zero;
  for (const SmallValues& tensor : tensors) {
    if (tensor.is_all_zero) zero.push_back(fmt::format("'{}'", tensor.name));
  }
  if (!zero.empty()) {
    warnings.push_back(
        {"W-INPUT-ZERO",
         fmt::format("every value of {} is 0, and errors say little: did they vanish "
                     "before they were saved?",
                     fmt::join(zero, " and ")),
         static_cast<double>(zero.size())});
  }
  return warnings;
}

std::optional<Warning> warn_of_transposed(const Problem& extents) {
  if (std::max(extents.seqlen_q, extents.seqlen_k) >= extents.heads) return std::nullopt;
  return Warning{
      "W-TRANSPOSED",
      fmt::format("seqlen {} is less than heads {}: are the tensors [batch, heads, seqlen, "
                  "head_dim]? Read is [batch, seqlen, heads, head_dim]; save x.transpose(1, 2)",
                  extents.seqlen_q, extents.heads),
      std::nullopt};
}

namespace {

constexpr std::size_t kMostRows = 32;
constexpr float kNoScale = 1e-30f;  // 0 would mean the default
constexpr float kSharp = 16.0f;

/// Below a verdict's resolution.
double same_in(ElementType element) { return tolerance_in(element, {}).floor; }

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
    return difference <= same_in(data_.element()) * size;
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

std::string about_gradients(GradientData& gradients, ElementType element) {
  const double same = same_in(element);
  const ExactGradients& exact = gradients.exact();
  const double dq = rms_of(exact.dq), dk = rms_of(exact.dk), dv = rms_of(exact.dv);
  const double largest = std::max({dq, dk, dv});
  std::vector<std::string> small;
  if (dq <= same * largest) small.emplace_back("dQ");
  if (dk <= same * largest) small.emplace_back("dK");
  if (dv <= same * largest) small.emplace_back("dV");
  if (small.empty()) return "";
  return fmt::format("zeros would pass for {}, so the verdict says nothing of {}",
                     fmt::join(small, " and "), small.size() == 1 ? "it" : "them");
}

}  // namespace

std::vector<Warning> warn_of_telling_nothing(ProblemData& data, GradientData* gradients) {
  std::string why = about_scores(data);
  const std::string of_gradients =
      gradients == nullptr ? "" : about_gradients(*gradients, data.element());
  if (!why.empty() && !of_gradients.empty()) why += "; ";
  why += of_gradients;
  if (why.empty()) return {};
  return {{"W-INPUT-TELLS-NOTHING", "these inputs: " + why, std::nullopt}};
}

}  // namespace sparkbench
