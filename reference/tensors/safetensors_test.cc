#include "reference/tensors/safetensors.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "kernels/testing/messages.h"

namespace sparkbench {
namespace {

namespace fs = std::filesystem;

StoredTensors read(const std::string& file) {
  std::istringstream stream(file);
  return read_safetensors_header(stream, file.size());
}

std::string reason_of(const std::string& file) {
  return message_of<std::invalid_argument>([&] { read(file); });
}

std::string length_prefix(std::uint64_t length) {
  return {reinterpret_cast<const char*>(&length), sizeof length};
}

std::string file_of(const std::string& header, std::size_t data_bytes) {
  return length_prefix(header.size()) + header + std::string(data_bytes, '\x11');
}

/// For a file with one entry, `fields`, named q.
std::string reason_of_entry(const std::string& fields, std::size_t data_bytes) {
  return reason_of(file_of("{\"q\":{" + fields + "}}", data_bytes));
}

const std::string kQ = R"("dtype":"F16","shape":[2,3],"data_offsets":[0,12])";

TEST(SafetensorsHeader, SaysWhatTensorsAreAndWhereTheyLie) {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]},)"
      R"("q":{)" +
      kQ +
      R"(},"nothing":{"dtype":"I64","shape":[3,0],"data_offsets":[16,16]},)"
      R"("one":{"dtype":"U8","shape":[],"data_offsets":[16,17]}}   )";
  const std::uint64_t data = 8 + header.size();
  const StoredTensors expected = {{"b", {"F32", {1}, data + 12, data + 16}},
                                  {"nothing", {"I64", {3, 0}, data + 16, data + 16}},
                                  {"one", {"U8", {}, data + 16, data + 17}},
                                  {"q", {"F16", {2, 3}, data, data + 12}}};
  EXPECT_EQ(read(file_of(header, 17)), expected);
}

TEST(SafetensorsHeader, OfNoTensorsIsAccepted) {
  EXPECT_TRUE(read(file_of("{}", 0)).empty());
  EXPECT_TRUE(read(file_of(R"({"__metadata__":{}})", 0)).empty());
}

TEST(SafetensorsHeader, LengthIsNotBelieved) {
  EXPECT_EQ(reason_of("1234567"),
            "7 bytes are too few: a safetensors file begins with 8 bytes of header length");
  EXPECT_EQ(reason_of(length_prefix(3) + "{}"),
            "a header of 3 bytes is announced, 2 follow; the file is truncated or lies");
  EXPECT_EQ(reason_of(length_prefix(~std::uint64_t{0}) + "{}"),
            "a header of 18446744073709551615 bytes is announced, 100000000 are allowed; is it a "
            "safetensors file?");
  EXPECT_EQ(reason_of(length_prefix(0)), "the header does not begin with '{'");
}

TEST(SafetensorsHeader, MustBeJsonAndNothingElse) {
  EXPECT_EQ(reason_of(file_of(" {}", 0)), "the header does not begin with '{'");
  EXPECT_EQ(reason_of(file_of("{\"q\"}", 0)), "the header is not JSON at its byte 5");
  EXPECT_EQ(reason_of(file_of("{} {", 0)), "the header is not JSON at its byte 4");
  EXPECT_EQ(reason_of(file_of("{\"\xff\":1}", 0)), "the header is not JSON at its byte 3");
  EXPECT_EQ(reason_of(file_of(std::string("{}\0junk", 7), 0)),
            "the header is not JSON at its byte 3");
}

TEST(SafetensorsHeader, MustHaveTheFormatsStructure) {
  EXPECT_EQ(reason_of(file_of("{\"q\":1}", 0)), "tensor 'q': a number is out of place");
  EXPECT_EQ(reason_of(file_of("{\"q\":[1]}", 0)), "tensor 'q': an array is out of place");
  EXPECT_EQ(reason_of(file_of("{\"__metadata__\":{\"a\":1}}", 0)),
            "__metadata__: a number is out of place");
  EXPECT_EQ(reason_of_entry("\"dtype\":\"F16\"", 0),
            "tensor 'q': needs dtype, shape and data_offsets");
  EXPECT_EQ(reason_of_entry("\"strides\":[1]", 0), "tensor 'q': unknown field 'strides'");
  EXPECT_EQ(reason_of_entry("\"dtype\":16", 0), "tensor 'q', dtype: a number is out of place");
  EXPECT_EQ(reason_of_entry("\"shape\":[[2]]", 0), "tensor 'q', shape: an array is out of place");
  EXPECT_EQ(reason_of_entry("\"shape\":[-1]", 0),
            "tensor 'q', shape: a negative number is out of place");
  for (const std::string number : {"1.0", "1e2", "18446744073709551616"}) {
    EXPECT_EQ(reason_of_entry("\"shape\":[" + number + "]", 0),
              "tensor 'q', shape: a number that is not whole or beyond 64 bits is out of place");
  }
  EXPECT_EQ(reason_of_entry(R"("dtype":"F16","shape":[],"data_offsets":[0,2,4])", 2),
            "tensor 'q': 3 data_offsets, needs 2");
}

