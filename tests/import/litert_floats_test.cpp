// Operators of floats with LiteRT's own answers (tests/import/litert_floats, made by scripts/make_litert_vectors.py):
// integer weights beside floats, and depthwise convolutions. Part of the tests of import/.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "import/import.h"
#include "lower/lower.h"
#include "ops/evaluate.h"
#include "support/answers.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

fs::path litert_floats_folder() { return fs::path(OCTAVO_SOURCE_DIR) / "tests" / "import" / "litert_floats"; }

std::vector<std::string> names(const std::string& prefix) {
  const std::vector<std::string> found = testing::networks_in(litert_floats_folder(), prefix);
  EXPECT_GE(found.size(), 4u) << prefix;
  return found;
}

// The input, the default answer and the reference kernels' answer lie behind one another.
enum class Kernels { standard, reference };

// How many floats of the lowered graph's answer have other bits than LiteRT's.
std::int64_t litert_floats_differing(const std::string& name, Profile profile, Kernels kernels) {
  auto model = import_model((litert_floats_folder() / (name + ".tflite")).string(), {.profile = profile});
  if (!model) {
    ADD_FAILURE() << to_string(model.errors());
    return -1;
  }
  std::string bytes = testing::contents(litert_floats_folder() / (name + ".bin"));
  const Tensor x = testing::taken(bytes, DType::f32, model->graph.fact(model->graph.inputs()[0]).shape);
  EXPECT_TRUE(lower(model->graph, {.precision = Precision::int8}).ok()) << name;
  const auto results = evaluate(model->graph, std::vector<Tensor>{x});
  if (!results || 2 * results->front().bytes() != bytes.size()) {
    ADD_FAILURE() << name;
    return -1;
  }
  const Tensor& y = results->front();
  const char* theirs = bytes.data() + (kernels == Kernels::standard ? 0 : y.bytes());
  std::int64_t count = 0;
  for (std::size_t i = 0; i < y.bytes(); i += 4)
    count += std::equal(theirs + i, theirs + i + 4, reinterpret_cast<const char*>(y.data()) + i) ? 0 : 1;
  return count;
}

TEST(LiteRtFloats, DynamicRangeHasTheBitsOfLiteRt) {
  for (const std::string& name : names("hybrid_")) {
    EXPECT_EQ(litert_floats_differing(name, Profile::tflite_xnnpack, Kernels::standard), 0) << name;
    EXPECT_EQ(litert_floats_differing(name, Profile::tflite_double, Kernels::reference), 0) << name;
    // The vectors tell the two apart.
    EXPECT_NE(litert_floats_differing(name, Profile::tflite_xnnpack, Kernels::reference), 0) << name;
  }
}

TEST(LiteRtFloats, DepthwiseConvolutionsHaveTheBitsOfXnnpack) {
  for (const std::string& name : names("float_depthwise")) {
    EXPECT_EQ(litert_floats_differing(name, Profile::tflite_xnnpack, Kernels::standard), 0) << name;
  }
}

}  // namespace
}  // namespace octavo
