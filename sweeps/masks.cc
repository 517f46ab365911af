#include "sweeps/masks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "kernels/mask/pattern/pattern_spec.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/mask/pattern/zones_file.h"
#include "sweeps/list_flag.h"
#include "sweeps/text_hash.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

constexpr std::string_view kMaskFlag = "--mask";
constexpr std::string_view kFileAtom = "zones:";

/// The mask's name in kernels, if they have one.
std::string normal_form(std::string_view text) {
  const PatternSpec spec = parse_pattern_spec(text);
  const std::optional<MaskSpec> mask = mask_spec_of(spec);
  return mask ? name_of(*mask) : name_of(spec);
}

std::shared_ptr<const SparseMask> lay_pattern(const CaseProblem& problem) {
  try {
    return make_sparse_mask(*problem.pattern_spec, problem.seqlen_q, problem.seqlen_k,
                            problem.heads);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("{}: '{}' of {} rows and {} keys: {}", kMaskFlag,
                                 *problem.pattern_spec, problem.seqlen_q, problem.seqlen_k,
                                 error.what()));
  }
}

void refuse_packed(const CaseProblem& problem) {
  if (!problem.lengths_spec) return;
  throw UsageError(
      fmt::format("{}: '{}' is a pattern over one length, but --lengths gives each sequence its "
                  "own; allowed with it: {}",
                  kMaskFlag, *problem.pattern_spec, mask_forms()));
}

/// The hash of the file that the pattern names; empty if it names none.
std::optional<std::string> hash_of_zones(const std::string& pattern) {
  const std::size_t at = pattern.find(kFileAtom);
  if (at == std::string::npos) return std::nullopt;
  try {
    return text_hash(zones_file_text(pattern.substr(at + kFileAtom.size())));
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("{}: {}", kMaskFlag, error.what()));
  }
}

/// Throws UsageError if a file that problems share has changed since it was first read.
void require_unchanged(const std::map<std::string, std::optional<std::string>>& hashes) {
  for (const auto& [pattern, hash] : hashes) {
    if (hash_of_zones(pattern) == hash) continue;
    throw UsageError(fmt::format("{}: the file of '{}' changed while it was read; run it again",
                                 kMaskFlag, pattern));
  }
}

}  // namespace

std::vector<std::string> parse_masks(std::string_view flag, std::string_view text) {
  std::vector<std::string> masks;
  for (const std::string_view item : split_list(flag, text)) {
    try {
      std::string name = normal_form(item);
      if (std::find(masks.begin(), masks.end(), name) == masks.end()) {
        masks.push_back(std::move(name));
      }
    } catch (const std::invalid_argument& error) {
      throw UsageError(fmt::format("{}: {}", flag, error.what()));
    }
  }
  return masks;
}

void set_mask(CaseProblem& problem, std::string_view name) {
  const PatternSpec spec = parse_pattern_spec(name);
  const std::optional<MaskSpec> mask = mask_spec_of(spec);
  problem.mask = mask.value_or(MaskSpec::full());
  problem.sparse = nullptr;
  problem.pattern_spec.reset();
  problem.zones_hash.reset();
  if (!mask) problem.pattern_spec = name_of(spec);
}

std::string mask_name(const CaseProblem& problem) {
  return problem.pattern_spec.value_or(name_of(problem.mask));
}

std::string mask_in_id(const CaseProblem& problem) {
  std::string name = mask_name(problem);
  if (const std::size_t file = name.find(kFileAtom); file != std::string::npos) {
    name = name.substr(0, file) + "zones-" + problem.zones_hash.value_or("unknown");
  }
  std::replace(name.begin(), name.end(), '/', '~');
  return name;
}

void lay_patterns(std::span<CaseProblem> problems) {
  std::map<std::tuple<std::string, int, int, int>, std::shared_ptr<const SparseMask>> laid;
  std::map<std::string, std::optional<std::string>> hashes;
  for (CaseProblem& problem : problems) {
    if (!problem.pattern_spec) continue;
    refuse_packed(problem);
    const auto [hash, is_new] = hashes.try_emplace(*problem.pattern_spec);
    if (is_new) hash->second = hash_of_zones(*problem.pattern_spec);
    const bool has_heads = names_heads(parse_pattern_spec(*problem.pattern_spec));
    auto& sparse = laid[{*problem.pattern_spec, problem.seqlen_q, problem.seqlen_k,
                         has_heads ? problem.heads : 0}];
    if (sparse == nullptr) sparse = lay_pattern(problem);
    problem.sparse = sparse;
    problem.zones_hash = hash->second;
  }
  require_unchanged(hashes);
}

}  // namespace sparkbench
