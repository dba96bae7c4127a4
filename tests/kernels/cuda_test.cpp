// The kernels for CUDA devices, on the host: all there are, in every way they are launched.
#include "cuda/cuda.h"

#include <cstring>
#include <fstream>
#include <regex>
#include <sstream>

#include "cuda/launch.h"
#include "kernels/conv_cases.h"
#include "kernels/harness.h"
#include "ops/max_pool/max_pool.h"
#include "ops/quantize/quantize.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"
#include "ops/reshape/reshape.h"
#include "ops/table/table.h"
#include "ops/transpose/transpose.h"
#include "support/cuda_emulator.h"

namespace octavo {
namespace {

std::vector<KernelChoice> tiles() { return {cuda_conv_choices().begin(), cuda_conv_choices().end()}; }

// The last two, which take weights with offsets.
std::vector<KernelChoice> small_tiles() { return {cuda_conv_choices().end() - 2, cuda_conv_choices().end()}; }

// How many blocks of a kernel a test ran.
class Blocks {
 public:
  explicit Blocks(std::string_view kernel) : kernel_(kernel), before_(testing::emulated_cuda_blocks(kernel)) {}
  std::int64_t run() const { return testing::emulated_cuda_blocks(kernel_) - before_; }

 private:
  std::string_view kernel_;
  std::int64_t before_;
};

// What nvcc compiles is what is emulated.
TEST(Cuda, SourceAndEmulatorHaveTheSameKernels) {
  std::ostringstream source;
  source << std::ifstream(std::string(OCTAVO_SOURCE_DIR) + "/src/cuda/device/kernels.cu").rdbuf();
  const std::string text = source.str();
  const std::regex kernel(R"(extern "C" __global__ void __launch_bounds__\([^)]*\) (\w+)\()");
  std::vector<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), kernel), end; at != end; ++at) names.push_back((*at)[1]);
  std::ranges::sort(names);
  const auto emulated = testing::emulated_cuda_kernels();
  EXPECT_EQ(names, std::vector<std::string>(emulated.begin(), emulated.end()));
}

// Tiles by hand: more than one in each direction, and what is left of one; K of one step, of several, and not whole.
TEST(Cuda, ConvolutionsOfSeveralTiles) {
  const Blocks sixteen("conv_128x128_16"), four("conv_64x64_4"), one("conv_32x32_1");
  for (const std::int64_t channels : {16, 48, 20, 3}) {
    for (const std::int64_t out_channels : {5, 130, 260}) {
      check({.batch = 2, .height = 9, .width = 11, .channels = channels, .out_channels = out_channels}, 1, tiles());
      check({.batch = 2,
             .height = 7,
             .width = 8,
             .channels = channels,
             .out_channels = out_channels,
             .kernel_h = 3,
             .kernel_w = 3,
             .top = 1,
             .left = 1,
             .bottom = 1,
             .right = 1},
            2, tiles());
    }
  }
  EXPECT_GT(sixteen.run(), 0);
  EXPECT_GT(four.run(), 0);
  EXPECT_GT(one.run(), 0);
}

TEST(Cuda, ConvolutionsOfEveryWindow) {
  for (const std::int64_t stride : {1, 2, 3}) {
    for (const std::int64_t dilation : {1, 2}) {
      check({.height = 13,
             .width = 12,
             .channels = 32,
             .out_channels = 20,
             .kernel_h = 3,
             .kernel_w = 2,
             .stride_h = stride,
             .stride_w = 2,
             .dilation_h = dilation,
             .dilation_w = 2,
             .top = 3,
             .left = 1,
             .bottom = 2,
             .right = 4,
             .groups = 2},
            3, tiles());
      check({.height = 23,
             .width = 24,
             .channels = 3,
             .out_channels = 40,
             .kernel_h = 7,
             .kernel_w = 7,
             .stride_h = stride,
             .stride_w = stride,
             .dilation_h = dilation,
             .top = 3,
             .left = 3,
             .bottom = 3,
             .right = 3},
            4, tiles());
    }
  }
}

TEST(Cuda, ConvolutionsOfEveryEpilogue) {
  for (const Addition residual :
       {Addition::none, Addition::before_rounding, Addition::real_first, Addition::real_second, Addition::integer}) {
    for (const bool has_table : {false, true}) {
      for (const std::int64_t out_channels : {64, 67}) {
        check({.height = 6,
               .width = 25,
               .channels = 16,
               .out_channels = out_channels,
               .has_rest = has_table,
               .residual = residual,
               .has_table = has_table},
              5, tiles());
      }
    }
  }
  for (const DType to : {DType::s32, DType::f32})
    check({.width = 70, .channels = 16, .out_channels = 70, .to = to}, 6, tiles());
}

// What stands behind the end of a row of x is not counted where K is no multiple of a step, padding is.
TEST(Cuda, ConvolutionsOfWeightsWithOffsets) {
  const Blocks small("conv_32x32_4_offset"), large("conv_64x64_16_offset");
  for (const std::int64_t channels : {16, 20, 3}) {
    for (const std::int64_t groups : {1, 2}) {
      if (channels % groups != 0) continue;
      check({.batch = 2,
             .height = 7,
             .width = 8,
             .channels = channels,
             .out_channels = 70,
             .kernel_h = 3,
             .kernel_w = 3,
             .top = 1,
             .left = 1,
             .bottom = 1,
             .right = 1,
             .groups = groups,
             .has_offset = true},
            12, small_tiles());
    }
  }
  EXPECT_GT(small.run(), 0);
  EXPECT_GT(large.run(), 0);
}

