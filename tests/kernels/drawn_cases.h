// Convolutions drawn at random, small ones of every kind.
#ifndef OCTAVO_TESTS_KERNELS_DRAWN_CASES_H_
#define OCTAVO_TESTS_KERNELS_DRAWN_CASES_H_

#include <random>

#include "kernels/conv_cases.h"

namespace octavo {

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  std::int64_t operator()(int lowest, int highest) {
    return lowest + static_cast<int>(random_() % static_cast<unsigned>(highest - lowest + 1));
  }

 private:
  std::mt19937 random_;
};

inline ConvCase draw_case(Draw& draw) {
  ConvCase c{.batch = draw(1, 2), .height = draw(1, 20), .width = draw(1, 40), .kernel_h = draw(1, 3)};
  c.kernel_w = draw(0, 3) == 0 ? draw(1, 4) : c.kernel_h;
  c.stride_h = c.stride_w = draw(1, 2);
  c.dilation_w = c.dilation_h = draw(0, 5) == 0 ? 2 : 1;
  c.top = c.bottom = draw(0, 2), c.left = c.right = draw(0, 2);
  c.bottom += c.dilation_h * c.kernel_h, c.right += c.dilation_w * c.kernel_w;
  c.groups = draw(0, 4) == 0 ? draw(2, 4) : 1;
  c.channels = c.groups * (draw(0, 2) == 0 ? 64 : draw(2, 150));
  c.out_channels = c.groups * draw(1, 90);
  c.has_offset = draw(0, 4) == 0;
  c.x_zero_point = static_cast<std::int32_t>(draw(0, 1) * 117);
  c.has_table = draw(0, 3) == 0;
  c.residual = draw(0, 2) == 0 ? Addition::before_rounding : Addition::none;
  return c;
}

}  // namespace octavo

#endif  // OCTAVO_TESTS_KERNELS_DRAWN_CASES_H_
