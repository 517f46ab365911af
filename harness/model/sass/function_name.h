// What a function of machine code that is no kernel of ours is called in reports.
#pragma once

#include <string>
#include <string_view>

namespace sparkbench {

/// `symbol` as C++ spells it; itself when it is no mangled name.
std::string demangled(const std::string& symbol);

/// `function`, demangled, without its return type, namespaces and parameters, for tables.
std::string short_name(std::string_view function);

}  // namespace sparkbench