// As behind the images of VGG16.
TEST(Cuda, ProductsOfManyChannels) {
  check({.height = 1, .width = 1, .channels = 25088, .out_channels = 40}, 10, tiles());
}

// The largest products, of one sign and of both: sums are exact.
TEST(Cuda, ExtremeSums) {
  for (const std::int8_t weight : {std::int8_t{-128}, std::int8_t{127}}) {
    check({.width = 19,
           .channels = 2048,
           .out_channels = 20,
           .to = DType::s32,
           .least_weight = weight,
           .greatest_weight = weight},
          7, tiles());
  }
}

// Also in place, blocks backwards.
TEST(Cuda, LiesAboutPackedConstantsAreRefused) {
  const ConvCase c{.channels = 16, .out_channels = 40, .residual = Addition::before_rounding, .has_table = true};
  const ConvProblem p = make_problem(c, 11);
  Tensor x(DType::u8, p.x_shape), residual(DType::u8, p.y_shape);
  std::memcpy(x.data(), p.x.data(), x.bytes());
  std::memcpy(residual.data(), p.residual.data(), residual.bytes());
  const testing::KernelCase test{.spec = &kQuantizedConv,
                                 .attrs = p.attrs,
                                 .inputs = {x, p.w, p.bias, std::nullopt, p.multiplier, residual, p.table},
                                 .is_constant = {false, true, true, false, true, false, true}};
  const auto ran = testing::check_kernels(test);
  for (const KernelChoice& kernel : tiles())
    EXPECT_TRUE(ran.contains(std::string(kernel.code.name))) << kernel.code.name;
}

testing::KernelCase window_case(const OpSpec& op, Attrs attrs, Tensor x) {
  return {.spec = &op, .attrs = std::move(attrs), .inputs = {std::move(x)}};
}

TEST(Cuda, MovesAndTables) {
  std::mt19937 random(8);
  const auto run = [](const testing::KernelCase& test, const char* name) {
    EXPECT_TRUE(testing::check_kernels(test).contains(name)) << name;
  };
  for (const std::int64_t n : {1, 3, 4, 1027}) {
    const Tensor x = testing::random_tensor(random, DType::u8, {n});
    for (const DType to : {DType::u8, DType::f32}) {
      const Tensor table = testing::random_tensor(random, to, {256});
      run({.spec = &kTable, .inputs = {x, table}, .is_constant = {false, true}}, "table_cuda");
    }
    run(window_case(kReshape, ReshapeAttrs{.shape = {1, n}}, x), "reshape_copy_cuda");
  }
  for (const DType type : {DType::u8, DType::f32}) {
    const Tensor x = testing::random_tensor(random, type, {2, 3, 5, 7});
    run(window_case(kTranspose, TransposeAttrs{.perm = {0, 2, 3, 1}}, x), "transpose_cuda");
    run(window_case(kTranspose, TransposeAttrs{.perm = {3, 0, 2, 1}}, x), "transpose_cuda");
  }
  for (const DType type : {DType::u8, DType::s8}) {
    testing::KernelCase test{.spec = &kQuantize, .attrs = QuantizeAttrs{.to = type}};
    Tensor scale(DType::f32, {}), zero_point(type, {});
    scale.as<float>()[0] = 0.037f;
    zero_point.as<std::int8_t>()[0] = 11;
    test.inputs = {testing::random_tensor(random, DType::f32, {5, 77}), scale, zero_point};
    test.is_constant = {false, true, true};
    run(test, "quantize_f32_cuda");
  }
}

TEST(Cuda, MaxPools) {
  std::mt19937 random(9);
  for (const std::int64_t stride : {1, 2}) {
    const MaxPoolAttrs attrs{.window = {{3, 2}, {stride, 2}, {1, 2}, {1, 1}, {1, 0}}, .layout = Layout::channels_last};
    for (const DType type : {DType::u8, DType::f32}) {
      const Tensor x = testing::random_tensor(random, type, {2, 9, 10, 5});
      EXPECT_TRUE(testing::check_kernels(window_case(kMaxPool, attrs, x)).contains("max_pool_cuda"));
    }
  }
}

TEST(Cuda, NamesAndLimits) {
  for (const KernelChoice& choice : cuda_element_choices()) {
    EXPECT_EQ(choice.code.needs, Isa::cuda) << choice.code.name;
    EXPECT_TRUE(choice.code.name.ends_with("_cuda")) << choice.code.name;
    EXPECT_EQ(library_of(choice.code.name), "octavo_cuda");
  }
  for (const KernelChoice& choice : cuda_library_conv_choices()) {
    EXPECT_EQ(choice.code.needs, Isa::tf32) << choice.code.name;
    EXPECT_FALSE(choice.is_exact) << choice.code.name;
    EXPECT_EQ(library_of(choice.code.name), "octavo_cuda");
  }
  EXPECT_EQ(cuda::grid_refusal({1, 1, 1}), "");
  EXPECT_NE(cuda::grid_refusal({1, 65536, 1}), "");
}

}  // namespace
}  // namespace octavo
