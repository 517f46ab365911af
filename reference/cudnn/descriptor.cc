#include "reference/cudnn/descriptor.h"

#include <vector>

namespace sparkbench::cudnn {
namespace {

void* create(const Api& api, DescriptorType type) {
  void* raw = nullptr;
  check(api, api.create_descriptor(static_cast<int>(type), &raw), "cudnnBackendCreateDescriptor");
  return raw;
}

std::vector<void*> raw_pointers(std::span<const Descriptor> descriptors) {
  std::vector<void*> raw;
  raw.reserve(descriptors.size());
  for (const Descriptor& descriptor : descriptors) raw.push_back(descriptor.get());
  return raw;
}

}  // namespace

Descriptor::Descriptor(const Api& api, DescriptorType type)
    : api_(&api), raw_(create(api, type), Destroy{&api}) {}

void Descriptor::set(Attribute attribute, const Descriptor& descriptor) {
  set(attribute, std::span(&descriptor, 1));
}

void Descriptor::set(Attribute attribute, std::span<const Descriptor> descriptors) {
  const std::vector<void*> raw = raw_pointers(descriptors);
  set_elements(attribute, AttributeType::kDescriptor, static_cast<std::int64_t>(raw.size()),
               raw.data());
}

void Descriptor::set_elements(Attribute attribute, AttributeType type, std::int64_t count,
                              const void* elements) {
  check(*api_,
        api_->set_attribute(raw_.get(), static_cast<int>(attribute), static_cast<int>(type), count,
                            elements),
        "cudnnBackendSetAttribute");
}

std::int64_t Descriptor::count(Attribute attribute) const {
  std::int64_t count = 0;
  check(*api_,
        api_->get_attribute(raw_.get(), static_cast<int>(attribute),
                            static_cast<int>(AttributeType::kDescriptor), 0, &count, nullptr),
        "cudnnBackendGetAttribute");
  return count;
}

std::int64_t Descriptor::get(Attribute attribute, std::span<Descriptor> descriptors) const {
  std::vector<void*> raw = raw_pointers(descriptors);
  std::int64_t count = 0;
  check(*api_,
        api_->get_attribute(raw_.get(), static_cast<int>(attribute),
                            static_cast<int>(AttributeType::kDescriptor),
                            static_cast<std::int64_t>(raw.size()), &count, raw.data()),
        "cudnnBackendGetAttribute");
  return count;
}

std::int64_t Descriptor::get_int64(Attribute attribute) const {
  std::int64_t count = 0, value = 0;
  check(*api_,
        api_->get_attribute(raw_.get(), static_cast<int>(attribute),
                            static_cast<int>(AttributeType::kInt64), 1, &count, &value),
        "cudnnBackendGetAttribute");
  return value;
}

void Descriptor::finalize() { check(*api_, api_->finalize(raw_.get()), "cudnnBackendFinalize"); }

}  // namespace sparkbench::cudnn
