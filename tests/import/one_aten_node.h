// Programs of torch.export with one ATen node, written here. Part of the tests of import/.
#ifndef OCTAVO_TESTS_IMPORT_ONE_ATEN_NODE_H_
#define OCTAVO_TESTS_IMPORT_ONE_ATEN_NODE_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/evaluate.h"
#include "support/onnx_builder.h"
#include "support/zip_builder.h"

namespace octavo::testing {

using Values = std::vector<float>;

// The format's number of an element type.
inline std::string type_number(DType dtype) {
  switch (dtype) {
    case DType::u8: return "1";
    case DType::s32: return "4";
    case DType::s64: return "5";
    case DType::boolean: return "12";
    default: return "7";
  }
}

inline std::string meta_of(DType dtype, const Shape& shape) {
  std::string sizes, strides;
  for (int i = 0; i < shape.rank(); ++i) {
    const std::string comma = i == 0 ? "" : ",";
    sizes += comma + R"({"as_int":)" + std::to_string(shape[i]) + "}";
    strides += comma + R"({"as_int":)" + std::to_string(shape.strides()[static_cast<std::size_t>(i)]) + "}";
  }
  return R"({"dtype":)" + type_number(dtype) + R"(,"sizes":[)" + sizes +
         R"(],"requires_grad":false,"device":{"type":"cpu","index":null},"strides":[)" + strides +
         R"(],"storage_offset":{"as_int":0},"layout":7})";
}

inline std::string tensor_argument(const std::string& name) { return R"({"as_tensor":{"name":")" + name + R"("}})"; }

struct Argument {
  std::string name, json;
};

// A program of one node; tensors are called "x0", "x1", ...
struct OneNode {
  std::string target;
  std::vector<Tensor> tensors;
  std::vector<Argument> arguments;
  Shape shape;  // of the results
  std::vector<DType> types{DType::f32};
};

inline std::string program_of(const OneNode& given) {
  std::string inputs, specs, metas, arguments, outputs, output_specs;
  for (std::size_t i = 0; i < given.tensors.size(); ++i) {
    const std::string name = "x" + std::to_string(i), comma = i == 0 ? "" : ",";
    inputs += comma + tensor_argument(name);
    specs += comma + R"({"user_input":{"arg":)" + tensor_argument(name) + "}}";
    metas += R"(")" + name + R"(":)" + meta_of(given.tensors[i].dtype(), given.tensors[i].shape()) + ",";
  }
  for (std::size_t i = 0; i < given.types.size(); ++i) {
    const std::string name = "y" + std::to_string(i), comma = i == 0 ? "" : ",";
    outputs += comma + tensor_argument(name);
    output_specs += comma + R"({"user_output":{"arg":)" + tensor_argument(name) + "}}";
    metas += comma + R"(")" + name + R"(":)" + meta_of(given.types[i], given.shape);
  }
  for (std::size_t i = 0; i < given.arguments.size(); ++i)
    arguments += std::string(i == 0 ? "" : ",") + R"({"name":")" + given.arguments[i].name + R"(","arg":)" +
                 given.arguments[i].json + R"(,"kind":1})";
  return R"({"graph_module":{"graph":{"inputs":[)" + inputs + R"(],"outputs":[)" + outputs +
         R"(],"nodes":[{"target":"torch.ops.)" + given.target + R"(","inputs":[)" + arguments + R"(],"outputs":[)" +
         outputs + R"(],"metadata":{},"is_hop_single_tensor_return":null,"name":"y"}],"tensor_values":{)" + metas +
         R"(},"sym_int_values":{},"sym_bool_values":{},"is_single_tensor_return":false,"custom_obj_values":{},)"
         R"("sym_float_values":{}},"signature":{"input_specs":[)" +
         specs + R"(],"output_specs":[)" + output_specs +
         R"(]},"module_call_graph":[]},"opset_version":{"aten":10},"range_constraints":{},)"
         R"("schema_version":{"major":8,"minor":20},"verifiers":["TRAINING"],"torch_version":"2.15.0"})";
}

inline Result<ImportedModel> import_of(const OneNode& given) {
  const std::string empty = R"({"config":{}})";
  const std::string bytes = zip_of({{"archive/models/model.json", program_of(given)},
                                    {"archive/data/weights/model_weights_config.json", empty},
                                    {"archive/data/constants/model_constants_config.json", empty},
                                    {"archive/archive_format", "pt2"},
                                    {"archive/archive_version", "0"},
                                    {"archive/byteorder", "little"}});
  return import_pt2(std::as_bytes(std::span(bytes)), "test.pt2", {});
}

inline std::vector<Tensor> results_of(const OneNode& given) {
  const auto model = import_of(given);
  EXPECT_TRUE(model.ok()) << to_string(model.errors());
  if (!model.ok()) return {};
  auto results = evaluate(model->graph, given.tensors);
  EXPECT_TRUE(results.ok()) << to_string(results.errors());
  return results.ok() ? *std::move(results) : std::vector<Tensor>{};
}

inline Values result_of(const OneNode& given) {
  const auto results = results_of(given);
  return results.empty() ? Values{} : as_floats(results[0]);
}

inline const Tensor kRows = floats({2, 3}, {1, 2, 3, 4, 5, 6});
inline const std::string kX0 = tensor_argument("x0"), kX1 = tensor_argument("x1"), kX2 = tensor_argument("x2");
inline std::string integer(int value) { return R"({"as_int":)" + std::to_string(value) + "}"; }
inline std::string list(const std::string& values) { return R"({"as_ints":[)" + values + "]}"; }

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_IMPORT_ONE_ATEN_NODE_H_
