// For tests: sparkbench with faulty cases. SPARKBENCH_TEST_FAULT is KIND:GLOB: the kind of fault,
// and the ids of the cases that have it. SPARKBENCH_TEST_LOG is a file that gets a line "PID ID"
// for every case that begins. The kind "start" kills the first workers before they send anything;
// the text after the colon is their number.
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/cli/program.h"
#include "harness/cli/standard_streams.h"
#include "harness/run/workers/test_broken_context.h"
#include "harness/run/workers/worker_process.h"
#include "sweeps/names.h"

namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

void go_wrong(const std::string& kind) {
  std::cerr << "about to " << kind << "\nfor a test" << std::endl;
  if (kind == "abort") std::abort();
  if (kind == "segv") std::raise(SIGSEGV);
  if (kind == "exit") std::exit(7);
  if (kind == "throw") throw std::runtime_error("cudaErrorIllegalAddress: for a test");
  while (kind == "hang") pause();
  if (kind == "pause") sleep(1);
  if (kind == "exhaust") throw std::bad_alloc();
  if (kind == "break-context") sparkbench::break_cuda_context();
  if (kind == "tear") {  // dies in the middle of a message
    send(sparkbench::kWorkerSocket, "R\xff\x00\x00", 4, 0);
    _exit(0);
  }
}

void before_case(const std::string& case_id) {
  const std::string log = environment("SPARKBENCH_TEST_LOG");
  if (!log.empty()) std::ofstream(log, std::ios::app) << fmt::format("{} {}\n", getpid(), case_id);
  const std::string fault = environment("SPARKBENCH_TEST_FAULT");
  const std::size_t colon = fault.find(':');
  if (colon == std::string::npos) return;
  if (sparkbench::glob_matches(fault.substr(colon + 1), case_id)) go_wrong(fault.substr(0, colon));
}

void die_at_start(const std::vector<std::string>& argv) {
  const std::string fault = environment("SPARKBENCH_TEST_FAULT"), kind = "start:";
  const bool is_worker = std::find(argv.begin(), argv.end(), "--worker") != argv.end();
  if (!is_worker || !fault.starts_with(kind)) return;
  const std::string starts = environment("SPARKBENCH_TEST_LOG") + ".starts";
  std::ofstream(starts, std::ios::app) << '.' << std::flush;
  if (std::filesystem::file_size(starts) <= std::stoul(fault.substr(kind.size()))) {
    std::raise(SIGKILL);
  }
}

}  // namespace

int main(int argc, char** argv) {
  sparkbench::open_missing_standard_streams();
  die_at_start(std::vector<std::string>(argv, argv + argc));
  return sparkbench::run_program(std::vector<std::string>(argv, argv + argc), std::cout, std::cerr,
                                 {"/proc/self/exe", before_case});
}
