#include "reference/tensors/safetensors_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

namespace sparkbench {
namespace {

using Json = nlohmann::json;
using Numbers = std::vector<std::uint64_t>;

constexpr std::string_view kMetadataName = "__metadata__";
constexpr std::size_t kMaxNumbers = 64;  // in an array; the format does not limit a shape

[[noreturn]] void reject(const std::string& reason) { throw std::invalid_argument(reason); }

/// The fields of an entry read so far.
struct Entry {
  std::optional<std::string> dtype;
  std::optional<Numbers> shape, data_offsets;
};

/// Receives the parser's events. At most three levels are open: the header's object, an entry's
/// object, and an array of numbers.
class HeaderHandler final : public nlohmann::json_sax<Json> {
 public:
  StoredTensors tensors() && { return std::move(tensors_); }

  bool start_object(std::size_t /*elements*/) override {
    if (level_ == Level::kOutside) {
      level_ = Level::kHeader;
    } else if (level_ == Level::kHeader) {
      level_ = is_metadata() ? Level::kMetadata : Level::kTensor;
    } else {
      refuse("an object");
    }
    return true;
  }

  bool key(std::string& text) override {
    if (level_ == Level::kHeader) {
      name_ = text;
      entry_ = {};
      if (!names_.insert(name_).second) reject(where() + ": the name is there twice");
    } else if (level_ == Level::kMetadata) {
      if (!metadata_keys_.insert(text).second) reject(where() + ": a key is there twice");
    } else {
      begin_field(text);
    }
    return true;
  }

  bool end_object() override {
    if (level_ == Level::kTensor) end_tensor();
    level_ = level_ == Level::kHeader ? Level::kOutside : Level::kHeader;
    return true;
  }

  bool start_array(std::size_t /*elements*/) override {
    if (level_ != Level::kTensor || field_ == "dtype") refuse("an array");
    numbers_ = &(field_ == "shape" ? entry_.shape : entry_.data_offsets).emplace();
    level_ = Level::kNumbers;
    return true;
  }

  bool end_array() override {
    level_ = Level::kTensor;
    return true;
  }

  bool number_unsigned(std::uint64_t value) override {
    if (level_ != Level::kNumbers) refuse("a number");
    if (numbers_->size() == kMaxNumbers) refuse(fmt::format("number {}", kMaxNumbers + 1));
    numbers_->push_back(value);
    return true;
  }

  bool string(std::string& text) override {
    if (level_ == Level::kMetadata) return true;
    if (level_ != Level::kTensor || field_ != "dtype") refuse("a string");
    entry_.dtype = std::move(text);
    return true;
  }

  bool null() override { refuse("null"); }
  bool boolean(bool /*value*/) override { refuse("a boolean"); }
  bool number_integer(std::int64_t /*value*/) override { refuse("a negative number"); }
  bool number_float(double /*value*/, const std::string& /*text*/) override {
    refuse("a number that is not whole or beyond 64 bits");
  }
  bool binary(Json::binary_t& /*value*/) override { refuse("binary data"); }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const Json::exception& /*error*/) override {
    reject(fmt::format("the header is not JSON at its byte {}", position));
  }

 private:
  enum class Level { kOutside, kHeader, kTensor, kNumbers, kMetadata };

  bool is_metadata() const { return name_ == kMetadataName; }

  std::string where() const {
    if (level_ == Level::kOutside) return "the header";
    return is_metadata() ? std::string(kMetadataName) : "tensor " + quoted_for_message(name_);
  }

  [[noreturn]] void refuse(std::string_view found) const {
    const bool is_in_field = level_ == Level::kTensor || level_ == Level::kNumbers;
    reject(
        fmt::format("{}{}: {} is out of place", where(), is_in_field ? ", " + field_ : "", found));
  }

  void begin_field(const std::string& text) {
    const bool is_there_twice = (text == "dtype" && entry_.dtype) ||
                                (text == "shape" && entry_.shape) ||
                                (text == "data_offsets" && entry_.data_offsets);
    if (is_there_twice) reject(fmt::format("{}: {} is there twice", where(), text));
    if (text != "dtype" && text != "shape" && text != "data_offsets") {
      reject(fmt::format("{}: unknown field {}", where(), quoted_for_message(text)));
    }
    field_ = text;
  }

  void end_tensor() {
    if (!entry_.dtype || !entry_.shape || !entry_.data_offsets) {
      reject(where() + ": needs dtype, shape and data_offsets");
    }
    if (entry_.data_offsets->size() != 2) {
      reject(fmt::format("{}: {} data_offsets, needs 2", where(), entry_.data_offsets->size()));
    }
    const Numbers& offsets = *entry_.data_offsets;
    tensors_[name_] = {std::move(*entry_.dtype), std::move(*entry_.shape), offsets[0], offsets[1]};
  }

  Level level_ = Level::kOutside;
  std::set<std::string> names_, metadata_keys_;
  std::string name_;   // the open entry's name
  std::string field_;  // the open tensor's field
  Entry entry_;
  Numbers* numbers_ = nullptr;  // the open array
  StoredTensors tensors_;
};

}  // namespace

StoredTensors parse_safetensors_json(std::string_view text) {
  if (text.empty() || text.front() != '{') reject("the header does not begin with '{'");
  // The parser ends the text at a zero byte and would not read past it.
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    reject(fmt::format("the header is not JSON at its byte {}", zero + 1));
  }
  HeaderHandler handler;
  Json::sax_parse(text, &handler);
  return std::move(handler).tensors();
}

}  // namespace sparkbench
