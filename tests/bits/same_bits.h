// Compiles a model for every instruction set and compares the answers byte by byte. Part of the tests of whole models.
#ifndef OCTAVO_TESTS_BITS_SAME_BITS_H_
#define OCTAVO_TESTS_BITS_SAME_BITS_H_

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "bits/net.h"
#include "octavo/compile.h"

namespace octavo::testing {

// How much of a model runs on the scalar target, which is some hundred times slower than the others.
enum class ScalarRuns { every_variant, one_sample };

// Answers that may differ between instruction sets, as "model: output". None.
inline const std::vector<std::string> kExemptOutputs = {};

struct Subject {
  std::string path;
  v1::CompileOptions options;
  bool rows_are_independent =
      true;  // not where the model's meaning takes the whole batch together, as DynamicQuantizeLinear does
  bool batch_is_free = true;  // not where the file's reshapes fix it too
  ScalarRuns scalar_runs = ScalarRuns::every_variant;
};

// Whether this machine can run what is compiled for the target.
bool host_has(const std::string& target);

// int8 on the targets (those that this machine has), 1, 2 and 4 threads, batch 1 and 5: every output has the same
// bytes, and each row of batch 5 those of batch 1.
inline const std::vector<std::string> kTargets = {"avx512vnni",    "avxvnni",    "avx2",  "arm64-i8mm",
                                                  "arm64-dotprod", "arm64-neon", "scalar"};
void expect_same_bits(const Subject& subject, const std::vector<std::string>& targets = kTargets);

// A model file that lives as long as this.
class ModelFile {
 public:
  explicit ModelFile(const ModelBuilder& builder) : ModelFile(builder.bytes()) {}
  explicit ModelFile(const std::string& bytes);
  ~ModelFile() { std::filesystem::remove(path_); }
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// `count` samples of random numbers, always the same.
v1::SampleFunction random_samples(std::int64_t count);

// Random values of each input's type, f32 in [-2, 2]; the same seed gives the same values.
std::vector<Tensor> random_inputs(const std::vector<v1::TensorInfo>& inputs, unsigned seed);

// The outputs of one run; the test fails where it cannot run.
std::vector<Tensor> run(const v1::Model& model, std::size_t plan, const std::vector<Tensor>& inputs);

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_BITS_SAME_BITS_H_
