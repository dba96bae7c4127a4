// The element types of PyTorch and ours. Part of import/.
#ifndef OCTAVO_IMPORT_PT2_TYPES_H_
#define OCTAVO_IMPORT_PT2_TYPES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace octavo::pt2_import {

// By the number in torch.export's JSON. Nothing for types that Octavo does not have (complex numbers, 8-bit floats).
std::optional<DType> dtype_of_torch(std::int64_t type);

// By the name of a storage class in a pickle ("FloatStorage").
std::optional<DType> dtype_of_storage(std::string_view name);

// "FLOAT8E5M2"; "type 99" for numbers that nobody knows.
std::string torch_type_name(std::int64_t type);

}  // namespace octavo::pt2_import

#endif  // OCTAVO_IMPORT_PT2_TYPES_H_
