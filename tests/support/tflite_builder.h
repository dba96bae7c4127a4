// TfliteBuilder: small TFLite files made in C++, so that tests need no converter. For the tests of import/ and errors/.
#ifndef OCTAVO_TESTS_SUPPORT_TFLITE_BUILDER_H_
#define OCTAVO_TESTS_SUPPORT_TFLITE_BUILDER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "import/import.h"
#include "import/tflite/schema_generated.h"

namespace octavo::testing {

namespace tfl = octavo::tflite_import::file;

// Of a level of a sparse tensor: all its positions, or those that are listed.
struct TfliteSparseLevel {
  std::int32_t size = 0;  // of a dense one
  std::vector<std::int32_t> segments, indices;
};
struct TfliteSparsity {
  std::vector<std::int32_t> order, blocks;
  std::vector<TfliteSparseLevel> levels;
  int width = 32;  // of the numbers of lists, in bits
};

// What a test says of a tensor. Everything is written as it stands, right or wrong.
struct TfliteTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int32_t> shape;
  std::vector<float> scale;
  std::vector<std::int64_t> zero_point;
  std::int32_t axis = 0;
  std::optional<Tensor> data;
  std::vector<std::int32_t> signature;
  int type = -1;                   // the format's number instead of that of dtype
  std::optional<unsigned> buffer;  // instead of its own
  bool is_variable = false;
  std::optional<TfliteSparsity> sparsity;
};

// Writes the options into a builder.
using TfliteOptions = std::function<flatbuffers::Offset<void>(flatbuffers::FlatBufferBuilder&)>;

struct TfliteOperator {
  int code = 0;
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> outputs;
  tfl::BuiltinOptions kind = tfl::BuiltinOptions::NONE;
  TfliteOptions options;
  std::string custom;
  std::optional<unsigned> opcode;  // instead of its own
  std::vector<std::uint8_t> custom_options;
  int version = 1;
  std::vector<std::int32_t> intermediates;
};

class TfliteBuilder {
 public:
  // Each gives the tensor's index.
  int tensor(TfliteTensor tensor);
  int constant(const Tensor& data, std::vector<float> scale = {}, std::vector<std::int64_t> zero_point = {},
               std::int32_t axis = 0);
  int input(TfliteTensor tensor);
  int output(TfliteTensor tensor);
  TfliteBuilder& add(TfliteOperator op);

  std::vector<std::int32_t> inputs, outputs;
  std::uint32_t version = 3;
  int subgraphs = 1;
  bool puts_data_behind = false;  // constants behind the tables, as newer converters have them
  std::vector<std::string> signatures;
  std::uint32_t signature_subgraph = 0;  // of the last one; of others 0

  // The file. Where the environment names a folder in OCTAVO_SAVE_MODELS, it is also left there: the tests' models are
  // seeds for fuzzing.
  std::string bytes() const;
  // As "test.tflite".
  Result<ImportedModel> import(const ImportOptions& options = {}) const;

 private:
  std::vector<TfliteTensor> tensors_;
  std::vector<TfliteOperator> operators_;
};

Result<ImportedModel> import_tflite_text(const std::string& bytes, const ImportOptions& options = {});

// The model's answers by the references, as imported; the test fails where it cannot be imported or evaluated.
std::vector<Tensor> answers(const TfliteBuilder& builder, const std::vector<Tensor>& inputs,
                            const ImportOptions& options = {});

// Options of a table whose Create function takes `arguments`.
template <class... Arguments, class Create>
TfliteOptions options_of(Create create, Arguments... arguments) {
  return [=](flatbuffers::FlatBufferBuilder& builder) { return create(builder, arguments...).Union(); };
}

// A FULLY_CONNECTED of x, weights and bias (-1: none) without an activation.
TfliteOperator fully_connected(std::vector<std::int32_t> inputs, int output);

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_SUPPORT_TFLITE_BUILDER_H_
