// Intervals (runs) of whole numbers at equal distances: a box of a grid is one interval a line of
// the sequence. Boxes stay so until spans are written, so that what many lines repeat is worked out
// once.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "kernels/mask/key_mask.h"

namespace sparkbench {

/// Divides by a whole number above 0: by a shift if it is a power of two, as a tile's keys usually
/// are.
class DivideBy {
 public:
  explicit DivideBy(int divisor) : divisor_(divisor) {
    const bool is_power = (divisor & (divisor - 1)) == 0;
    if (is_power) shift_ = std::countr_zero(static_cast<unsigned>(divisor));
  }
  int divisor() const { return divisor_; }
  int operator()(int number) const { return shift_ >= 0 ? number >> shift_ : number / divisor_; }
  bool divides(int number) const {
    return shift_ >= 0 ? (number & (divisor_ - 1)) == 0 : number % divisor_ == 0;
  }
  /// `number` must not be negative.
  int rounded_up(int number) const { return (*this)(number + divisor_ - 1); }

 private:
  int divisor_, shift_ = -1;
};

/// `count` runs as long as `first`, each `pitch` after the one before. Several runs do not meet;
/// for one run the pitch has no meaning.
struct RunLines {
  Range first;
  int pitch = 0, count = 1;

  Range line(int index) const { return {first.begin + index * pitch, first.end + index * pitch}; }
  Range last() const { return line(count - 1); }
  int end() const { return last().end; }
};

/// The indices of the parts, of part.divisor() numbers each, that a run touches.
inline Range parts_touched(const Range& run, const DivideBy& part) {
  return {part(run.begin), part(run.end - 1) + 1};
}

/// Adds lines; runs that meet count as one. A single run lengthens the last one if it begins within
/// it or at its end. Adds nothing if a run is empty or there is none.
inline void add_lines(const RunLines& lines, std::vector<RunLines>& runs) {
  if (lines.count < 1 || lines.first.is_empty()) return;
  const int begin = lines.first.begin, end = lines.first.end;
  if (lines.count > 1 && lines.pitch > end - begin) {
    runs.push_back({{begin, end}, lines.pitch, lines.count});
    return;
  }
  const int whole_end = lines.end();
  if (!runs.empty() && runs.back().count == 1 && runs.back().first.begin <= begin &&
      begin <= runs.back().first.end) {
    runs.back().first.end = most_of(runs.back().first.end, whole_end);
  } else {
    runs.push_back({{begin, whole_end}});
  }
}
inline void add_run(const Range& run, std::vector<RunLines>& runs) { add_lines({run}, runs); }

/// Sorts the runs, and joins those that meet. Lines stay lines unless others are between them.
void join(std::vector<RunLines>& runs);

/// Single runs, in the order of the lines.
std::vector<Range> one_by_one(const std::vector<RunLines>& runs);

/// Splits lines into lines of one run each.
void take_apart(std::vector<RunLines>& runs);

/// How many numbers are in the runs.
std::int64_t size_of(const std::vector<RunLines>& runs);

/// The keys that a head's pattern shows to some rows. Runs may touch and overlap, and come in any
/// order.
struct KeyRuns {
  std::vector<RunLines> touched;  // tiles that have every key that some row sees
  std::vector<RunLines> full;     // keys that each row sees, by index: enough to fill a tile

  void clear() {
    touched.clear();
    full.clear();
  }
};

}  // namespace sparkbench
