#include "kernels/api/xla_frame.h"

#include <memory>
#include <stdexcept>

#include "kernels/api/status.h"

namespace sparkbench::xla {
namespace {

constexpr int kMajorVersion = 0, kFirstMinorVersion = 1;
// XLA refuses to align further than this, whatever its allocators do.
constexpr std::size_t kMostAlignment = 16, kWorkspaceAlignment = 256;

/// XLA's message for its error, which it destroys.
std::string taken_message(const Api& api, Error* error) {
  ErrorGetMessageArgs message{sizeof(ErrorGetMessageArgs), nullptr, error, nullptr};
  api.error_get_message(&message);
  std::string text = message.message;
  ErrorDestroyArgs destroy{sizeof(ErrorDestroyArgs), nullptr, error};
  api.error_destroy(&destroy);
  return text;
}

}  // namespace

Array Frame::array(const Buffers& all, const char* what, int index, int dtype) {
  const std::string name = std::string(what) + " " + std::to_string(index);
  if (index >= all.size || all.types[index] != kBufferType) {
    throw std::invalid_argument(name + " is missing, or no array");
  }
  const auto& buffer = *static_cast<const Buffer*>(all.buffers[index]);
  check_type(name, buffer.dtype, dtype);
  return {buffer.data, {buffer.dims, static_cast<std::size_t>(buffer.rank)}};
}

void Frame::check_type(std::string_view name, int dtype, int wanted) {
  if (dtype == wanted) return;
  throw std::invalid_argument(std::string(name) + " has XLA's type " + std::to_string(dtype) +
                              "; allowed: " + std::to_string(wanted));
}

const void* Frame::find_attribute(std::string_view name, int type) const {
  for (std::int64_t i = 0; i < frame_.attrs.size; ++i) {
    const ByteSpan& found = *frame_.attrs.names[i];
    if (std::string_view(found.ptr, found.len) != name) continue;
    if (frame_.attrs.types[i] == type) return frame_.attrs.attrs[i];
  }
  return nullptr;
}

const void* Frame::attribute(std::string_view name, int type) const {
  if (const void* const found = find_attribute(name, type)) return found;
  throw std::invalid_argument("attribute " + std::string(name) +
                              " is missing, or of another kind than is wanted");
}

std::string Frame::text(std::string_view name) const {
  const auto& found = *static_cast<const ByteSpan*>(attribute(name, kStringAttr));
  return {found.ptr, found.len};
}

std::string Frame::text_if_any(std::string_view name) const {
  return find_attribute(name, kStringAttr) == nullptr ? "" : text(name);
}

void* Frame::stream() const {
  StreamGetArgs get{sizeof(StreamGetArgs), nullptr, frame_.ctx, nullptr};
  if (Error* const error = frame_.api->stream_get(&get)) {
    throw std::runtime_error("XLA gives no stream: " + taken_message(*frame_.api, error));
  }
  return get.stream;
}

Scratch::Scratch(const CallFrame& frame, std::size_t bytes) : frame_(frame) {
  if (bytes == 0) return;
  allocated_bytes_ = bytes + (kWorkspaceAlignment - kMostAlignment);
  DeviceMemoryAllocateArgs allocate{sizeof(DeviceMemoryAllocateArgs),
                                    nullptr,
                                    frame.ctx,
                                    allocated_bytes_,
                                    kMostAlignment,
                                    nullptr};
  if (Error* const error = frame.api->device_memory_allocate(&allocate)) {
    throw ApiError(SPARK_ATTENTION_OUT_OF_MEMORY,
                   "XLA gives no workspace of " + std::to_string(allocated_bytes_) +
                       " bytes: " + taken_message(*frame.api, error));
  }
  allocated_ = allocate.data;
  std::size_t room = allocated_bytes_;
  data_ = allocated_;
  std::align(kWorkspaceAlignment, bytes, data_, room);
}

Scratch::~Scratch() {
  if (allocated_ == nullptr) return;
  DeviceMemoryFreeArgs free{sizeof(DeviceMemoryFreeArgs), nullptr, frame_.ctx, allocated_bytes_,
                            allocated_};
  if (Error* const error = frame_.api->device_memory_free(&free)) {
    taken_message(*frame_.api, error);  // there is nobody to tell
  }
}

bool answers_metadata(const CallFrame& frame) {
  const ExtensionBase* const extension = frame.extension_start;
  if (extension == nullptr || extension->type != kMetadataExtension) return false;
  Metadata& metadata = *reinterpret_cast<const MetadataExtension*>(extension)->metadata;
  // All that is read here has been there since the first minor version, and stays. An XLA of that
  // version asks without an interface; later ones say what theirs is.
  metadata.api_version.major_version = kMajorVersion;
  metadata.api_version.minor_version = kFirstMinorVersion;
  if (frame.api != nullptr) {
    const ApiVersion& running = frame.api->api_version;
    if (running.major_version != kMajorVersion) {
      throw std::invalid_argument("this XLA's foreign function interface is of major version " +
                                  std::to_string(running.major_version) +
                                  "; allowed: " + std::to_string(kMajorVersion));
    }
    metadata.api_version.minor_version = running.minor_version;
  }
  metadata.traits = 0;  // not for command buffers: the first call of a pattern copies its lists
  return true;
}

Error* make_error(const CallFrame& frame, int errc, const char* message) {
  ErrorCreateArgs create{sizeof(ErrorCreateArgs), nullptr, message, errc};
  return frame.api->error_create(&create);
}

}  // namespace sparkbench::xla
