// The element types of ONNX and ours. Part of import/.
#include "import/onnx/types.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace octavo::onnx_import {
namespace {

struct Entry {
  std::string_view name;
  std::optional<DType> dtype;
};

// Indexed by the number in the file (TensorProto.DataType); newer than the schema that the protobuf classes come from.
constexpr std::array<Entry, 27> kTypes = {{
    {"UNDEFINED", std::nullopt},
    {"FLOAT", DType::f32},
    {"UINT8", DType::u8},
    {"INT8", DType::s8},
    {"UINT16", DType::u16},
    {"INT16", DType::s16},
    {"INT32", DType::s32},
    {"INT64", DType::s64},
    {"STRING", std::nullopt},
    {"BOOL", DType::boolean},
    {"FLOAT16", DType::f16},
    {"DOUBLE", DType::f64},
    {"UINT32", DType::u32},
    {"UINT64", DType::u64},
    {"COMPLEX64", std::nullopt},
    {"COMPLEX128", std::nullopt},
    {"BFLOAT16", DType::bf16},
    {"FLOAT8E4M3FN", std::nullopt},
    {"FLOAT8E4M3FNUZ", std::nullopt},
    {"FLOAT8E5M2", std::nullopt},
    {"FLOAT8E5M2FNUZ", std::nullopt},
    {"UINT4", std::nullopt},
    {"INT4", std::nullopt},
    {"FLOAT4E2M1", std::nullopt},
    {"FLOAT8E8M0", std::nullopt},
    {"UINT2", std::nullopt},
    {"INT2", std::nullopt},
}};

bool is_type_code(int type) { return type >= 0 && type < static_cast<int>(kTypes.size()); }

}  // namespace

std::optional<DType> dtype_of_onnx(int type) {
  return is_type_code(type) ? kTypes[static_cast<std::size_t>(type)].dtype : std::nullopt;
}

int onnx_type_of(DType dtype) {
  const auto found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const Entry& entry) { return entry.dtype == dtype; });
  return static_cast<int>(found - kTypes.begin());
}

std::string onnx_type_name(int type) {
  return is_type_code(type) ? std::string(kTypes[static_cast<std::size_t>(type)].name) : "type " + std::to_string(type);
}

}  // namespace octavo::onnx_import
