// OnnxBuilder: writes networks node by node in the form of torch's exporter. Part of zoo/.
#ifndef OCTAVO_ZOO_BUILDER_H_
#define OCTAVO_ZOO_BUILDER_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace octavo::zoo {

// A wire and its number of channels.
struct Wire {
  std::string name;
  std::int64_t channels = 0;
};

// What follows a convolution in the original network.
enum class Norm : std::uint8_t {
  batch,  // a batch norm, folded: its statistics are set by normalize()
  none,   // a plain bias, 0
};

struct ConvShape {
  std::int64_t out = 1;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t groups = 1;
  Norm norm = Norm::batch;
  std::int64_t padding = -1;  // -1: (kernel - 1) / 2
};

enum class Activation : std::uint8_t { none, relu, relu6, silu, hard_swish };

// Zeros, where only the structure matters: VGG's random numbers take seconds.
enum class Weights : std::uint8_t { seeded, zero };

void set_int(onnx::NodeProto& node, const std::string& name, std::int64_t value);
void set_ints(onnx::NodeProto& node, const std::string& name, const std::vector<std::int64_t>& values);
void set_float(onnx::NodeProto& node, const std::string& name, float value);

class OnnxBuilder {
 public:
  // The input's sizes behind the batch.
  OnnxBuilder(std::string name, std::uint64_t seed, Weights weights = Weights::seeded,
              const std::vector<std::int64_t>& input = {3, 224, 224});

  Wire input() const { return {"input", 3}; }
  Wire conv(const Wire& x, const ConvShape& shape, Activation activation = Activation::none);
  Wire activate(const Wire& x, Activation activation);
  Wire sigmoid(const Wire& x);
  Wire hard_sigmoid(const Wire& x);
  Wire add(const Wire& a, const Wire& b);
  Wire mul(const Wire& a, const Wire& b);
  Wire concat(const Wire& a, const Wire& b);
  Wire max_pool(const Wire& x, std::int64_t kernel, std::int64_t stride, std::int64_t padding, bool is_ceil = false);
  Wire average_pool_to_same(const Wire& x);  // an adaptive pool that changes nothing, as torch exports it
  Wire global_average_pool(const Wire& x);
  Wire flatten(const Wire& x, std::int64_t channels);
  Wire gemm(const Wire& x, std::int64_t out);
  onnx::ModelProto finish(const Wire& output) { return finish(output, {output.channels}); }

  // Names of the convolutions with Norm::batch.
  const std::vector<std::string>& normalized() const { return normalized_; }
  // The bias of the last gemm; empty where there is none.
  const std::string& classifier_bias() const { return classifier_bias_; }

 protected:
  // Sizes of the output behind the batch.
  onnx::ModelProto finish(const Wire& output, const std::vector<std::int64_t>& sizes);
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs);
  Wire output_of(const onnx::NodeProto& made, std::int64_t channels) const { return {made.output(0), channels}; }
  std::string tensor(const std::string& name, const std::vector<std::int64_t>& shape, double deviation);
  std::string scalar_node(float value);
  std::string integers(const std::vector<std::int64_t>& values);
  int count_ = 0;  // of names

 private:
  double normal();

  onnx::ModelProto model_;
  std::mt19937_64 random_;
  Weights weights_;
  std::vector<std::string> normalized_;
  std::string classifier_bias_;
};

}  // namespace octavo::zoo

#endif  // OCTAVO_ZOO_BUILDER_H_
