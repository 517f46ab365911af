#include "kernels/machine/emulated/report/finding.h"

#include <algorithm>
#include <utility>

namespace sparkbench {

std::string_view to_string(FindingKind kind) {
  switch (kind) {
    case FindingKind::kDivergence:
      return "divergence";
    case FindingKind::kMissedBarrier:
      return "missed_barrier";
    case FindingKind::kSharedRace:
      return "shared_race";
    case FindingKind::kGlobalRace:
      return "global_race";
    case FindingKind::kOutOfBounds:
      return "out_of_bounds";
    case FindingKind::kUninitializedRead:
      return "uninitialized_read";
    case FindingKind::kMisaligned:
      return "misaligned";
    case FindingKind::kReadOnlyWrite:
      return "read_only_write";
    case FindingKind::kMissingProxyFence:
      return "missing_proxy_fence";
    case FindingKind::kMissedTurn:
      return "missed_turn";
    case FindingKind::kCorruptIndices:
      return "corrupt_indices";
  }
  return "unknown";
}

void FindingLog::merge(const FindingLog& other) {
  total_ += other.total_;
  for (const auto& [key, theirs] : other.kept_) {
    const auto [mine, inserted] = kept_.try_emplace(key, theirs);
    if (!inserted && theirs.order < mine->second.order) mine->second = theirs;
  }
}

std::vector<Finding> FindingLog::first(std::size_t count) const {
  std::vector<const Kept*> ordered;
  ordered.reserve(kept_.size());
  for (const auto& [key, kept] : kept_) ordered.push_back(&kept);
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const Kept* a, const Kept* b) { return a->order < b->order; });
  ordered.resize(std::min(count, ordered.size()));
  std::vector<Finding> findings;
  findings.reserve(ordered.size());
  for (const Kept* kept : ordered) findings.push_back(kept->finding);
  return findings;
}

Finding FindingLog::make(FindingKind kind, const CallSite& site, int thread,
                         FindingDetail detail) const {
  return {.kind = kind,
          .kernel = kernel_,
          .block = block_,
          .thread = thread,
          .other_thread = detail.other_thread,
          .address = std::move(detail.address),
          .file = site.file_name(),
          .line = static_cast<int>(site.line()),
          .message = std::move(detail.message)};
}

}  // namespace sparkbench
