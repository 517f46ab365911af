// For tests: code with control bits, written by hand.
#pragma once

#include <fmt/core.h>

#include <filesystem>
#include <string>
#include <vector>

#include "harness/model/flow/warp_path.h"
#include "harness/model/sass/sass_listing.h"
#include "harness/model/sm/timed_code.h"
#include "results/store/test_folder.h"

namespace sparkbench {

/// "B0----- R- W1 - S04 | IADD3 R1, R2, R3, R4", as format_control() writes it; "S04 | ..." waits
/// for nothing, holds nothing and prefers its own warp. Reuse flags are those of the text.
struct CodeLine {
  std::string control, text;
};

inline std::uint32_t reuse_flags(const SassInstruction& instruction) {
  std::uint32_t flags = 0;
  for (std::size_t i = 1; i < instruction.operands.size(); ++i) {
    if (instruction.operands[i].find(".reuse") != std::string::npos) flags |= 1u << (i - 1);
  }
  return flags;
}

inline std::uint32_t parse_control(const std::string& text) {
  std::uint32_t control = 7u << 5 | 7u << 8;
  const std::size_t stall = text.rfind('S');
  control |= static_cast<std::uint32_t>(std::stoi(text.substr(stall + 1)));
  if (text.find('Y') == std::string::npos) control |= 1u << 4;
  const auto set_scoreboard = [&](char name, int shift) {
    const std::size_t at = text.find(name);
    if (at == std::string::npos || text[at + 1] == '-') return;
    control &= ~(7u << shift);
    control |= static_cast<std::uint32_t>(text[at + 1] - '0') << shift;
  };
  set_scoreboard('W', 5);
  set_scoreboard('R', 8);
  if (!text.starts_with('B')) return control;
  for (int i = 0; i < kScoreboards; ++i) {
    if (text[1 + i] != '-') control |= 1u << (11 + i);
  }
  return control;
}

/// A function for sm_70, the first instruction at address 0.
inline SassFunction code_of(const std::vector<CodeLine>& lines) {
  std::string listing = "code for sm_70\n Function : f\n";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    listing += fmt::format("/*{:04x}*/ {} ;\n", 16 * i, lines[i].text);
  }
  SassFunction function = parse_sass_listing(listing).front();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    SassInstruction& instruction = function.instructions[i];
    instruction.control = parse_control(lines[i].control) | reuse_flags(instruction) << 17;
  }
  return function;
}

/// Each instruction of the function once.
inline WarpPath straight_path(const SassFunction& function) {
  WarpPath path;
  for (int i = 0; i < static_cast<int>(function.instructions.size()); ++i) path.push_back({i});
  return path;
}

/// A function of a listing in testdata, which validation/*.cu were compiled into.
inline SassFunction validation_function(const std::string& file, const std::string& symbol) {
  const auto path = std::filesystem::path(SPARKBENCH_TESTDATA) / (file + ".sass");
  for (SassFunction& function : parse_sass_listing(text_of_file(path))) {
    if (function.symbol == symbol) return std::move(function);
  }
  throw std::runtime_error(symbol + " is not in " + path.string());
}

}  // namespace sparkbench
