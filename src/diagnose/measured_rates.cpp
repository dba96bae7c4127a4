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
 "node_us": 0.022,
 "products": {
  "packed_float": {
   "conv": {"call_us": 0.74988, "mac_ns": 0.00648, "gathered_ns": 0.0, "result_ns": 0.45673, "weight_ns": 0.13335},
   "pointwise": {"call_us": 0.0, "mac_ns": 0.00667, "gathered_ns": 0.0, "result_ns": 0.09365, "weight_ns": 0.02045},
   "depthwise": {"call_us": 0.0, "mac_ns": 0.02088, "gathered_ns": 0.0, "result_ns": 0.00457, "weight_ns": 0.83712},
   "matmul": {"call_us": 0.0, "mac_ns": 0.00749, "gathered_ns": 0.0, "result_ns": 0.0, "weight_ns": 0.04208}},
  "integer": {
   "conv": {"call_us": 0.0, "mac_ns": 0.00181, "gathered_ns": 0.00339, "result_ns": 0.0548, "weight_ns": 0.00475},
   "pointwise": {"call_us": 0.0, "mac_ns": 0.00175, "gathered_ns": 0.0, "result_ns": 0.08301, "weight_ns": 0.0026},
   "depthwise": {"call_us": 0.03411, "mac_ns": 0.0202, "gathered_ns": 0.0, "result_ns": 0.03734, "weight_ns": 0.0},
   "matmul": {"call_us": 0.0, "mac_ns": 0.0021, "gathered_ns": 0.0, "result_ns": 0.0, "weight_ns": 0.00415}},
  "unsigned_slow": {
   "conv": {"call_us": 0.0, "mac_ns": 0.00731, "gathered_ns": 0.0, "result_ns": 0.19549, "weight_ns": 0.00927},
   "pointwise": {"call_us": 0.0, "mac_ns": 0.00632, "gathered_ns": 0.0, "result_ns": 0.15591, "weight_ns": 0.01039},
   "depthwise": {"call_us": 0.0, "mac_ns": 0.02293, "gathered_ns": 0.0, "result_ns": 0.04788, "weight_ns": 0.0},
   "matmul": {"call_us": 0.0, "mac_ns": 0.00676, "gathered_ns": 0.0, "result_ns": 0.24228, "weight_ns": 0.00344}},
  "dynamic": {
   "conv": {"call_us": 0.0, "mac_ns": 0.00183, "gathered_ns": 0.00391, "result_ns": 0.07406, "weight_ns": 0.00313},
   "pointwise": {"call_us": 0.0, "mac_ns": 0.00118, "gathered_ns": 0.0, "result_ns": 0.29478, "weight_ns": 0.01708},
   "depthwise": {"call_us": 0.0, "mac_ns": 0.08253, "gathered_ns": 0.0, "result_ns": 0.63744, "weight_ns": 0.0},
   "matmul": {"call_us": 0.0, "mac_ns": 0.00211, "gathered_ns": 0.0, "result_ns": 0.0, "weight_ns": 0.00441}},
  "wide": {
   "conv": {"call_us": 0.0, "mac_ns": 0.27809, "gathered_ns": 0.0, "result_ns": 18.52354, "weight_ns": 0.0},
   "pointwise": {"call_us": 0.0, "mac_ns": 0.29069, "gathered_ns": 0.0, "result_ns": 7.04888, "weight_ns": 0.0},
   "depthwise": {"call_us": 0.0, "mac_ns": 0.64529, "gathered_ns": 0.0, "result_ns": 5.80059, "weight_ns": 0.0},
   "matmul": {"call_us": 0.0, "mac_ns": 0.22678, "gathered_ns": 0.0, "result_ns": 4.44193, "weight_ns": 0.00081}}},
 "passes_ns": {
  "quantize": 0.0268, "dequantize": 0.0433, "quantize16": 0.1094, "dequantize16": 0.0866, "requantize": 0.0256,
  "add": 0.0807, "mul": 0.0369, "sigmoid": 0.0373, "max_pool": 0.1159, "transpose": 0.0219, "average": 0.0077,
  "float_add": 0.0655, "float_mul": 0.0637, "float_sigmoid": 0.0891, "float_function": 0.0641, "float_relu": 0.0638,
  "float_max_pool": 0.3678, "float_softmax": 0.2705, "float_transpose": 0.0722, "float_average": 0.0168,
  "float_window": 0.1646, "slow_relu": 6.5072, "slow_function": 3.0, "slow_softmax": 1.8184, "slow_window": 3.3867,
  "wide_add": 1.3632, "wide_mul": 2.7778}})json";

}  // namespace

std::string_view measured_rates(Engine engine) { return engine == Engine::litert ? kLitert : kOrt; }

}  // namespace octavo::diagnose
