// A run as one page for a browser: a table that sorts and filters, and figures, with no other file.
#pragma once

#include <string>

#include "results/record/run_record.h"

namespace sparkbench {

/// page.html with the run in it, as JSON. What others wrote in the run is text there and nothing
/// else. The page keeps how it is sorted and filtered behind the `#` of its address.
std::string format_html_page(const RunRecord& run);

}  // namespace sparkbench
