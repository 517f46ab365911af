// What a thread or a warp has started and not yet waited for, in the groups that it has committed:
// copies (cp.async) and products (wgmma). They end in the order in which they were started.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace sparkbench {

template <class Item>
class InFlight {
 public:
  void start(Item item) { items_.push_back(std::move(item)); }
  /// What was started since the last commit is a group, even if that is nothing.
  void commit() { group_ends_.push_back(items_.size()); }

  /// Calls end(item) for all items of the groups that came before the last `pending` ones. What was
  /// not committed stays.
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
