// The tensors of an ONNX node test. Part of the conformance runner.
#ifndef OCTAVO_TESTS_CONFORMANCE_PROTO_DATA_H_
#define OCTAVO_TESTS_CONFORMANCE_PROTO_DATA_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"

namespace octavo::conformance {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

struct DataSet {
  std::vector<NamedTensor> inputs;
  std::vector<NamedTensor> outputs;
};

struct NodeTest {
  std::string name;
  std::string model_path;
  std::vector<DataSet> data;
  std::string skip_reason;  // types that are outside Octavo's: "FLOAT8E4M3FN", "STRING", "sequence", ...
};

// Reads one folder: model.onnx, test_data_set_*/{input,output}_*.pb.
Result<NodeTest> read_node_test(const std::string& folder);

}  // namespace octavo::conformance

#endif  // OCTAVO_TESTS_CONFORMANCE_PROTO_DATA_H_
