// AmxLines: lines of an image of x with padding around them, copied into a thread's scratch as its units come to need
// them. Part of kernels/conv/.
#ifndef OCTAVO_KERNELS_CONV_X86_AMX_LINES_H_
#define OCTAVO_KERNELS_CONV_X86_AMX_LINES_H_

#include <cstddef>
#include <cstdint>

#include "kernels/conv/geometry.h"

namespace octavo {

// What the copies of a convolution look like: [line][column][channel], without a gap, so that neighbouring lines may
// meet in one tile register.
struct AmxLinesPlan {
  std::int64_t columns = 0;
  std::int64_t line_bytes = 0;
  std::int64_t lines = 0;  // kept at a time
  std::int64_t bytes = 0;  // of scratch: a multiple of 64

  // Enough for `out_lines` lines of the output at a time, and for more where they stay in the cache.
  static AmxLinesPlan of(const ConvGeometry& geometry, std::int64_t out_lines, std::int64_t cache_bytes);
};

class AmxLines {
 public:
  // `copies`: the plan's bytes.
  AmxLines(const ConvGeometry& geometry, const AmxLinesPlan& plan, std::int32_t zero_point, std::uint8_t* copies)
      : g_(geometry), plan_(plan), zero_point_(zero_point), copies_(copies) {}

  // Where the first row of K lies for line `first` of the output, once all lines under [first, first + count) are
  // there.
  const std::uint8_t* lines_under(const std::uint8_t* x, std::int64_t image, std::int64_t first,
                                  std::int64_t count) noexcept;

 private:
  void copy_line(const std::uint8_t* image, std::int64_t line, std::uint8_t* to) const noexcept;

  const ConvGeometry& g_;
  const AmxLinesPlan& plan_;
  const std::int32_t zero_point_;
  std::uint8_t* const copies_;
  // Lines [begin_, end_) of `image_`, counted from the first one of padding, are there.
  std::int64_t image_ = -1, begin_ = 0, end_ = 0;
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_CONV_X86_AMX_LINES_H_
