// What follows the sums of quantized_conv: types of results, multipliers, additions, tables; on every tile, exactly.
#include <limits>

#include "kernels/conv_tiles.h"

namespace octavo {
namespace {

TEST(ConvEpilogue, OutputTypes) {
  for (std::int64_t oc : {5, 16, 31, 64, 77}) {
    for (DType to : {DType::s32, DType::f32})
      check({.height = 4, .width = 11, .channels = 20, .out_channels = oc, .to = to}, 19);
    check({.height = 4,
           .width = 11,
           .channels = 20,
           .out_channels = oc,
           .to = DType::s8,
           .zero_point = -17,
           .lowest = -128,
           .highest = 127},
          20);
    check({.height = 4,
           .width = 11,
           .channels = 20,
           .out_channels = oc,
           .to = DType::s8,
           .zero_point = 4,
           .lowest = -20,
           .highest = 90},
          21);
    check({.height = 4, .width = 11, .channels = 20, .out_channels = oc, .to = DType::u8, .zero_point = 131}, 22);
    check({.height = 4,
           .width = 11,
           .channels = 20,
           .out_channels = oc,
           .to = DType::u8,
           .zero_point = 30,
           .lowest = 30,
           .highest = 201},
          23);
  }
}

ConvCase to_s16(std::int64_t channels, float multiplier) {
  ConvCase c{.height = 4, .width = 11, .channels = 20, .out_channels = channels, .to = DType::s16};
  c.zero_point = multiplier == 0.4f ? -300 : 0, c.lowest = -32768, c.highest = 32767, c.multiplier = multiplier;
  if (channels == 31) c.lowest = -1000, c.highest = 700;
  return c;
}

TEST(ConvEpilogue, S16Results) {
  for (std::int64_t oc : {5, 8, 16, 31, 48, 64, 77}) {
    for (const float multiplier : {0.0f, 0.4f, 0.9f}) check(to_s16(oc, multiplier), 31);
  }
}

TEST(ConvEpilogue, S16Additions) {
  for (std::int64_t oc : {5, 8, 16, 31, 48, 64, 77}) {
    for (const DType type : {DType::u8, DType::s8, DType::s16}) {
      for (const float multiplier : {0.0f, 0.4f, 0.9f}) {
        ConvCase c = to_s16(oc, multiplier);
        c.residual = Addition::before_rounding, c.residual_type = type;
        check(c, 33);
      }
    }
    check({.width = 11,
           .channels = 20,
           .out_channels = oc,
           .residual = Addition::before_rounding,
           .residual_type = DType::s16},
          32);
  }
}

TEST(ConvEpilogue, Multipliers) {
  const float huge = 3e38f, infinite = std::numeric_limits<float>::infinity(),
              none = std::numeric_limits<float>::quiet_NaN();
  for (float multiplier : {1e-20f, 0.49f, 0.9f, 7.0f, 1e5f, huge, infinite, none, -0.01f, -1e9f}) {
    check({.height = 4, .width = 11, .channels = 20, .out_channels = 40, .zero_point = 12, .multiplier = multiplier},
          24);
    check({.height = 4,
           .width = 11,
           .channels = 20,
           .out_channels = 40,
           .to = DType::s8,
           .zero_point = -12,
           .lowest = -128,
           .highest = 127,
           .multiplier = multiplier},
          25);
  }
}

TEST(ConvEpilogue, Residuals) {
  for (Addition residual :
       {Addition::before_rounding, Addition::real_first, Addition::real_second, Addition::integer}) {
    for (std::int64_t oc : {4, 13, 16, 23, 32, 64, 66, 79}) {
      for (DType type : {DType::u8, DType::s8}) {
        check({.height = 5,
               .width = 9,
               .channels = 24,
               .out_channels = oc,
               .zero_point = 9,
               .residual = residual,
               .residual_type = type},
              26);
        check({.height = 5,
               .width = 9,
               .channels = 24,
               .out_channels = oc,
               .to = DType::s8,
               .zero_point = -9,
               .lowest = -128,
               .highest = 127,
               .residual = residual,
               .residual_type = type},
              27);
        check({.height = 5,
               .width = 9,
               .channels = 24,
               .out_channels = oc,
               .zero_point = 120,
               .residual = residual,
               .residual_type = type,
               .shift = 128},
              35);
        check({.height = 3,
               .width = 9,
               .channels = 24,
               .out_channels = oc,
               .residual = residual,
               .residual_type = type,
               .multiplier = 40.0f},
              28);
      }
    }
  }
}

TEST(ConvEpilogue, Tables) {
  for (std::int64_t oc : {3, 16, 24, 32, 40, 64, 96, 130}) {
    check({.height = 5, .width = 30, .channels = 24, .out_channels = oc, .zero_point = 90, .has_table = true}, 29);
    check({.height = 5,
           .width = 9,
           .channels = 24,
           .out_channels = oc,
           .zero_point = 100,
           .has_table = true,
           .table_type = DType::s8},
          30);
    for (std::int32_t zero_point : {0, 100}) {
      check({.height = 5,
             .width = 9,
             .channels = 24,
             .out_channels = oc,
             .zero_point = zero_point,
             .has_table = true,
             .table_type = DType::s8,
             .table_flips = true},
            30);
    }
    check({.height = 5,
           .width = 9,
           .channels = 24,
           .out_channels = oc,
           .to = DType::s8,
           .zero_point = 1,
           .lowest = -128,
           .highest = 127,
           .residual = Addition::before_rounding,
           .has_table = true},
          31);
  }
}

}  // namespace
}  // namespace octavo
