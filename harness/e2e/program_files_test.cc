// Files that the program reads: anything but a file is rejected at once, and a file that a run
// reads again must have the same contents.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <ostream>

#include "harness/e2e/test_program.h"

namespace sparkbench {
namespace {

const std::string kFilesSweep =
    "sweep --device emulated-v100 --headdim 64 --heads 1 --dropout 0 -q ";

/// The arguments before the file's name.
struct Reader {
  const char* name;
  const char* arguments;
};

void PrintTo(const Reader& reader, std::ostream* out) { *out << reader.arguments; }

class FileReader : public testing::TestWithParam<Reader> {
 protected:
  static ProgramResult read(const std::string& path) {
    return run_sparkbench(GetParam().arguments + path);
  }
};

TEST_P(FileReader, RefusesWhatIsNoFile) {
  const TemporaryFolder folder;
  for (const std::string& path : unreadable_paths(folder)) {
    const ProgramResult result = read(path);
    EXPECT_EQ(result.exit_code, 2) << path << ": " << result.err;
    EXPECT_TRUE(contains(result.err, path)) << result.err;
    EXPECT_EQ(result.out, "");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Flags, FileReader,
    testing::Values(
        Reader{"Lengths", "sweep --device emulated-v100 --lengths file:"},
        Reader{"Zones", "sweep --device emulated-v100 --headdim 64 --seqlen 64 --mask zones:"},
        Reader{"ZonesOfRun", "run --device emulated-v100 --headdim 64 --seqlen 64 --mask zones:"},
        Reader{"ZonesOfMask", "mask --seqlen 64 zones:"}, Reader{"Config", "sweep --config "},
        Reader{"Tensors", "run --device emulated-v100 --tensors "},
        Reader{"Layer", "encoder --device emulated-v100 --tensors "},
        Reader{"Vectors", "check-arithmetic --profile volta --vectors "},
        Reader{"Functions", "check-arithmetic --profile sfu --vectors "},
        Reader{"Report", "report "}, Reader{"Merge", "merge --json - "},
        Reader{"Resume", "sweep --resume "}),
    [](const auto& reader) { return std::string(reader.param.name); });

/// A file, and a sweep that reads it.
class FileReadAgain : public testing::Test {
 protected:
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  std::string lengths() const {
    return kFilesSweep + "--mask causal --lengths file:" + path_ + " ";
  }
  std::string zones() const { return kFilesSweep + "--seqlen 40 --mask zones:" + path_ + " "; }
  std::string run(const std::string& name) const { return path_in(folder_, name); }

  void expect_refused_after_change(const std::string& sweep, const std::string& before,
                                   const std::string& after, const std::string& says) const {
    write(before);
    ASSERT_EQ(run_sparkbench(sweep + "--out " + run("run")).exit_code, 0);
    const std::string journal = text_of_file(run("run/cases.jsonl"));
    write(after);
    for (const std::string flags : {"", "--retry-failed", "--salvage"}) {
      const ProgramResult again = run_sparkbench("sweep --resume " + run("run") + " " + flags);
      EXPECT_EQ(again.exit_code, 2);
      EXPECT_TRUE(contains(again.err, "'" + path_ + "' of --")) << again.err;
      EXPECT_TRUE(contains(again.err, says)) << again.err;
    }
    EXPECT_EQ(text_of_file(run("run/cases.jsonl")), journal);
    write(before);
    EXPECT_EQ(run_sparkbench("sweep --resume " + run("run")).exit_code, 0);
    write(after);
    const ProgramResult both = run_sparkbench("sweep --allow file --resume " + run("run"));
    EXPECT_EQ(both.exit_code, 0) << both.err;
  }

  TemporaryFolder folder_;
  const std::string path_ = path_in(folder_, "file");
};

TEST_F(FileReadAgain, OfLengthsIsComparedByResume) {
  expect_refused_after_change(lengths(), "5\n9\n", "5\n11\n",
                              "it was 2 sequences of 14 rows and 14 keys (hash");
}

TEST_F(FileReadAgain, OfZonesIsComparedByResume) {
  expect_refused_after_change(zones(), "d=-7:1\n", "d=-3:1\n",
                              "of --mask has changed: it was of hash ");
}

TEST_F(FileReadAgain, MayChangeItsComments) {
  write("5\n9\n");
  ASSERT_EQ(run_sparkbench(lengths() + "--out " + run("run")).exit_code, 0);
  write("# the same\n5\n9\n");
  EXPECT_EQ(run_sparkbench("sweep --resume " + run("run")).exit_code, 0);
}

TEST_F(FileReadAgain, IsComparedByMerge) {
  for (const std::string& sweep : {lengths() + "--pass fwd,bwd ", zones() + "--headdim 24,64 "}) {
    const bool is_lengths = contains(sweep, "--lengths");
    const TemporaryFolder parts;
    write(is_lengths ? "5\n9\n" : "d=-7:1\n");
    const std::string a = path_in(parts, "a"), b = path_in(parts, "b"), m = path_in(parts, "m");
    ASSERT_EQ(run_sparkbench(sweep + "--shard 1/2 --out " + a).exit_code, 0);
    write(is_lengths ? "5\n11\n" : "d=-3:1\n");
    ASSERT_EQ(run_sparkbench(sweep + "--shard 2/2 --out " + b).exit_code, 0);
    const ProgramResult merged = run_sparkbench("merge " + a + " " + b + " -o " + m);
    expect_refused(merged, 2, "'" + path_ + "' of --");
    EXPECT_FALSE(std::filesystem::exists(m));
    const ProgramResult compared = run_sparkbench("diff " + a + " " + b);
    expect_refused(compared, 2, "--allow file");
  }
}

/// Another name for the file, so that only the grids show that the shards belong to two sweeps.
TEST_F(FileReadAgain, IsComparedByMergeUnderAnyName) {
  write("5\n9\n");
  const std::string other = path_in(folder_, "other");
  std::ofstream(other) << "5\n11\n";
  const std::string sweep = kFilesSweep + "--mask causal --pass fwd,bwd --lengths file:";
  ASSERT_EQ(run_sparkbench(sweep + path_ + " --shard 1/2 --out " + run("a")).exit_code, 0);
  ASSERT_EQ(run_sparkbench(sweep + other + " --shard 2/2 --out " + run("b")).exit_code, 0);
  expect_refused(run_sparkbench("merge " + run("a") + " " + run("b") + " -o " + run("m")), 2,
                 "are shards 1/2 and 2/2 of different grids");
}

}  // namespace
}  // namespace sparkbench
