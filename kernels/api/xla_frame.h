// What a handler reads of a call from XLA, checked.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kernels/api/xla_ffi.h"

namespace sparkbench::xla {

/// Row-major, as XLA lays buffers out unless it is told otherwise.
struct Array {
  void* data;
  std::span<const std::int64_t> dims;
};

/// Throws std::invalid_argument that names what is missing or is of another type than asked for.
class Frame {
 public:
  explicit Frame(const CallFrame& frame) : frame_(frame) {}

  /// By index among arguments, or results.
  Array argument(int index, int dtype) const {
    return array(frame_.args, "argument", index, dtype);
  }
  Array result(int index, int dtype) const { return array(frame_.rets, "result", index, dtype); }
  bool has_argument(int index) const { return index < frame_.args.size; }

  std::string text(std::string_view name) const;
  /// Empty if the call has none.
  std::string text_if_any(std::string_view name) const;
  std::int32_t number(std::string_view name) const { return scalar<std::int32_t>(name, kS32); }
  float real(std::string_view name) const { return scalar<float>(name, kF32); }

  /// The stream of the call's device. Throws std::runtime_error with XLA's message.
  void* stream() const;

 private:
  static Array array(const Buffers& all, const char* what, int index, int dtype);
  /// Null if it is missing, or has another type.
  const void* find_attribute(std::string_view name, int type) const;
  const void* attribute(std::string_view name, int type) const;
  template <class T>
  T scalar(std::string_view name, int dtype) const {
    const auto& found = *static_cast<const Scalar*>(attribute(name, kScalarAttr));
    check_type(name, found.dtype, dtype);
    return *static_cast<const T*>(found.value);
  }
  static void check_type(std::string_view name, int dtype, int wanted);

  const CallFrame& frame_;
};

/// Memory of a call's device that XLA gives and takes back in the order of its stream, aligned to
/// 256 bytes.
class Scratch {
 public:
  /// Throws ApiError with XLA's message if there is none.
  Scratch(const CallFrame& frame, std::size_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void* data() const { return data_; }

 private:
  const CallFrame& frame_;
  std::size_t allocated_bytes_ = 0;
  void *allocated_ = nullptr, *data_ = nullptr;
};

/// Answers XLA's question for the handler's version; whether it was that. Throws
/// std::invalid_argument for an interface that is unlike xla_ffi.h.
bool answers_metadata(const CallFrame& frame);

/// An error of the frame's XLA; `errc` is an ErrorCode.
Error* make_error(const CallFrame& frame, int errc, const char* message);

}  // namespace sparkbench::xla
