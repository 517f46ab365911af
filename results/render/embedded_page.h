// page.html at the time of the build.
#pragma once

#include <string_view>

namespace sparkbench {

/// Contains THE_RUN once, as the placeholder of the run's JSON.
extern const std::string_view kPageTemplate;

}  // namespace sparkbench
