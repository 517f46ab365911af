// page.html, as it was when the program was built.
#pragma once

#include <string_view>

namespace sparkbench {

/// With THE_RUN once, where the run's JSON belongs.
extern const std::string_view kPageTemplate;

}  // namespace sparkbench
