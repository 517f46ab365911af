#include "harness/model/sass/function_name.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace sparkbench {

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : symbol;
}

std::string short_name(std::string_view function) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  std::string name(function.substr(0, function.find('<')));
  for (std::size_t at = name.find(kAnonymous); at != std::string::npos;
       at = name.find(kAnonymous)) {
    name.erase(at, kAnonymous.size());
  }
  name.erase(std::min(name.find('('), name.size()));
  const std::size_t begin = name.find_last_of(": ");
  const std::size_t arguments = std::min(function.find('<'), function.size());
  const std::size_t close = function.rfind('>');
  if (begin != std::string::npos) name.erase(0, begin + 1);
  if (close != std::string_view::npos && close > arguments) {
    name += function.substr(arguments, close - arguments + 1);
  }
  return name;
}

}  // namespace sparkbench
