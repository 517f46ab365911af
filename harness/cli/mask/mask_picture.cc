#include "harness/cli/mask/mask_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "kernels/base/ceil_divide.h"
#include "kernels/mask/pattern/tile_plan.h"

namespace sparkbench {
namespace {

constexpr int kSvgCells = 256, kPanel = 256, kMargin = 30;
constexpr int kLinePanels = 4, kLine = kPanel + 3 * kMargin;

using CellKind = TileCover;

struct MaskCells {
  int rows, columns;
  int rows_of_cell, keys_of_cell;
  std::vector<CellKind> kinds;  // row-major

  CellKind at(int row, int column) const {
    return kinds[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
                 static_cast<std::size_t>(column)];
  }
};

/// Whether the part of a last tile inside the sequence is visible to all of its rows.
bool shows_all(const Pattern& pattern, int head, const Range& rows, const Range& keys) {
  for (int row = rows.begin; row < rows.end; ++row) {
    for (int first = keys.begin; first < keys.end; first += kWordKeys) {
      const std::uint64_t wanted = key_bits(keys, first);
      if ((key_word(pattern, head, row, first) & wanted) != wanted) return false;
    }
  }
  return true;
}

/// The smallest cells that fit into `most_cells` in each direction. A last cell that extends past
/// the last key is full if all of its keys are visible.
MaskCells cells_of(const Pattern& pattern, int head, int most_cells) {
  MaskCells cells;
  cells.rows_of_cell = ceil_divide(pattern.seqlen_q, most_cells);
  cells.keys_of_cell = ceil_divide(pattern.seqlen_k, most_cells);
  cells.rows = ceil_divide(pattern.seqlen_q, cells.rows_of_cell);
  cells.columns = ceil_divide(pattern.seqlen_k, cells.keys_of_cell);
  const TilePlan tiles = plan(pattern, head, cells.rows_of_cell, cells.keys_of_cell);
  const int last = cells.columns - 1;
  for (int row = 0; row < cells.rows; ++row) {
    std::vector<CellKind> line(static_cast<std::size_t>(cells.columns), CellKind::kEmpty);
    for (const Span& span : tiles.spans_of(row)) {
      for (int tile = span.begin; tile < span.end; ++tile) {
        line[static_cast<std::size_t>(tile)] = span.cover;
      }
    }
    if (line.back() == CellKind::kCut && pattern.seqlen_k % cells.keys_of_cell != 0) {
      const Range rows = {row * cells.rows_of_cell,
                          least_of((row + 1) * cells.rows_of_cell, pattern.seqlen_q)};
      const Range keys = {last * cells.keys_of_cell, pattern.seqlen_k};
      if (shows_all(pattern, head, rows, keys)) line.back() = CellKind::kFull;
    }
    cells.kinds.insert(cells.kinds.end(), line.begin(), line.end());
  }
  return cells;
}

const char* cell_text(CellKind cell) {
  switch (cell) {
    case CellKind::kFull:
      return "##";
    case CellKind::kCut:
      return "::";
    case CellKind::kEmpty:
      break;
  }
  return " .";
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      default:
        safe += letter;
    }
  }
  return safe;
}

/// The cells of a kind as one path; adjacent cells in a line become one rectangle.
std::string svg_path(const MaskCells& cells, CellKind kind) {
  std::string path;
  for (int row = 0; row < cells.rows; ++row) {
    for (int begin = 0, end = 0; begin < cells.columns; begin = end) {
      const CellKind here = cells.at(row, begin);
      while (end < cells.columns && cells.at(row, end) == here) ++end;
      if (here == kind) path += fmt::format("M{} {}h{}v1H{}z", begin, row, end - begin, begin);
    }
    if (!path.empty() && path.back() == 'z') path += '\n';
  }
  return path;
}

std::string svg_panel(const Pattern& pattern, int head, const std::string& name, int left,
                      int top) {
  const MaskCells cells = cells_of(pattern, head, kSvgCells);
  std::string svg = fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", left, top + 20, name);
  svg += fmt::format(
      "<g transform=\"translate({} {}) scale({:.6g} {:.6g})\" shape-rendering=\"crispEdges\">\n",
      left, top + kMargin, static_cast<double>(kPanel) / cells.columns,
      static_cast<double>(kPanel) / cells.rows);
  svg += fmt::format("<path class=\"f\" d=\"{}\"/>\n<path class=\"c\" d=\"{}\"/>\n</g>\n",
                     svg_path(cells, CellKind::kFull), svg_path(cells, CellKind::kCut));
  svg += fmt::format(
      "<rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{2}\" fill=\"none\" stroke=\"black\"/>\n",
      left, top + kMargin, kPanel);
  const int below = top + kPanel + kMargin;
  svg += fmt::format("<text x=\"{}\" y=\"{}\">{} keys to the right, {} rows down</text>\n", left,
                     below + 18, pattern.seqlen_k, pattern.seqlen_q);
  svg += fmt::format("<text x=\"{}\" y=\"{}\">a cell: {} x {}; dark full, light cut</text>\n", left,
                     below + 36, cells.rows_of_cell, cells.keys_of_cell);
  return svg;
}

}  // namespace

std::string draw_text(const Pattern& pattern, int head, int most_cells) {
  const MaskCells cells = cells_of(pattern, head, most_cells);
  std::string text;
  for (int row = 0; row < cells.rows; ++row) {
    text += "  ";
    for (int column = 0; column < cells.columns; ++column) {
      text += cell_text(cells.at(row, column));
    }
    text += '\n';
  }
  return text + fmt::format("  a cell: {} rows x {} keys; ## full, :: cut, . empty\n",
                            cells.rows_of_cell, cells.keys_of_cell);
}

std::string draw_svg(const Pattern& pattern, const PatternSpec& spec) {
  const int panels = static_cast<int>(pattern.unions.size());
  const int width = kMargin + std::min(panels, kLinePanels) * (kPanel + kMargin);
  const int height = ceil_divide(panels, kLinePanels) * kLine;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<style>.f{{fill:#1f4e79}}.c{{fill:#8fb8de}}</style>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      width, height);
  for (int panel = 0; panel < panels; ++panel) {
    const int left = kMargin + panel % kLinePanels * (kPanel + kMargin);
    svg += svg_panel(
        pattern, panel,
        escaped(name_of({{spec.unions[static_cast<std::size_t>(panel) % spec.unions.size()]}})),
        left, panel / kLinePanels * kLine);
  }
  return svg + "</svg>\n";
}

}  // namespace sparkbench
