// The L0 instruction caches of an SM's schedulers, filled from L1.5.
#pragma once

#include <array>
#include <vector>

#include "harness/model/sm/machine_constants.h"

namespace sparkbench {

class InstructionCaches {
 public:
  /// `lines` of code, from 0.
  InstructionCaches(const SmConstants& constants, int lines);

  /// A warp of `scheduler` goes from `previous` (-1: none) to another line. Returns for how many
  /// cycles it waits; a stream buffer fetches the lines behind, too.
  double enter(int scheduler, int line, int previous, double now);

 private:
  /// The lines that a cache holds, the least recently entered first.
  class Lines {
   public:
    explicit Lines(int lines);
    bool holds(int line) const { return is_held_[line]; }
    double arrival(int line) const { return arrivals_[line]; }
    void touch(int line);
    void insert(int line, double arrival);
    void remove_oldest();
    int size() const { return size_; }

   private:
    void unlink(int line);
    void append(int line);

    int end_;  // a line that is none: its neighbours are the newest and the oldest
    int size_ = 0;
    std::vector<int> newer_, older_;
    std::vector<bool> is_held_;
    std::vector<double> arrivals_;
  };

  double arrival(int scheduler, double now);

  const SmConstants& constants_;
  int capacity_;  // lines
  std::array<Lines, kSchedulers> caches_;
  double sm_free_ = 0.0;
  std::array<double, kSchedulers> scheduler_free_{};
};

}  // namespace sparkbench
