// Answers of other programs. Part of tests/support/.
#include "support/answers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace octavo::testing {

namespace fs = std::filesystem;

std::vector<std::string> networks_in(const fs::path& folder, const std::string& prefix) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".tflite" && name.starts_with(prefix)) found.push_back(name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Tensor taken(std::string& bytes, DType dtype, const Shape& shape) {
  Tensor made(dtype, shape);
  EXPECT_LE(made.bytes(), bytes.size());
  std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()), std::min(made.bytes(), bytes.size()), made.data());
  bytes.erase(0, made.bytes());
  return made;
}

}  // namespace octavo::testing
