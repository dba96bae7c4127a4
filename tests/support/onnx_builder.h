// ModelBuilder: small ONNX models made in C++, so that tests need no exporter. For the tests of import/ and errors/.
#ifndef OCTAVO_TESTS_SUPPORT_ONNX_BUILDER_H_
#define OCTAVO_TESTS_SUPPORT_ONNX_BUILDER_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/tensor.h"
#include "import/import.h"
#include "import/onnx/proto.h"

namespace octavo::testing {

// The value of an attribute.
using Attribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>, Tensor>;

struct NamedAttribute {
  std::string name;
  Attribute value;
};

struct NodeText {
  std::string op;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<NamedAttribute> attributes = {};
  std::string domain = "";
  std::string name = "node";
};

struct ExternalData {
  std::string location, offset, length;
};

void set_tensor(onnx::TensorProto& proto, const Tensor& tensor);

class ModelBuilder {
 public:
  explicit ModelBuilder(std::int64_t opset = 17) { opset_import("", opset); }

  ModelBuilder& opset_import(const std::string& domain, std::int64_t version);
  // A dimension of -1 is symbolic, called "N".
  ModelBuilder& input(const std::string& name, DType dtype, const std::vector<std::int64_t>& dims);
  ModelBuilder& output(const std::string& name);
  ModelBuilder& initializer(const std::string& name, const Tensor& tensor);
  // Bytes [offset, offset + length) of the file at `location`, as the file says it: nothing is checked.
  ModelBuilder& external_initializer(const std::string& name, DType dtype, const std::vector<std::int64_t>& dims,
                                     const ExternalData& data);
  ModelBuilder& node(const NodeText& text);

  onnx::ModelProto& proto() { return model_; }
  // The file. Where the environment names a folder in OCTAVO_SAVE_MODELS, it is also left there: the tests' models are
  // seeds for fuzzing.
  std::string bytes() const;
  // As "test.onnx".
  Result<ImportedModel> import(const ImportOptions& options = {}, const std::string& folder = "") const;

 private:
  onnx::ModelProto model_;
};

// The model's answers by the references; the test fails where it cannot be imported or evaluated.
std::vector<Tensor> answers(const ModelBuilder& builder, const std::vector<Tensor>& inputs,
                            const ImportOptions& options = {});
// One operator: inputs "x0", "x1", ... (graph inputs), outputs "y0", ...; `constants` follow as inputs "c0", ...
std::vector<Tensor> answers_of(const std::string& op, std::int64_t opset, const std::vector<Tensor>& inputs,
                               const std::vector<Tensor>& constants, const std::vector<NamedAttribute>& attributes = {},
                               int outputs = 1, const std::string& domain = "");

Tensor floats(Shape shape, const std::vector<float>& values);
Tensor integers(Shape shape, const std::vector<std::int64_t>& values);
std::vector<float> as_floats(const Tensor& tensor);

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_SUPPORT_ONNX_BUILDER_H_
