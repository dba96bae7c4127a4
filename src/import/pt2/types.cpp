// The element types of PyTorch and ours. Part of import/.
#include "import/pt2/types.h"

#include <algorithm>
#include <array>

namespace octavo::pt2_import {
namespace {

struct Entry {
  std::int64_t number;
  std::string_view name, storage;
  std::optional<DType> dtype;
};

constexpr std::array kTypes = {
    Entry{0, "UNKNOWN", "", std::nullopt},
    Entry{1, "BYTE", "ByteStorage", DType::u8},
    Entry{2, "CHAR", "CharStorage", DType::s8},
    Entry{3, "SHORT", "ShortStorage", DType::s16},
    Entry{4, "INT", "IntStorage", DType::s32},
    Entry{5, "LONG", "LongStorage", DType::s64},
    Entry{6, "HALF", "HalfStorage", DType::f16},
    Entry{7, "FLOAT", "FloatStorage", DType::f32},
    Entry{8, "DOUBLE", "DoubleStorage", DType::f64},
    Entry{9, "COMPLEXHALF", "", std::nullopt},
    Entry{10, "COMPLEXFLOAT", "ComplexFloatStorage", std::nullopt},
    Entry{11, "COMPLEXDOUBLE", "ComplexDoubleStorage", std::nullopt},
    Entry{12, "BOOL", "BoolStorage", DType::boolean},
    Entry{13, "BFLOAT16", "BFloat16Storage", DType::bf16},
    Entry{28, "UINT16", "", DType::u16},
    Entry{29, "FLOAT8E4M3FN", "", std::nullopt},
    Entry{30, "FLOAT8E5M2", "", std::nullopt},
    Entry{31, "FLOAT8E4M3FNUZ", "", std::nullopt},
    Entry{32, "FLOAT8E5M2FNUZ", "", std::nullopt},
    Entry{33, "FLOAT8E8M0FNU", "", std::nullopt},
    Entry{34, "UINT32", "", DType::u32},
    Entry{35, "UINT64", "", DType::u64},
};

const Entry* find(std::int64_t type) {
  const auto found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const Entry& entry) { return entry.number == type; });
  return found == kTypes.end() ? nullptr : &*found;
}

}  // namespace

std::optional<DType> dtype_of_torch(std::int64_t type) {
  const Entry* entry = find(type);
  return entry == nullptr ? std::nullopt : entry->dtype;
}

std::optional<DType> dtype_of_storage(std::string_view name) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(),
                                  [&](const Entry& entry) { return !name.empty() && entry.storage == name; });
  return found == kTypes.end() ? std::nullopt : found->dtype;
}

std::string torch_type_name(std::int64_t type) {
  const Entry* entry = find(type);
  return entry == nullptr ? "type " + std::to_string(type) : std::string(entry->name);
}

}  // namespace octavo::pt2_import