TEST(SafetensorsHeader, NestedTooDeeplyIsRefused) {
  const std::string deep(1'000'000, '[');
  EXPECT_EQ(reason_of_entry("\"shape\":" + deep, 0), "tensor 'q', shape: an array is out of place");
  std::string shape = "1";
  for (int i = 0; i < 64; ++i) shape += ",1";
  EXPECT_EQ(reason_of_entry("\"shape\":[" + shape + "]", 0),
            "tensor 'q', shape: number 65 is out of place");
}

TEST(SafetensorsHeader, HasEveryNameOnce) {
  EXPECT_EQ(reason_of(file_of("{\"q\":{" + kQ + "},\"q\":{" + kQ + "}}", 12)),
            "tensor 'q': the name is there twice");
  EXPECT_EQ(reason_of_entry(R"("dtype":"F16","dtype":"F32")", 0),
            "tensor 'q': dtype is there twice");
  EXPECT_EQ(reason_of(file_of(R"({"__metadata__":{"a":"b","a":"b"}})", 0)),
            "__metadata__: a key is there twice");
}

TEST(SafetensorsHeader, SizesMustAgree) {
  EXPECT_EQ(reason_of_entry(R"("dtype":"F16","shape":[2,3],"data_offsets":[0,24])", 24),
            "tensor 'q': data_offsets span 24 bytes, shape [2, 3] of F16 makes 12");
  EXPECT_EQ(reason_of_entry(R"("dtype":"F16","shape":[2,3],"data_offsets":[12,0])", 12),
            "tensor 'q': data_offsets [12, 0] run backwards");
  EXPECT_EQ(reason_of_entry(R"("dtype":"F4","shape":[3],"data_offsets":[0,2])", 2),
            "tensor 'q': ends inside a byte");
  EXPECT_EQ(reason_of_entry(R"("dtype":"F17","shape":[3],"data_offsets":[0,2])", 2),
            "tensor 'q': unknown dtype 'F17'");
  EXPECT_EQ(
      reason_of_entry(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0])", 0),
      "tensor 'q': shape [4294967296, 4294967296] is more than any file holds");
}

TEST(SafetensorsHeader, TensorsMustFillTheFile) {
  EXPECT_EQ(reason_of_entry(kQ, 11),
            "tensor 'q': ends at byte 12 of 11 bytes of data; the file is truncated or lies");
  EXPECT_EQ(reason_of_entry(kQ, 13), "1 bytes at the end belong to no tensor");
  EXPECT_EQ(reason_of_entry(R"("dtype":"F16","shape":[1],"data_offsets":[4,6])", 6),
            "tensor 'q': 4 bytes before it belong to no tensor");
  EXPECT_EQ(reason_of(file_of("{\"a\":{" + kQ + "},\"b\":{" + kQ + "}}", 12)),
            "tensor 'b': overlaps with another tensor");
}

TEST(SafetensorsHeader, ReasonIsOnePrintableLineWhateverTheNames) {
  EXPECT_EQ(reason_of(file_of(R"({"a\n\u001b[31m\u00e9b":1})", 0)),
            "tensor 'a??[31m??b': a number is out of place");
  EXPECT_EQ(reason_of(file_of("{\"" + std::string(1000, 'x') + "\":1}", 0)),
            "tensor '" + std::string(64, 'x') + "...': a number is out of place");
}

TEST(SafetensorsFile, ReadsBackWithAlignedData) {
  const std::string bytes = "0123456789ab";
  const std::string file =
      safetensors_file({{"q", "F16", {2, 3}, bytes}, {"lse", "F32", {1}, "wxyz"}},
                       {{"kernel", "a \"quoted\" name"}});
  const StoredTensors tensors = read(file);
  ASSERT_EQ(tensors.size(), 2u);
  const StoredTensor& q = tensors.at("q");
  EXPECT_EQ(q.begin % 8, 0u);
  EXPECT_EQ(q.shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(file.substr(q.begin, q.end - q.begin), bytes);
  EXPECT_EQ(tensors.at("lse").dtype, "F32");
  EXPECT_EQ(file.substr(tensors.at("lse").begin), "wxyz");
}

TEST(SafetensorsFile, ThatNobodyCouldReadIsNotWritten) {
  EXPECT_THROW(safetensors_file({{"q", "F16", {2}, "abc"}}, {}), std::invalid_argument);
  EXPECT_THROW(safetensors_file({{"q", "F16", {1}, "ab"}, {"q", "F16", {1}, "ab"}}, {}),
               std::invalid_argument);
  EXPECT_THROW(safetensors_file({{"__metadata__", "F16", {1}, "ab"}}, {}), std::invalid_argument);
}

std::vector<fs::path> corpus(const char* verdict) {
  std::vector<fs::path> files;
  for (const auto& entry :
       fs::directory_iterator(fs::path(SPARKBENCH_SAFETENSORS_CORPUS) / verdict)) {
    files.push_back(entry.path());
  }
  return files;
}

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(SafetensorsCorpus, IsJudgedAsItsFoldersSay) {
  const auto accepted = corpus("accepted"), refused = corpus("refused");
  ASSERT_GE(accepted.size(), 1u);
  ASSERT_GE(refused.size(), 1u);
  for (const fs::path& path : accepted) EXPECT_EQ(reason_of(bytes_of(path)), "") << path;
  for (const fs::path& path : refused) EXPECT_NE(reason_of(bytes_of(path)), "") << path;
}

}  // namespace
}  // namespace sparkbench
