// A run as JUnit's XML, which CI systems show: a test suite a kernel, a test a case.
#pragma once

#include <string>

#include "results/record/run_record.h"

namespace sparkbench {

/// An incorrect case is a failure, one that failed to run an error; a skipped one is skipped. Each
/// says why, and the command that repeats it. A run that is not complete has one more test, which
/// is an error. The time of a test is all that its case took.
std::string run_to_junit(const RunRecord& run);

}  // namespace sparkbench
