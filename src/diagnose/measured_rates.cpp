// Rates as scripts/stories/rates.py wrote them. Part of diagnose/.
#include "diagnose/engine_cost.h"

namespace octavo::diagnose {
namespace {

constexpr std::string_view kOrt = R"json({"engine": "ort",
 "source": "onnxruntime 1.32.0, one thread of AMD EPYC (Zen 5), 2026-11-26",
 "node_us": 0.162,
 "products": {
  "packed_float": {
   "conv": {"call_us": 2.37265, "mac_ns": 0.00664, "gathered_ns": 0.04385, "result_ns": 0.0, "weight_ns": 0.21965},
   "pointwise": {"call_us": 0.0, "mac_ns": 0.0075, "gathered_ns": 0.0, "result_ns": 0.05454, "weight_ns": 0.01582},
   "depthwise": {"call_us": 0.0, "mac_ns": 0.01032, "gathered_ns": 0.0, "result_ns": 0.04353, "weight_ns": 0.44847},
   "matmul": {"call_us": 0.0, "mac_ns": 0.00722, "gathered_ns": 0.0, "result_ns": 0.0, "weight_ns": 0.05838}},
  "loose_float": {
   "conv": {"call_us": 3.96857, "mac_ns": 0.00744, "gathered_ns": 0.16514, "result_ns": 0.0, "weight_ns": 0.37200},
   "pointwise": {"call_us": 1.67040, "mac_ns": 0.00731, "gathered_ns": 0.0, "result_ns": 0.06163, "weight_ns": 0.19507},
   "depthwise": {"call_us": 0.0, "mac_ns": 0.11104, "gathered_ns": 0.0, "result_ns": 0.0, "weight_ns": 18.40389},
   "matmul": {"call_us": 0.39071, "mac_ns": 0.00584, "gathered_ns": 0.0, "result_ns": 0.66752, "weight_ns": 0.00682}},
  "integer": {
   "conv": {"call_us": 6.24509, "mac_ns": 0.00135, "gathered_ns": 0.0, "result_ns": 0.33757, "weight_ns": 0.04345},
   "pointwise": {"call_us": 0.0, "mac_ns": 0.00167, "gathered_ns": 0.0, "result_ns": 0.06178, "weight_ns": 0.02413},
   "depthwise": {"call_us": 0.0, "mac_ns": 0.01445, "gathered_ns": 0.0, "result_ns": 0.07111, "weight_ns": 0.0},
   "matmul": {"call_us": 0.51105, "mac_ns": 0.00170, "gathered_ns": 0.0, "result_ns": 0.25477, "weight_ns": 0.00915}},
  "signed_slow": {
   "conv": {"call_us": 0.0, "mac_ns": 0.03623, "gathered_ns": 0.0, "result_ns": 2.32029, "weight_ns": 3.15377},
   "pointwise": {"call_us": 0.0, "mac_ns": 0.03141, "gathered_ns": 0.0, "result_ns": 1.23162, "weight_ns": 2.64964},
   "depthwise": {"call_us": 0.0, "mac_ns": 0.04320, "gathered_ns": 0.0, "result_ns": 0.18744, "weight_ns": 0.0},
   "matmul": {"call_us": 0.0, "mac_ns": 0.03783, "gathered_ns": 0.0, "result_ns": 0.0, "weight_ns": 0.56576}},
  "unsigned_slow": {
   "conv": {"call_us": 8.02646, "mac_ns": 0.00402, "gathered_ns": 0.04361, "result_ns": 0.44113, "weight_ns": 0.04214},
   "pointwise": {"call_us": 0.0, "mac_ns": 0.00435, "gathered_ns": 0.0, "result_ns": 0.19644, "weight_ns": 0.01800},
   "depthwise": {"call_us": 0.0, "mac_ns": 0.04255, "gathered_ns": 0.0, "result_ns": 0.18229, "weight_ns": 0.0},
   "matmul": {"call_us": 0.54914, "mac_ns": 0.00475, "gathered_ns": 0.0, "result_ns": 0.05658, "weight_ns": 0.00643}},
  "dynamic": {
   "conv": {"call_us": 21.32564, "mac_ns": 0.00517, "gathered_ns": 0.05864, "result_ns": 0.0, "weight_ns": 0.26223},
   "pointwise": {"call_us": 0.70439, "mac_ns": 0.00444, "gathered_ns": 0.0, "result_ns": 0.27009, "weight_ns": 0.12476},
   "depthwise": {"call_us": 0.0, "mac_ns": 0.13071, "gathered_ns": 0.0, "result_ns": 0.0, "weight_ns": 30.81088},
   "matmul": {"call_us": 0.44161, "mac_ns": 0.00184, "gathered_ns": 0.0, "result_ns": 0.20072, "weight_ns": 0.00831}}},
 "passes_ns": {
  "quantize": 0.0691, "dequantize": 0.1046, "quantize16": 0.2348, "dequantize16": 0.1096, "add": 0.1177,
  "mul": 0.2018, "sigmoid": 0.2541, "float_add": 0.0897, "float_mul": 0.1003, "float_sigmoid": 0.2354,
  "float_function": 0.1127, "float_relu": 0.076, "max_pool": 9.5975, "float_max_pool": 0.3893, "float_softmax": 0.8875,
  "transpose": 0.0585, "float_transpose": 0.175, "average": 0.048, "float_average": 0.132}})json";

