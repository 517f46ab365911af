#include "harness/run/problems/tensor_warnings.h"

#include <fmt/format.h>

#include <algorithm>

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

}  // namespace sparkbench
