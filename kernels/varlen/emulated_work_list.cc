#include "kernels/varlen/emulated_work_list.h"

#include "kernels/machine/emulated/machine.h"

namespace sparkbench {
namespace {

void append_region(std::vector<GlobalRegion>& all, const char* name, const int* first, int count) {
  all.push_back(
      {name, const_cast<int*>(first), static_cast<std::size_t>(count) * sizeof(int), true});
}

}  // namespace

EmulatedWorkList::EmulatedWorkList(const Problem& packed, const PackedLengths& lengths,
                                   const WorkListKind& kind)
    : memory_((work_list_bytes(packed, lengths.batch, kind) + sizeof(WorkItem) - 1) /
              sizeof(WorkItem)),
      params_(work_list(packed, lengths, kind, memory_.data())) {}

EmulationReport EmulatedWorkList::emulate(const EmulationOptions& options) const {
  if (size() == 0) return {};
  const LaunchShape shape{.kernel = "list-blocks",
                          .grid = {1, 1, 1},
                          .threads = kListThreads,
                          .shared_bytes = sizeof(ListTiles)};
  std::vector<GlobalRegion> regions;
  append_region(regions, "cu_seqlens_q", params_.cu_seqlens_q, params_.batch + 1);
  if (params_.cu_seqlens_k != params_.cu_seqlens_q) {
    append_region(regions, "cu_seqlens_k", params_.cu_seqlens_k, params_.batch + 1);
  }
  regions.push_back({"work list", params_.items, memory_.size() * sizeof(WorkItem), false});
  const WorkListsParams lists{{params_, {}}};
  return sparkbench::emulate(shape, regions, options,
                             [&](EmulatedMachine& machine) { list_blocks(machine, lists); });
}

GlobalRegion EmulatedWorkList::region() const {
  return {"work list", params_.items, static_cast<std::size_t>(size()) * sizeof(WorkItem), true};
}

}  // namespace sparkbench
