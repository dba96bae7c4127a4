// How compiled models read, as text and as JSON. Part of cli/.
#ifndef OCTAVO_CLI_DESCRIBE_H_
#define OCTAVO_CLI_DESCRIBE_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "octavo/run.h"

namespace octavo::cli {

// "resnet18.onnx  ONNX QDQ s8, 140 nodes, for Intel Xeon ... (avx2 avx512vnni)"
std::string summary_of(const v1::ModelInfo& info);
// Milliseconds, with three digits that count and no less than two behind the point: "12.34 ms", "0.00812 ms".
std::string ms_text(double ms);
// "f32[1x3x224x224]", "u8[1x3x224x224], scale 0.0186, zero point 114"
std::string describe_tensor(const v1::TensorInfo& tensor);
// Several lines: what a model leaves open; none where nothing is.
std::string describe_sizes(const v1::ModelInfo& info);
// Several lines: the parts of a model whose control flow or shapes depend on data; none of another.
std::string describe_parts(const v1::ModelInfo& info);
// Several lines: the plan, its notes and its float islands.
std::string describe_plan(const v1::PlanInfo& plan);
nlohmann::json info_json(const v1::ModelInfo& info);

}  // namespace octavo::cli

#endif  // OCTAVO_CLI_DESCRIBE_H_
