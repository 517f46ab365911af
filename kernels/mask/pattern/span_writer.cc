#include "kernels/mask/pattern/span_writer.h"

#include <algorithm>

namespace sparkbench {
namespace {

/// From runs of keys to the tiles that they fill; a run that fills none is left out.
void fill_tiles(std::vector<RunLines>& runs, const DivideBy& tile) {
  const bool is_even = std::all_of(runs.begin(), runs.end(), [&](const RunLines& lines) {
    return lines.count == 1 || tile.divides(lines.pitch);
  });
  if (!is_even) take_apart(runs);
  std::size_t kept = 0;
  for (const RunLines& lines : runs) {
    const Range filled = {tile.rounded_up(lines.first.begin), tile(lines.first.end)};
    if (!filled.is_empty()) runs[kept++] = {filled, tile(lines.pitch), lines.count};
  }
  runs.resize(kept);
}

}  // namespace

void SpanWriter::FullRuns::skip(int lines) {
  line += lines;
  if (line < runs[next].count) return;
  ++next;
  line = 0;
}

/// How many lines, from a touched one on, have the next full runs at the same offset, one each.
int SpanWriter::FullRuns::lines_like(const RunLines& touched, int from) const {
  const RunLines& full = runs[next];
  const int lines =
      touched.pitch == full.pitch ? std::min(touched.count - from, full.count - line) : 1;
  const int after = line + lines < full.count ? full.line(line + lines).begin
                    : next + 1 < runs.size()  ? runs[next + 1].first.begin
                                              : kUnbounded;
  return after < touched.line(from + lines - 1).end ? lines - 1 : lines;
}

std::size_t join_to_tiles(KeyRuns& runs, int keys) {
  join(runs.touched);
  join(runs.full);
  fill_tiles(runs.full, DivideBy(keys));
  std::size_t most = 0;
  for (const RunLines& lines : runs.touched) most += static_cast<std::size_t>(lines.count);
  for (const RunLines& lines : runs.full) most += 2 * static_cast<std::size_t>(lines.count);
  return most;
}

void SpanWriter::add_spans(KeyRuns& runs) {
  const std::size_t most = join_to_tiles(runs, plan_.keys);
  if (row_.size() < most) row_.resize(2 * most);
  size_ = 0;
  FullRuns full{runs.full};
  if (runs.touched.empty()) first_ = {};
  for (const RunLines& touched : runs.touched) add_touched(touched, full);
  plan_.spans.insert(plan_.spans.end(), row_.data(), row_.data() + size_);
}

void SpanWriter::add_touched(const RunLines& touched, FullRuns& full) {
  for (int at = 0; at < touched.count;) {
    const Range run = touched.line(at);
    const int left = touched.count - at;
    if (full.is_done()) {
      at += add_cut_lines(touched, at, left);
      continue;
    }
    const Range filled = full.run();
    if (filled.begin >= run.end) {
      const int before = left == 1 ? 1 : (filled.begin - run.end) / touched.pitch + 1;
      at += add_cut_lines(touched, at, std::min(left, before));
      continue;
    }
    const int lines = full.lines_like(touched, at);
    if (lines > 0) {
      Lines alike{{}, 0, touched.pitch, lines};
      alike.add(run.begin, filled.begin, TileCover::kCut);
      alike.add(filled.begin, filled.end, TileCover::kFull);
      alike.add(filled.end, run.end, TileCover::kCut);
      add(alike);
      full.skip(lines);
      at += lines;
    } else {
      add_one_line(run, full);
      ++at;
    }
  }
}

int SpanWriter::add_cut_lines(const RunLines& touched, int from, int count) {
  const Range run = touched.line(from);
  if (count == 1) {
    if (size_ == 0) first_ = {};
    row_[size_++] = {run.begin, run.end, TileCover::kCut};
    plan_.cut_tiles += static_cast<unsigned>(run.size());
    return 1;
  }
  add({{{run.begin, run.end, TileCover::kCut}}, 1, touched.pitch, count});
  return count;
}

/// Adds a run that contains several full ones.
void SpanWriter::add_one_line(const Range& run, FullRuns& full) {
  int at = run.begin;
  for (; !full.is_done() && full.run().begin < run.end; full.skip(1)) {
    const Range filled = full.run();
    Lines part;
    part.add(at, filled.begin, TileCover::kCut);
    part.add(filled.begin, filled.end, TileCover::kFull);
    add(part);
    at = filled.end;
  }
  Lines rest;
  rest.add(at, run.end, TileCover::kCut);
  add(rest);
}

/// How many lines at the beginning of this tile of rows equal those of the tile before.
int SpanWriter::lines_there(const Lines& lines) {
  const bool is_like = first_.pitch == lines.pitch && first_.spans_of_line == lines.spans_of_line &&
                       std::equal(row_.begin(), row_.begin() + lines.spans_of_line, lines.spans);
  const int there = is_like ? std::min(first_.count, lines.count) : 0;
  first_ = {lines.spans_of_line, lines.pitch, lines.count};
  return there;
}

void SpanWriter::add(const Lines& lines) {
  const int written = size_ == 0 ? lines_there(lines) : 0;
  const int of_line = lines.spans_of_line;
  Span* spans = row_.data() + size_ + std::size_t{1} * static_cast<unsigned>(written * of_line);
  for (int i = written, at = written * lines.pitch; i < lines.count; ++i, at += lines.pitch) {
    for (int j = 0; j < of_line; ++j) {
      const Span& span = lines.spans[j];
      *spans++ = {span.begin + at, span.end + at, span.cover};
    }
  }
  size_ = static_cast<std::size_t>(spans - row_.data());
  for (int j = 0; j < of_line; ++j) {
    const Span& span = lines.spans[j];
    (span.cover == TileCover::kFull ? plan_.full_tiles : plan_.cut_tiles) +=
        std::uint64_t{1} * static_cast<unsigned>(lines.count) * static_cast<unsigned>(span.tiles());
  }
}

}  // namespace sparkbench
