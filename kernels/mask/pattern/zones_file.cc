#include "kernels/mask/pattern/zones_file.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <stdexcept>

#include "kernels/base/closest_name.h"
#include "kernels/base/files/input_file.h"
#include "kernels/base/split_text.h"

namespace sparkbench {
namespace {

constexpr std::string_view kWords =
    "; allowed: q=, k= or d=BEGIN:END, axes=A, AxB or AxBxC and then q0= to d2=, causal, clamped";
constexpr std::uint64_t kMostBytes = 1 << 20;

[[noreturn]] void refuse(std::string_view word, std::string_view why, std::string_view meant = "") {
  throw std::invalid_argument("'" + std::string(word) + "' " + std::string(why) +
                              did_you_mean(meant) + std::string(kWords));
}

/// Refuses a word of an unknown name. An axis range is too short to guess a meaning.
[[noreturn]] void refuse_name(std::string_view word) {
  const std::size_t sign = std::min(word.find('='), word.size());
  constexpr std::string_view kNames[] = {"axes", "causal", "clamped"};
  const std::string name = closest_name(word.substr(0, sign), kNames);
  const bool is_whole = (name == "axes") == (sign < word.size());
  refuse(word, "is no word of a term",
         is_whole && !name.empty() ? name + std::string(word.substr(sign)) : "");
}

int parse_position(std::string_view word, std::string_view text, int otherwise) {
  if (text.empty()) return otherwise;
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::invalid_argument || stop != end) refuse(word, "has no whole number");
  if (error != std::errc() || value < -kUnbounded || value > kUnbounded) {
    refuse(word, "has a number beyond " + std::to_string(kUnbounded));
  }
  return value;
}

/// "d=-3:4" into two numbers of the zone.
void read_range(std::string_view word, char letter, std::string_view text, Zone& zone) {
  const std::vector<std::string_view> ends = split_text(text, ':');
  if (ends.size() != 2) refuse(word, "is no range");
  const int begin = parse_position(word, ends[0], -kUnbounded);
  const int end = parse_position(word, ends[1], kUnbounded);
  if (begin >= end) refuse(word, "is empty");
  switch (letter) {
    case 'q':
      zone.q0 = begin, zone.q1 = end;
      return;
    case 'k':
      zone.k0 = begin, zone.k1 = end;
      return;
    default:
      zone.d0 = begin, zone.d1 = end;
  }
}

void read_axes(std::string_view word, std::string_view text, Grid& grid) {
  const std::vector<std::string_view> extents = split_text(text, 'x');
  if (extents.size() > kMostAxes) refuse(word, "has more than three axes");
  grid.axes = static_cast<int>(extents.size());
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    grid.extent[axis] = parse_position(word, extents[axis], 0);
    if (grid.extent[axis] < 1) refuse(word, "has an axis of less than 1");
  }
}

void read_word(std::string_view word, Term& term) {
  const std::size_t sign = word.find('=');
  const std::string_view name = word.substr(0, sign);
  if (word == "causal") {
    term.flat.d1 = std::min(term.flat.d1, 1);
  } else if (word == "clamped") {
    term.grid.clamp = Clamp::kRows;
  } else if (sign == std::string_view::npos || (name.size() > 2 && name != "axes")) {
    refuse_name(word);
  } else if (name == "axes") {
    read_axes(word, word.substr(sign + 1), term.grid);
  } else if (name.size() == 1 && std::string_view("qkd").find(name[0]) != std::string_view::npos) {
    read_range(word, name[0], word.substr(sign + 1), term.flat);
  } else if (name.size() == 2 && std::string_view("qkd").find(name[0]) != std::string_view::npos &&
             name[1] >= '0' && name[1] < '0' + term.grid.axes) {
    read_range(word, name[0], word.substr(sign + 1), term.grid.zone[name[1] - '0']);
  } else {
    refuse(word, "names no range of this term");
  }
}

std::vector<std::string_view> words_of(std::string_view line) {
  line = line.substr(0, line.find('#'));
  std::vector<std::string_view> words;
  for (std::size_t begin = line.find_first_not_of(" \t\r"); begin != std::string_view::npos;
       begin = line.find_first_not_of(" \t\r")) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
  // Words that others depend on come first; "causal" cuts what a range left.
  std::stable_partition(words.begin(), words.end(),
                        [](std::string_view word) { return word != "causal"; });
  std::stable_partition(words.begin(), words.end(),
                        [](std::string_view word) { return word.starts_with("axes="); });
  return words;
}

Term parse_term(const std::vector<std::string_view>& words, int seqlen_k) {
  Term term;
  for (const std::string_view word : words) read_word(word, term);
  if (term.grid.axes == 0 && term.grid.clamp != Clamp::kNone) {
    refuse("clamped", "is of a term without axes");
  }
  require_fitting_axes(term.grid, seqlen_k);
  return term;
}

/// "5x6".
std::string axes_text(const Grid& grid) {
  std::string text;
  for (int axis = 0; axis < grid.axes; ++axis) {
    text.append(axis == 0 ? "" : "x").append(std::to_string(grid.extent[axis]));
  }
  return text;
}

}  // namespace

void require_fitting_axes(const Grid& grid, int seqlen_k) {
  std::int64_t positions = 1;
  const std::string axes = axes_text(grid);
  for (int axis = grid.axes - 1; axis >= 0; --axis) {
    positions *= grid.extent[axis];
    if ((axis > 0 || grid.clamp != Clamp::kNone) && positions > kLongestSequence) {
      throw std::invalid_argument("the axes " + axes + " have more than " +
                                  std::to_string(kLongestSequence) + " positions");
    }
  }
  if (grid.clamp == Clamp::kNone) return;
  if (positions != seqlen_k) {
    throw std::invalid_argument("the axes " + axes + " have " + std::to_string(positions) +
                                " positions and seqlen_k is " + std::to_string(seqlen_k) +
                                "; allowed: axes of as many positions");
  }
  for (int axis = 0; axis < grid.axes; ++axis) {
    const std::int64_t window = std::int64_t{grid.zone[axis].d1} - grid.zone[axis].d0;
    if (window >= 1 && window <= grid.extent[axis]) continue;
    throw std::invalid_argument("a window of " + std::to_string(window) + " on an axis of " +
                                std::to_string(grid.extent[axis]) + "; allowed: 1 to " +
                                std::to_string(grid.extent[axis]));
  }
}

std::vector<Term> parse_zones(std::string_view text, int seqlen_k) {
  std::vector<Term> terms;
  int number = 0;
  for (const std::string_view line : split_text(text, '\n')) {
    ++number;
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) continue;
    try {
      terms.push_back(parse_term(words, seqlen_k));
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument("line " + std::to_string(number) + ": " + error.what());
    }
  }
  if (terms.empty()) throw std::invalid_argument("no line is a term" + std::string(kWords));
  return terms;
}

std::string zones_file_text(const std::string& path) {
  try {
    return read_file(path, Pipes::kRefused, kMostBytes);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument("'zones:" + path + "' " + error.what() +
                                "; allowed: a file of at most 1 MiB, a term a line");
  }
}

std::vector<Term> read_zones_file(const std::string& path, int seqlen_k) {
  const std::string text = zones_file_text(path);
  try {
    return parse_zones(text, seqlen_k);
  } catch (const std::invalid_argument& why) {
    throw std::invalid_argument("'zones:" + path + "': " + why.what());
  }
}

}  // namespace sparkbench
