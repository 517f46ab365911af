#include "results/render/common_traits.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "sweeps/axes.h"

namespace sparkbench {
namespace {

constexpr std::size_t kMostTraits = 3;

bool is_wrong(const CaseRecord& record) {
  return record.status == Status::kIncorrect || record.status == Status::kFailed;
}

std::string mask_of(const CaseRecord& record) {
  return text_of_value(find_axis("mask").access.get(record.problem));
}
bool has_mask(const CaseRecord& record, std::string_view kind) {
  return mask_of(record).starts_with(kind);
}

struct Trait {
  std::string_view what;
  bool (*has)(const CaseRecord&);
};

constexpr Trait kTraits[] = {
    {"a backward pass", [](const CaseRecord& r) { return r.problem.pass != Pass::kForward; }},
    {"a forward pass", [](const CaseRecord& r) { return r.problem.pass != Pass::kBackward; }},
    {"a forward and a backward pass",
     [](const CaseRecord& r) { return r.problem.pass == Pass::kForwardBackward; }},
    {"a mask", [](const CaseRecord& r) { return !has_mask(r, "full"); }},
    {"no mask", [](const CaseRecord& r) { return has_mask(r, "full"); }},
    {"the causal mask", [](const CaseRecord& r) { return mask_of(r) == "causal"; }},
    {"a window", [](const CaseRecord& r) { return has_mask(r, "window"); }},
    {"a band", [](const CaseRecord& r) { return has_mask(r, "band"); }},
    {"a prefix", [](const CaseRecord& r) { return has_mask(r, "prefix"); }},
    {"a mask that is a pattern",
     [](const CaseRecord& r) { return r.problem.pattern_spec.has_value(); }},
    {"a mask that differs from head to head",
     [](const CaseRecord& r) { return mask_of(r).find('/') != std::string::npos; }},
    {"seqlen_q != seqlen_k",
     [](const CaseRecord& r) { return r.problem.seqlen_q != r.problem.seqlen_k; }},
    {"seqlen_q > seqlen_k",
     [](const CaseRecord& r) { return r.problem.seqlen_q > r.problem.seqlen_k; }},
    {"rows that see no key",
     [](const CaseRecord& r) {
       return r.problem.seqlen_q > r.problem.seqlen_k && !has_mask(r, "full");
     }},
    {"a seqlen_q that is no multiple of 16",
     [](const CaseRecord& r) { return r.problem.seqlen_q % 16 != 0; }},
    {"a seqlen_k that is no multiple of 16",
     [](const CaseRecord& r) { return r.problem.seqlen_k % 16 != 0; }},
    {"a seqlen_k that is no multiple of 64",
     [](const CaseRecord& r) { return r.problem.seqlen_k % 64 != 0; }},
    {"more than 16 keys", [](const CaseRecord& r) { return r.problem.seqlen_k > 16; }},
    {"more than 64 keys", [](const CaseRecord& r) { return r.problem.seqlen_k > 64; }},
    {"more than 64 rows", [](const CaseRecord& r) { return r.problem.seqlen_q > 64; }},
    {"grouped heads", [](const CaseRecord& r) { return r.problem.group_size() > 1; }},
    {"grouped heads and several key heads",
     [](const CaseRecord& r) { return r.problem.group_size() > 1 && r.problem.key_heads() > 1; }},
    {"several sequences", [](const CaseRecord& r) { return r.problem.batch > 1; }},
    {"several heads", [](const CaseRecord& r) { return r.problem.heads > 1; }},
    {"a head_dim that is no multiple of 64",
     [](const CaseRecord& r) { return r.problem.head_dim % 64 != 0; }},
    {"a head_dim above 64", [](const CaseRecord& r) { return r.problem.head_dim > 64; }},
    {"dropout", [](const CaseRecord& r) { return r.problem.dropout_p > 0.0f; }},
    {"bf16", [](const CaseRecord& r) { return r.problem.element == ElementType::kBf16; }},
    {"heads before rows in memory",
     [](const CaseRecord& r) { return r.problem.layout == TensorLayout::kBhsd; }},
    {"packed q, k and v",
     [](const CaseRecord& r) { return r.problem.layout == TensorLayout::kQkvPacked; }},
    {"k in another layout than q and v",
     [](const CaseRecord& r) { return r.problem.layout == TensorLayout::kKBhsd; }},
    {"tensors not in the order bshd",
     [](const CaseRecord& r) { return r.problem.layout != TensorLayout::kBshd; }},
    {"large scores", [](const CaseRecord& r) { return r.problem.input_scale.value_or(1) > 1; }},
    {"varlen", [](const CaseRecord& r) { return r.problem.lengths_spec.has_value(); }},
};

}  // namespace

std::vector<CommonTrait> common_traits(const RunRecord& run, const std::string& kernel) {
  std::vector<const CaseRecord*> wrong, right;
  for (const CaseRecord& record : run.cases) {
    if (record.kernel != kernel) continue;
    if (is_wrong(record)) wrong.push_back(&record);
    if (record.status == Status::kOk) right.push_back(&record);
  }
  if (wrong.empty() || right.empty()) return {};              // without right cases, no trait tells
  std::vector<std::pair<std::ptrdiff_t, CommonTrait>> found;  // by the right cases that have it
  for (const Trait& trait : kTraits) {
    const auto has = [&](const CaseRecord* record) { return trait.has(*record); };
    if (!std::ranges::all_of(wrong, has)) continue;
    const std::ptrdiff_t too = std::ranges::count_if(right, has);
    if (too == std::ssize(right)) continue;
    found.push_back({too, {std::string(trait.what), too == 0}});
  }
  std::ranges::stable_sort(found, {}, [](const auto& each) { return each.first; });
  std::vector<CommonTrait> traits;
  for (const auto& [too, trait] : found) {
    if (traits.size() < kMostTraits) traits.push_back(trait);
  }
  return traits;
}

}  // namespace sparkbench
