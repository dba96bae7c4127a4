// Folders of small networks, each beside a file of what it read and what another program answered: NAME.tflite and
// NAME.bin. For the tests of import/.
#ifndef OCTAVO_TESTS_SUPPORT_ANSWERS_H_
#define OCTAVO_TESTS_SUPPORT_ANSWERS_H_

#include <filesystem>
#include <string>
#include <vector>

#include "base/tensor.h"

namespace octavo::testing {

// Names of the networks of a folder that begin so, without the extension, sorted.
std::vector<std::string> networks_in(const std::filesystem::path& folder, const std::string& prefix = "");

std::string contents(const std::filesystem::path& path);

// The first bytes that `bytes` still has, as a tensor; the rest stays. The test fails where there are too few.
Tensor taken(std::string& bytes, DType dtype, const Shape& shape);

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_SUPPORT_ANSWERS_H_
