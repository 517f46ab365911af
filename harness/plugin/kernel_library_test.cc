#include "harness/plugin/kernel_library.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "kernels/testing/messages.h"
#include "results/record/case_id.h"
#include "results/store/test_folder.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

const std::string kPlugins = SPARKBENCH_PLUGINS;
const std::string kNaive = kPlugins + "/libnaive_host.so";

/// A table with all that is required.
sparkbench_kernel small_table() {
  sparkbench_kernel table{};
  table.struct_bytes = sizeof table;
  table.name = "mine";
  table.prepare = [](const sparkbench_problem*, void*, void*, void**) -> int32_t { return 0; };
  table.forward = [](void*, const sparkbench_tensors*, void*) -> int32_t { return 0; };
  return table;
}

std::string why_refused(const sparkbench_kernel* table) {
  return message_of<UsageError>([&] { checked_kernels("./x.so", {{table, "./x.so:mine", ""}}); });
}

template <class Change>
std::string why_refused_with(Change change) {
  sparkbench_kernel table = small_table();
  change(table);
  return why_refused(&table);
}

std::string why_not_loaded(const std::string& item) {
  return message_of<UsageError>([&] { load_kernel_library(item); });
}

TEST(KernelLibrary, IsAnItemWithASlashOrThatEndsInSo) {
  for (const char* item : {"volta-*", "volta-fp32acc", "cudnn", "*", "module:function", "a.so.b"}) {
    EXPECT_FALSE(load_kernel_library(item).has_value()) << item;
  }
  for (const char* item : {"./none", "none.so", "none.so:fast", "a/none:fast"}) {
    EXPECT_TRUE(contains(why_not_loaded(item), std::string("--kernel: '") + item + "': ")) << item;
  }
}

TEST(KernelLibrary, GivesItsKernelsAndTheItemsThatNameThem) {
  const auto kernels = load_kernel_library(kNaive);
  ASSERT_TRUE(kernels.has_value());
  ASSERT_EQ(kernels->size(), 1u);
  EXPECT_STREQ(kernels->front().table->name, "naive-host");
  EXPECT_EQ(kernels->front().spec, kNaive + ":naive-host");
  const auto one = load_kernel_library(kNaive + ":naive-host");
  EXPECT_EQ(one.value().front().table, kernels->front().table);
  EXPECT_EQ(one->front().spec, kNaive + ":naive-host");
  EXPECT_GT(load_kernel_library(kPlugins + "/libtest_faulty_kernels.so").value().size(), 10u);
}

TEST(KernelLibrary, IsFoundInTheCurrentFolderWithoutASlash) {
  const TemporaryFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::copy(kNaive, folder.path() / "libcopy.so");
  std::filesystem::current_path(folder.path());
  EXPECT_EQ(load_kernel_library("libcopy.so").value().front().spec, "libcopy.so:naive-host");
  std::filesystem::current_path(before);
}

TEST(KernelLibrary, SaysWhyItIsNotLoaded) {
  const TemporaryFolder folder;
  const std::string text = (folder.path() / "text.so").string();
  std::ofstream(text) << "no library";
  EXPECT_TRUE(contains(why_not_loaded("./no/such.so"), "./no/such.so")) << why_not_loaded("./n.so");
  EXPECT_TRUE(contains(why_not_loaded(folder.path().string() + "/"), "--kernel: '"));
  EXPECT_TRUE(contains(why_not_loaded(text), "is not a shared library that can be loaded here: "))
      << why_not_loaded(text);
  EXPECT_TRUE(contains(why_not_loaded(kPlugins + "/libtest_no_entry.so"),
                       "exports no sparkbench_kernel_entry()"));
  EXPECT_TRUE(
      contains(why_not_loaded(kPlugins + "/libtest_other_abi.so"), "returns no kernel for ABI 1"));
  EXPECT_EQ(why_not_loaded(kNaive + ":naive-hots"),
            "--kernel: " + kNaive +
                ": unknown 'naive-hots', did you mean 'naive-host'?; allowed: naive-host");
}

TEST(CheckedKernels, CopyNamesAndHashTheFile) {
  sparkbench_kernel table = small_table();
  std::string name = "mine", summary = "two\nlines", version = "1.2";
  table.name = name.c_str();
  table.summary = summary.c_str();
  table.version = version.c_str();
  const auto kernels = checked_kernels(kNaive, {{&table, kNaive + ":mine", kNaive}});
  name = summary = version = "gone";
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].name, "mine");
  EXPECT_EQ(kernels[0].summary, "two lines");
  EXPECT_EQ(kernels[0].version, "1.2");
  EXPECT_EQ(kernels[0].file_name, "libnaive_host.so");
  std::ifstream file(kNaive, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(kernels[0].file_hash, to_hex(fnv1a(bytes)));
}

TEST(CheckedKernels, MayLackAllThatIsOptional) {
  const sparkbench_kernel table = small_table();
  const auto kernels = checked_kernels("module:mine", {{&table, "module:mine", ""}});
  EXPECT_EQ(kernels[0].summary, "");
  EXPECT_FALSE(kernels[0].version.has_value());
  EXPECT_FALSE(kernels[0].file_hash.has_value());
}

TEST(CheckedKernels, MayKnowMoreThanThisHeader) {
  struct {
    sparkbench_kernel known = small_table();
    void* later = nullptr;
  } table;
  table.known.struct_bytes = sizeof table;
  EXPECT_EQ(why_refused(&table.known), "");
}

TEST(CheckedKernels, NameTheFieldThatIsWrong) {
  using Table = sparkbench_kernel;
  EXPECT_EQ(why_refused(nullptr), "--kernel: './x.so': kernel 0: its table is null");
  EXPECT_TRUE(contains(why_refused_with([](Table& t) { t.struct_bytes = 8; }),
                       "kernel 0: struct_bytes is 8; allowed: sizeof(sparkbench_kernel)"));
  EXPECT_TRUE(contains(why_refused_with([](Table& t) { t.name = nullptr; }), "name is null"));
  EXPECT_TRUE(
      contains(why_refused_with([](Table& t) { t.prepare = nullptr; }), "mine: prepare is null"));
  EXPECT_TRUE(
      contains(why_refused_with([](Table& t) { t.forward = nullptr; }), "mine: forward is null"));
  EXPECT_TRUE(contains(why_refused_with([](Table& t) { t.backend = 7; }), "mine: backend is 7"));
  EXPECT_TRUE(
      contains(why_refused_with([](Table& t) { t.accumulator = -1; }), "mine: accumulator is -1"));
}

TEST(CheckedKernels, RefuseNamesThatCouldNotBeTold) {
  for (const char* name : {"", "Mine", "1st", "a b", "a/b", "a,b", "a*", "\xc3\xa4"}) {
    EXPECT_TRUE(
        contains(why_refused_with([&](sparkbench_kernel& t) { t.name = name; }), "is malformed"))
        << name;
  }
  for (const char* name : {"volta-fp32acc", "hopper-fp32acc", "cudnn", "unfused-fp16"}) {
    EXPECT_TRUE(contains(why_refused_with([&](sparkbench_kernel& t) { t.name = name; }),
                         "is that of one of sparkbench's own kernels"))
        << name;
  }
  const sparkbench_kernel table = small_table();
  EXPECT_EQ(message_of<UsageError>([&] {
              checked_kernels("./x.so", {{&table, "./x.so:mine", ""}, {&table, "./x.so:mine", ""}});
            }),
            "--kernel: './x.so': two of its kernels are called 'mine'");
}

}  // namespace
}  // namespace sparkbench
