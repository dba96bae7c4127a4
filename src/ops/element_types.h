// Element types for code that is written once over all of them. Part of ops/.
#ifndef OCTAVO_OPS_ELEMENT_TYPES_H_
#define OCTAVO_OPS_ELEMENT_TYPES_H_

#include <cstdint>

#include "base/tensor.h"

namespace octavo {

// How an element is stored, and as what it is computed with.
template <class T>
struct PlainElement {
  using Stored = T;
  using Number = T;
  static Number load(Stored x) { return x; }
  static Stored store(Number x) { return x; }
};
struct F16Element {
  using Stored = std::uint16_t;
  using Number = float;
  static Number load(Stored x) { return f16_to_f32(x); }
  static Stored store(Number x) { return f32_to_f16(x); }
};
struct Bf16Element {
  using Stored = std::uint16_t;
  using Number = float;
  static Number load(Stored x) { return bf16_to_f32(x); }
  static Stored store(Number x) { return f32_to_bf16(x); }
};

// body(element), one of the above; booleans are u8.
template <class Body>
auto with_element(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::s8: return body(PlainElement<std::int8_t>{});
    case DType::u16: return body(PlainElement<std::uint16_t>{});
    case DType::s16: return body(PlainElement<std::int16_t>{});
    case DType::u32: return body(PlainElement<std::uint32_t>{});
    case DType::s32: return body(PlainElement<std::int32_t>{});
    case DType::u64: return body(PlainElement<std::uint64_t>{});
    case DType::s64: return body(PlainElement<std::int64_t>{});
    case DType::f16: return body(F16Element{});
    case DType::bf16: return body(Bf16Element{});
    case DType::f32: return body(PlainElement<float>{});
    case DType::f64: return body(PlainElement<double>{});
    default: return body(PlainElement<std::uint8_t>{});
  }
}

}  // namespace octavo

#endif  // OCTAVO_OPS_ELEMENT_TYPES_H_
