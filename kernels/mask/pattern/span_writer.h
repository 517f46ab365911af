// From the keys that rows see to spans of tiles, one tile of rows after the other.
#pragma once

#include <vector>

#include "kernels/mask/pattern/key_runs.h"
#include "kernels/mask/pattern/tile_plan.h"

namespace sparkbench {

/// Joins the runs, and turns the full ones into tiles. Returns the most spans that they can be.
std::size_t join_to_tiles(KeyRuns& runs, int keys);

/// Writes the spans of a plan, whose `keys` is set. Equal lines cost a few stores each.
class SpanWriter {
 public:
  explicit SpanWriter(TilePlan& plan) : plan_(plan) {}

  /// Adds the spans of the next tile of rows.
  void add_spans(KeyRuns& runs);

 private:
  /// Lines with equal spans.
  struct Lines {
    Span spans[3] = {};
    int spans_of_line = 0, pitch = 0, count = 1;

    void add(int begin, int end, TileCover cover) {
      if (begin < end) spans[spans_of_line++] = {begin, end, cover};
    }
  };
  /// The full runs that are not in a line yet.
  struct FullRuns {
    const std::vector<RunLines>& runs;
    std::size_t next = 0;
    int line = 0;

    bool is_done() const { return next == runs.size(); }
    Range run() const { return runs[next].line(line); }
    void skip(int lines);
    int lines_like(const RunLines& touched, int from) const;
  };

  void add_touched(const RunLines& touched, FullRuns& full);
  int add_cut_lines(const RunLines& touched, int from, int count);
  void add_one_line(const Range& run, FullRuns& full);
  int lines_there(const Lines& lines);
  void add(const Lines& lines);

  TilePlan& plan_;
  std::vector<Span> row_;  // of this tile of rows, then those of the one before, not overwritten
  std::size_t size_ = 0;   // how many of them belong to this one
  struct {
    int spans_of_line = 0, pitch = 0, count = 0;
  } first_;  // lines at the beginning of this tile of rows; until it has some, of the one before
};

}  // namespace sparkbench
