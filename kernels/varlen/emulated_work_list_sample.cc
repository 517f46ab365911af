#include "kernels/varlen/emulated_work_list_sample.h"

#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/base/ceil_divide.h"

namespace sparkbench {
namespace {

constexpr double kOfNoWork = -1.0;

/// Steps of columns that the item's block walks: its counts are affine in them.
double steps_of(const WorkItem& item, const WorkListParams& params, int step) {
  if (item.place.first_row == kNoWork) return kOfNoWork;
  const KeyMask mask = key_mask_of(params.mask, item.mask.seqlen_q, item.mask.seqlen_k);
  const int length = params.is_of_keys ? mask.seqlen_k : mask.seqlen_q;
  const Range own = {item.place.first_row,
                     least_of(item.place.first_row + params.block_rows, length)};
  if (own.is_empty()) return 0.0;
  const Range walked = params.is_of_keys ? mask.rows_of_any(own) : mask.keys_of_any(own);
  if (walked.is_empty()) return 0.0;
  return ceil_divide(walked.end - walked.begin / step * step, step);
}

int tile_of(const WorkItem& item) { return item.place.first_row / kSampleRows; }

/// Calls choose(item) for every item, and appends the blocks of axis 0 that it returns.
template <class Choose>
void launch_chosen(const WorkListParams& list, Choose choose, LaunchShape& shape) {
  bool has_no_work = false;
  for (int i = 0; i < list.items_end; ++i) {
    const WorkItem& item = list.items[i];
    Range chosen{0, 0};
    if (item.place.first_row != kNoWork) {
      chosen = choose(item);
    } else if (!std::exchange(has_no_work, true)) {
      chosen = {0, 1};
    }
    for (int x = chosen.begin; x < chosen.end; ++x) {
      shape.blocks.push_back({x, i % shape.grid[1], i / shape.grid[1]});
    }
  }
}

void set_work(const SampledList& of, LaunchShape& shape) {
  shape.works_by_items = true;
  for (int i = 0; i < of.list.items_end; ++i) {
    shape.work.push_back(steps_of(of.list.items[i], of.list, of.step));
  }
}

}  // namespace

void SampledList::restrict_to(std::span<const SampleTile> tiles, LaunchShape& shape) const {
  if (tiles.empty()) return;
  set_work(*this, shape);
  const std::set<SampleTile> wanted(tiles.begin(), tiles.end());
  for (int x = 0; x < shape.grid[0]; ++x) {
    launch_chosen(
        list,
        [&](const WorkItem& item) {
          const bool is_wanted =
              wanted.contains({tile_of(item), x / blocks_of_head, item.place.sequence});
          return is_wanted ? Range{x, x + 1} : Range{0, 0};
        },
        shape);
  }
}

void SampledList::restrict_to_sequences(std::span<const SampleTile> tiles,
                                        LaunchShape& shape) const {
  if (tiles.empty()) return;
  set_work(*this, shape);
  std::set<int> sequences;
  for (const SampleTile& tile : tiles) sequences.insert(tile[2]);
  launch_chosen(
      list,
      [&](const WorkItem& item) {
        return sequences.contains(item.place.sequence) ? Range{0, shape.grid[0]} : Range{0, 0};
      },
      shape);
}

}  // namespace sparkbench
