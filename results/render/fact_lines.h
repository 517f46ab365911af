// Facts about a thing: a name and a text per line.
#pragma once

#include <span>
#include <string>

#include "results/render/text_table.h"

namespace sparkbench {

struct Fact {
  std::string name, text;
};

/// "  name   text", one per line, with aligned texts. Names take at least `name_width` columns. A
/// text that is too long continues below its start or, if the names leave too little room, indented
/// by four.
std::string format_facts(std::span<const Fact> facts, const TableView& view, int name_width = 0);

}  // namespace sparkbench
