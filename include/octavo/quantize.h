// From an fp32 model to a quantized one that other programs read, too. Part of the public API.
//
//   auto quantized = octavo::v1::quantize("resnet18.onnx", {.samples = ...});
//   if (!quantized) return report(quantized.errors());
//   auto bytes = quantized->onnx();  // DequantizeLinear -> operator -> QuantizeLinear, opset 17
#ifndef OCTAVO_QUANTIZE_H_
#define OCTAVO_QUANTIZE_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "octavo/compile.h"

namespace octavo::v1 {

// Immutable; copies share it.
class QuantizedModel {
 public:
  // The bytes of a standard ONNX file with quantize/dequantize pairs. compile() makes of it what it makes of the
  // original with the same options. Its batch is symbolic where the original's is. Errors (unsupported): nodes that
  // ONNX has no form for, each by its name.
  Result<std::string> onnx() const;
  // All that the samples taught, as JSON: docs/cli.md tells the keys. parse_scales() of it, and the model compiles to
  // the same bytes without samples.
  std::string scales() const;
  // The same for CompileOptions::calibrated.
  Calibration calibrated() const;
  // "node: reason"; lives as long as the model.
  const std::vector<std::string>& kept_in_float() const;
  // What computes in integers, by the names of its nodes: each can be kept in float by CompileOptions::skip.
  std::vector<std::vector<std::string>> groups() const;

 private:
  friend struct Access;
  struct Impl;
  explicit QuantizedModel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// What compile() does before it lowers. Of the options those count that say how an fp32 file becomes int8, `shapes`,
// `integer_only`, `progress` and `stop`. Errors: those of compile(); usage where the file is quantized already.
Result<QuantizedModel> quantize(const std::string& path, const CompileOptions& options);

// The same of a file's bytes, as compile() takes them.
Result<QuantizedModel> quantize(std::span<const std::byte> bytes, const std::string& name,
                                const CompileOptions& options);

// What scales() wrote, edited or not, for CompileOptions::calibrated. `file` names it in messages.
// Errors (invalid_input): all at once, each with the tensor's name.
Result<Calibration> parse_scales(std::string_view text, const std::string& file);

}  // namespace octavo::v1

#endif  // OCTAVO_QUANTIZE_H_
