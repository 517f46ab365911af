// For tests: a sparkbench in its own process, whose cases may be faulty (test_faults_main.cc).
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "harness/e2e/test_program.h"
#include "results/store/stored_run.h"
#include "results/store/test_folder.h"

namespace sparkbench {

/// Started with the space-separated arguments. Its folder gets its output, its log, and the files
/// that the arguments name. "KIND:GLOB" is the fault.
class TestProcess {
 public:
  TestProcess(const TemporaryFolder& folder, const std::string& arguments,
              const std::string& fault = "")
      : folder_(folder.path()), pid_(fork()) {
    if (pid_ == 0) exec(arguments, fault);
  }
  ~TestProcess() {
    if (pid_ > 0) wait_after(SIGKILL);
  }
  TestProcess(const TestProcess&) = delete;
  TestProcess& operator=(const TestProcess&) = delete;

  pid_t pid() const { return pid_; }

  /// Its exit status, or minus the signal that ended it.
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  int wait_after(int signal) {
    kill(pid_, signal);
    return wait();
  }

  std::string out() const { return text_of_file(folder_ / "out"); }
  std::string err() const { return text_of_file(folder_ / "err"); }

 private:
  [[noreturn]] void exec(const std::string& arguments, const std::string& fault) const {
    setenv("SPARKBENCH_TEST_LOG", (folder_ / "log").c_str(), 1);
    setenv("SPARKBENCH_TEST_FAULT", fault.c_str(), 1);
    const std::string command = "ulimit -c 0; cd '" + folder_.string() + "' && exec '" +
                                SPARKBENCH_FAULTY "' " + arguments + " > out 2> err";
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }

  std::filesystem::path folder_;
  pid_t pid_;
};

inline int run_to_end(const TemporaryFolder& folder, const std::string& arguments,
                      const std::string& fault = "") {
  return TestProcess(folder, arguments, fault).wait();
}

/// A case that began: the process that ran it, and its id.
struct BegunCase {
  pid_t pid;
  std::string id;
};

inline std::vector<BegunCase> begun_cases(const TemporaryFolder& folder) {
  std::ifstream log(folder.path() / "log");
  std::vector<BegunCase> cases;
  for (BegunCase each; log >> each.pid >> each.id;) cases.push_back(each);
  return cases;
}

/// Waits until the latest case that began has `part` in its id; returns it.
inline BegunCase wait_for_case(const TemporaryFolder& folder, const std::string& part) {
  for (int i = 0; i < 2000; ++i) {
    const std::vector<BegunCase> cases = begun_cases(folder);
    if (!cases.empty() && contains(cases.back().id, part)) return cases.back();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << "no case with " << part << " began";
  return {0, ""};
}

/// Whether the process ends within a few seconds.
inline bool ends_soon(pid_t pid) {
  for (int i = 0; i < 500; ++i) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
    std::string number, name, state;
    if (!(status >> number >> name >> state) || state == "Z") return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// The stored run of folder "run".
inline RunRecord stored_run(const TemporaryFolder& folder) {
  return read_stored_run(folder.path() / "run");
}

inline const CaseRecord& find_case(const RunRecord& run, const std::string& part) {
  static const CaseRecord none;
  for (const CaseRecord& record : run.cases) {
    if (contains(record.id, part)) return record;
  }
  ADD_FAILURE() << "no case has " << part << " in its id";
  return none;
}

inline int count(const RunRecord& run, Status status) {
  return static_cast<int>(
      std::count_if(run.cases.begin(), run.cases.end(),
                    [&](const CaseRecord& record) { return record.status == status; }));
}

/// Six small cases: two problems, three kernels.
inline const std::string kSmallSweep =
    "sweep --device emulated-v100 --kernel unfused-fp16,volta-fp16acc,volta-fp32acc --headdim 64 "
    "--seqlen 33,65 --causal false --dropout 0.1 --heads 1 --batch 1 ";

}  // namespace sparkbench
