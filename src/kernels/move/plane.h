// The contract of transposition: one plane, rows and columns exchanged. Part of kernels/.
#ifndef OCTAVO_KERNELS_MOVE_PLANE_H_
#define OCTAVO_KERNELS_MOVE_PLANE_H_

#include <cstddef>
#include <cstdint>

namespace octavo {

// y[r * y_stride + c] = x[c * x_stride + r]; strides in elements.
struct Plane {
  const std::byte* x = nullptr;
  std::byte* y = nullptr;
  std::int64_t rows = 0, columns = 0;
  std::int64_t x_stride = 0, y_stride = 0;
};

struct PlaneFunctions {
  void (*bytes)(const Plane&);
  void (*halves)(const Plane&);  // 2 bytes
  void (*words)(const Plane&);   // 4 bytes
  void (*longs)(const Plane&);   // 8 bytes
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_MOVE_PLANE_H_
