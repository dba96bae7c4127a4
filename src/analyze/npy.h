// NumPy's files: .npy (one array) and .npz (a zip of them), read and written. Part of analyze/.
#ifndef OCTAVO_ANALYZE_NPY_H_
#define OCTAVO_ANALYZE_NPY_H_

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"

namespace octavo {

// `where` names the array in messages. Little-endian bool, integers, f16, f32 and f64; Fortran order becomes row-major.
Result<Tensor> parse_npy(std::span<const std::byte> bytes, const std::string& where);
std::vector<std::byte> format_npy(const ConstTensorView& tensor);

Result<Tensor> read_npy(const std::string& path);
Status write_npy(const std::string& path, const ConstTensorView& tensor);

// Array name (without ".npy") -> array. Members that are no arrays are refused.
Result<std::map<std::string, Tensor>> read_npz(const std::string& path);
Status write_npz(const std::string& path, const std::map<std::string, Tensor>& arrays);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_NPY_H_
