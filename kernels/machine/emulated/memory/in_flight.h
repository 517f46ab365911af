// A thread's or warp's started and not yet awaited copies (cp.async) or products (wgmma), in the
// groups that it has committed. They end in the order in which they were started.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace sparkbench {

template <class Item>
class InFlight {
 public:
  void start(Item item) { items_.push_back(std::move(item)); }
  /// The items started since the last commit become a group, which may be empty.
  void commit() { group_ends_.push_back(items_.size()); }

  /// Calls end(item) for all items of all but the last `pending` groups. Uncommitted items stay.
  template <class End>
  void end_groups(std::size_t pending, End end) {
    if (group_ends_.size() <= pending) return;
    const std::size_t groups = group_ends_.size() - pending;
    const std::size_t ended = group_ends_[groups - 1];
    for (std::size_t i = 0; i < ended; ++i) end(items_[i]);
    items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(ended));
    group_ends_.erase(group_ends_.begin(),
                      group_ends_.begin() + static_cast<std::ptrdiff_t>(groups));
    for (std::size_t& end_of_group : group_ends_) end_of_group -= ended;
  }

  bool empty() const { return items_.empty(); }
  void forget() {
    items_.clear();
    group_ends_.clear();
  }

 private:
  std::vector<Item> items_;
  std::vector<std::size_t> group_ends_;
};

}  // namespace sparkbench