constexpr std::string_view kLitert = R"json({"engine": "litert",
 "source": "ai_edge_litert 2.3.0, one thread of AMD EPYC (Zen 5), 2026-11-26",
 "node_us": 0.024,
 "products": {
  "packed_float": {
   "conv": {"call_us": 0.0, "mac_ns": 0.00659, "gathered_ns": 0.0, "result_ns": 0.45598, "weight_ns": 0.17805},
   "pointwise": {"call_us": 0.0, "mac_ns": 0.00680, "gathered_ns": 0.0, "result_ns": 0.08757, "weight_ns": 0.01703},
   "depthwise": {"call_us": 0.0, "mac_ns": 0.02207, "gathered_ns": 0.0, "result_ns": 0.0, "weight_ns": 0.40462},
   "matmul": {"call_us": 0.0, "mac_ns": 0.00721, "gathered_ns": 0.0, "result_ns": 0.0, "weight_ns": 0.04181}},
  "integer": {
   "conv": {"call_us": 0.0, "mac_ns": 0.00175, "gathered_ns": 0.0, "result_ns": 0.09347, "weight_ns": 0.00657},
   "pointwise": {"call_us": 0.0, "mac_ns": 0.00172, "gathered_ns": 0.0, "result_ns": 0.08079, "weight_ns": 0.00338},
   "depthwise": {"call_us": 0.0, "mac_ns": 0.01913, "gathered_ns": 0.0, "result_ns": 0.04373, "weight_ns": 0.0},
   "matmul": {"call_us": 0.0, "mac_ns": 0.00200, "gathered_ns": 0.0, "result_ns": 0.0, "weight_ns": 0.00397}},
  "dynamic": {
   "conv": {"call_us": 0.78670, "mac_ns": 0.00185, "gathered_ns": 0.00092, "result_ns": 0.06649, "weight_ns": 0.00419},
   "pointwise": {"call_us": 0.0, "mac_ns": 0.00114, "gathered_ns": 0.0, "result_ns": 0.28968, "weight_ns": 0.01428},
   "depthwise": {"call_us": 0.0, "mac_ns": 0.07878, "gathered_ns": 0.0, "result_ns": 0.61952, "weight_ns": 0.0},
   "matmul": {"call_us": 0.0, "mac_ns": 0.00203, "gathered_ns": 0.0, "result_ns": 0.0, "weight_ns": 0.00491}},
  "wide": {
   "conv": {"call_us": 0.0, "mac_ns": 0.25946, "gathered_ns": 0.0, "result_ns": 17.31325, "weight_ns": 0.0},
   "pointwise": {"call_us": 0.0, "mac_ns": 0.28583, "gathered_ns": 0.0, "result_ns": 6.50326, "weight_ns": 0.0},
   "depthwise": {"call_us": 0.0, "mac_ns": 0.62388, "gathered_ns": 0.0, "result_ns": 5.31779, "weight_ns": 0.0},
   "matmul": {"call_us": 0.0, "mac_ns": 0.22876, "gathered_ns": 0.0, "result_ns": 1.02746, "weight_ns": 0.0}}},
 "passes_ns": {
  "quantize": 0.0243, "dequantize": 0.0379, "quantize16": 0.104, "dequantize16": 0.0859, "requantize": 0.0256,
  "add": 0.0785, "mul": 0.036, "sigmoid": 0.0357, "max_pool": 0.1123, "transpose": 0.0216,
  "average": 0.0069, "float_add": 0.062, "float_mul": 0.0646, "float_sigmoid": 0.0899, "float_function": 0.063,
  "float_relu": 0.0644,
  "float_max_pool": 0.3635, "float_softmax": 0.2724, "float_transpose": 0.0594, "float_average": 0.0224,
  "wide_add": 1.3493, "wide_mul": 2.7237}})json";

}  // namespace

std::string_view measured_rates(Engine engine) { return engine == Engine::litert ? kLitert : kOrt; }

}  // namespace octavo::diagnose
