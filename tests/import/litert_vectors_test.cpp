// Operators with LiteRT's own answers (tests/import/litert and litert_16x8, made by scripts/make_litert_vectors.py):
// the default ones and those of its reference kernels. Part of the tests of import/.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "import/import.h"
#include "lower/lower.h"
#include "ops/evaluate.h"
#include "support/answers.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

fs::path litert_vectors_folder(std::string_view folder = "litert") {
  return fs::path(OCTAVO_SOURCE_DIR) / "tests" / "import" / folder;
}

// The inputs, the default answer and the reference kernels' answer lie behind one another.
struct Vector {
  std::vector<Tensor> inputs;
  std::string standard, reference;
};

Vector vector_of(const fs::path& folder, const std::string& name, const Graph& graph) {
  std::string bytes = testing::contents(folder / (name + ".bin"));
  Vector vector;
  for (const ValueId input : graph.inputs())
    vector.inputs.push_back(testing::taken(bytes, graph.fact(input).dtype, graph.fact(input).shape));
  vector.standard = bytes.substr(0, bytes.size() / 2);
  vector.reference = bytes.substr(bytes.size() / 2);
  return vector;
}

std::string bytes_of(const Tensor& tensor) { return {reinterpret_cast<const char*>(tensor.data()), tensor.bytes()}; }

int litert_vectors_differing(const std::string& a, const std::string& b) {
  int count = static_cast<int>(a.size() > b.size() ? a.size() - b.size() : b.size() - a.size());
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) count += a[i] != b[i] ? 1 : 0;
  return count;
}

// The lowered graph's answer by the references; kernels are compared with these elsewhere.
struct Answer {
  std::string bytes;
  Vector expected;
  std::size_t islands = 0;
};
Answer answer(const std::string& name, Profile profile, const fs::path& folder = litert_vectors_folder()) {
  auto model = import_model((folder / (name + ".tflite")).string(), {.profile = profile});
  if (!model) {
    ADD_FAILURE() << to_string(model.errors());
    return {};
  }
  const Vector vector = vector_of(folder, name, model->graph);
  const auto report = lower(model->graph, {.precision = Precision::int8});
  EXPECT_TRUE(report.ok()) << name;
  const auto results = evaluate(model->graph, vector.inputs);
  if (!results || !report) {
    ADD_FAILURE() << name;
    return {};
  }
  return {bytes_of(results->front()), vector, report->islands.size()};
}

TEST(LiteRtVectors, ThereAreSome) { EXPECT_GE(testing::networks_in(litert_vectors_folder()).size(), 40u); }

TEST(LiteRtVectors, TfliteDoubleIsWhatTheReferenceKernelsCompute) {
  // LiteRT 2.3's reference SUM of s8 values does not give their sum.
  const std::set<std::string> defects = {"sum_s8"};
  for (const std::string& name : testing::networks_in(litert_vectors_folder())) {
    const Answer ours = answer(name, Profile::tflite_double);
    if (defects.contains(name)) continue;
    EXPECT_EQ(litert_vectors_differing(ours.bytes, ours.expected.reference), 0) << name;
    EXPECT_EQ(ours.islands, 0u) << name;
  }
}

TEST(LiteRtVectors, TfliteXnnpackIsWhatLiteRtComputesByDefault) {
  for (const std::string& name : testing::networks_in(litert_vectors_folder())) {
    const Answer ours = answer(name, Profile::tflite_xnnpack);
    EXPECT_EQ(litert_vectors_differing(ours.bytes, ours.expected.standard), 0) << name;
  }
}

// Activations of 16 bits, weights of 8 bits. Those of `in_floats` are the same in floats: nothing is rounded in them,
// or exactly.
TEST(LiteRtVectors, Of16x8) {
  const fs::path folder = litert_vectors_folder("litert_16x8");
  const std::set<std::string> in_floats = {"average_pool", "dequantize", "equal",           "max_pool",   "maximum",
                                           "minimum",      "not_equal",  "quantize_floats", "reduce_max", "reduce_min"};
  const std::vector<std::string> names = testing::networks_in(folder);
  EXPECT_GE(names.size(), 45u);
  for (const std::string& name : names) {
    const Answer standard = answer(name, Profile::tflite_xnnpack, folder),
                 reference = answer(name, Profile::tflite_double, folder);
    EXPECT_EQ(litert_vectors_differing(standard.bytes, standard.expected.standard), 0) << name;
    EXPECT_EQ(litert_vectors_differing(reference.bytes, reference.expected.reference), 0) << name;
    const std::size_t islands = standard.islands + reference.islands;
    EXPECT_TRUE(islands == 0 || in_floats.contains(name)) << name;
  }
}

// What single operators have is no rounding of a file.
TEST(LiteRtVectors, ProfilesOfOperatorsAreNotAskedFor) {
  const std::string path = (litert_vectors_folder() / "add_s8.tflite").string();
  for (const Profile profile :
       {Profile::tflite_optimized, Profile::tflite_real, Profile::tflite_joined, Profile::tflite_wide}) {
    EXPECT_FALSE(profile_named(name_of(profile)));
    const auto model = import_model(path, {.profile = profile});
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(model.errors()[0].kind, ErrorKind::usage);
  }
}

// One rounding instead of two: at most one step apart, and sometimes apart.
TEST(LiteRtVectors, TfliteSingleIsAStepFromTfliteDouble) {
  int apart = 0;
  for (const std::string& name : testing::networks_in(litert_vectors_folder())) {
    const std::string one = answer(name, Profile::tflite_single).bytes,
                      two = answer(name, Profile::tflite_double).bytes;
    ASSERT_EQ(one.size(), two.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
      const auto step =
          static_cast<std::int8_t>(static_cast<unsigned char>(one[i]) - static_cast<unsigned char>(two[i]));
      EXPECT_LE(std::abs(step), 1) << name;
      apart += step != 0 ? 1 : 0;
    }
  }
  EXPECT_GT(apart, 0);
}

}  // namespace
}  // namespace octavo
