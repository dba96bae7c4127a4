// What Attrs needs of an attribute struct, for the file that defines the operator:
//
//   template Attrs::Attrs(ConvAttrs);
//
// Part of graph/.
#ifndef OCTAVO_GRAPH_ATTRS_OF_H_
#define OCTAVO_GRAPH_ATTRS_OF_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <typeinfo>
#include <utility>

#include "base/fields.h"
#include "graph/op.h"

namespace octavo {

template <class T>
struct Attrs::Holder final : Attrs::Concept {
  explicit Holder(T v) : held(std::move(v)) {}
  const std::type_info& type() const override { return typeid(T); }
  const void* value() const override { return &held; }
  std::string to_string() const override { return print(held); }
  std::string structure() const override { return print_structure(held); }
  Bytes encoded() const override { return encode(held); }
  Attrs with_extents(std::span<const Dim> dims) const override {
    T changed = held;
    replace_extents(changed, dims);
    return changed;
  }
  bool equals(const Concept& other) const override {
    return other.type() == typeid(T) && *static_cast<const T*>(other.value()) == held;
  }
  T held;
};

template <HasFields T>
Attrs::Attrs(T value) : model_(std::make_shared<const Holder<T>>(std::move(value))) {}

// decode_attrs for an attribute struct.
template <HasFields T>
std::optional<Attrs> decode_attrs_as(std::span<const std::byte> bytes) {
  auto value = decode_all<T>(bytes);
  if (!value) return std::nullopt;
  return Attrs(std::move(*value));
}

}  // namespace octavo

#endif  // OCTAVO_GRAPH_ATTRS_OF_H_
