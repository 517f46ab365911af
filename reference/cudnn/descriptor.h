// A descriptor of cuDNN's graph interface: a typed set of attributes, fixed once finalized.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "reference/cudnn/api.h"

namespace sparkbench::cudnn {

template <class T>
inline constexpr AttributeType kAttributeType = AttributeType::kVoidPointer;
template <>
inline constexpr AttributeType kAttributeType<bool> = AttributeType::kBoolean;
template <>
inline constexpr AttributeType kAttributeType<char> = AttributeType::kChar;
template <>
inline constexpr AttributeType kAttributeType<double> = AttributeType::kDouble;
template <>
inline constexpr AttributeType kAttributeType<std::int64_t> = AttributeType::kInt64;
template <>
inline constexpr AttributeType kAttributeType<DataType> = AttributeType::kDataType;
template <>
inline constexpr AttributeType kAttributeType<PointwiseMode> = AttributeType::kPointwiseMode;
template <>
inline constexpr AttributeType kAttributeType<ReductionOperator> =
    AttributeType::kReductionOperator;
template <>
inline constexpr AttributeType kAttributeType<RandomDistribution> =
    AttributeType::kRandomDistribution;
template <>
inline constexpr AttributeType kAttributeType<HeuristicMode> = AttributeType::kHeuristicMode;
template <>
inline constexpr AttributeType kAttributeType<cudnnContext*> = AttributeType::kHandle;

/// Every call throws what check() throws. `api` must outlive it.
class Descriptor {
 public:
  Descriptor(const Api& api, DescriptorType type);

  template <class T>
  void set(Attribute attribute, std::span<const T> values) {
    set_elements(attribute, kAttributeType<T>, static_cast<std::int64_t>(values.size()),
                 values.data());
  }
  template <class T>
  void set(Attribute attribute, const T& value) {
    set(attribute, std::span<const T>(&value, 1));
  }
  void set(Attribute attribute, const Descriptor& descriptor);
  void set(Attribute attribute, std::span<const Descriptor> descriptors);

  /// Number of descriptors in `attribute`.
  std::int64_t count(Attribute attribute) const;
  /// Fills the first of `descriptors` and returns how many.
  std::int64_t get(Attribute attribute, std::span<Descriptor> descriptors) const;
  std::int64_t get_int64(Attribute attribute) const;

  /// Afterwards attributes can be read but no longer set.
  void finalize();

  void* get() const { return raw_.get(); }

 private:
  struct Destroy {
    const Api* api;
    void operator()(void* raw) const { api->destroy_descriptor(raw); }
  };

  void set_elements(Attribute attribute, AttributeType type, std::int64_t count,
                    const void* elements);

  const Api* api_;
  std::unique_ptr<void, Destroy> raw_;
};

}  // namespace sparkbench::cudnn
