// What a thing has, a name and a text a line.
#pragma once

#include <span>
#include <string>

#include "results/render/text_table.h"

namespace sparkbench {

struct Fact {
  std::string name, text;
};

/// "  name   text" a line each, the texts below each other; names take at least `name_width`. One
/// that is too long for the view goes on below where it began, or, where names leave it too little
/// room, indented by four.
std::string format_facts(std::span<const Fact> facts, const TableView& view, int name_width = 0);

}  // namespace sparkbench
