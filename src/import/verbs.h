// The verbs of importers: an operator's arguments as a struct, with the defaults that most formats have; each verb
// checks them and adds the nodes. Every verb gives a value that does not exist, and an error with its place, where the
// arguments make no sense, and builds nothing after an earlier error. Part of import/.
#ifndef OCTAVO_IMPORT_VERBS_H_
#define OCTAVO_IMPORT_VERBS_H_

#include "import/builder.h"
#include "import/float_factors.h"
#include "ops/argmax/argmax.h"
#include "ops/attention/attention.h"
#include "ops/pad/pad.h"
#include "ops/reduce/reduce.h"
#include "ops/resize/resize.h"
#include "ops/softmax/softmax.h"
#include "ops/window.h"

namespace octavo::importing {

// ---- windows (images.cpp) ----

// So much padding that ceil(size / stride) windows fit: an odd rest goes to the end (upper) or to the beginning
// (lower).
enum class Padding { given, valid, same_upper, same_lower };

// How something slides over the spatial axes. Lists are empty, which means strides and dilations of 1 and no padding,
// or have a number per axis (pads: all begins, then all ends).
struct WindowArgs {
  Numbers kernel;  // a convolution may leave it out: the weights have it
  Numbers strides, dilations, pads;
  Padding padding = Padding::given;
};

// x [N, C, spatial...], w [OC, C / groups, spatial...]; or channels last: x [N, spatial..., C], w [OC, spatial..., C /
// groups].
struct ConvArgs {
  ValueId x, w, bias;  // the bias may be left out
  WindowArgs window;
  std::int64_t groups = 1;
  Layout layout = Layout::channels_first;
};
Window conv_window(NodeBuilder& in, const ConvArgs& args);
ValueId conv(NodeBuilder& in, const ConvArgs& args, std::string_view suffix = {});

// x and w as for conv: w has the output channels of all groups first.
struct ConvTransposeArgs {
  ValueId x, w, bias;  // the bias may be left out
  // Padding is cut off the result; by name, so much of it that there are size * stride positions, or `sizes`. An odd
  // rest goes to the end (upper) or to the beginning.
  WindowArgs window;
  Numbers output_padding;  // empty: none
  Numbers sizes;           // of the result, along the spatial axes; empty: what the padding leaves
  std::int64_t groups = 1;
  Layout layout = Layout::channels_first;
};
ValueId conv_transpose(NodeBuilder& in, const ConvTransposeArgs& args);
// Weights [C, OC / groups, spatial...] as [OC, C / groups, spatial...]; a dequantized constant stays one.
ValueId output_channels_first(NodeBuilder& in, ValueId w, const Number& groups);

struct PoolArgs {
  ValueId x;
  WindowArgs window;
  Rounding rounding = Rounding::floor;
  bool counts_pad = false;  // padding counts in an average
  Layout layout = Layout::channels_first;
};
ValueId average_pool(NodeBuilder& in, const PoolArgs& args, std::string_view suffix = {});
ValueId max_pool(NodeBuilder& in, const PoolArgs& args, std::string_view suffix = {});
// Where the elements of max_pool lie, as numbers of elements of x, channels first; `is_column_major`: with the first
// spatial axis as the innermost one.
ValueId argmax_pool(NodeBuilder& in, const PoolArgs& args, bool is_column_major, std::string_view suffix = {});
// (sum of |x|^p under the window)^(1/p); padding counts as 0.
ValueId lp_pool(NodeBuilder& in, const PoolArgs& args, float p);
// Over all spatial axes.
ValueId global_pool(NodeBuilder& in, ValueId x, ReduceKind kind, Layout layout, std::string_view suffix = {});

// `axes` get these sizes; the factors of the coordinate formula are `scales` where given, else those of the sizes. What
// `attrs` says besides stays.
struct ResizeArgs {
  ValueId x;
  Integers axes;
  Numbers sizes;
  std::vector<float> scales;
  ResizeAttrs attrs;
};
ValueId resize(NodeBuilder& in, const ResizeArgs& args);
// floor(size * scale), the product rounded to f32, as ONNX Runtime computes it, or f64, as PyTorch does: 0.7f * 10
// is 7. Where whole_product knows no expression an open size is that of the example.
Dim scaled(const Dim& size, const FloatFactor& scale);
// What a resize from one size to another scales by, for ResizeAttrs.
float ratio(const Dim& to, const Dim& from);

// Blocks of size x size pixels as channels, and back. `is_depth_first`: channels [size, size, C], else [C, size, size].
struct BlockArgs {
  ValueId x;
  Number size;
  Layout layout = Layout::channels_first;
  bool is_depth_first = true;
};
ValueId space_to_depth(NodeBuilder& in, const BlockArgs& args);
ValueId depth_to_space(NodeBuilder& in, const BlockArgs& args);

// ---- shapes (shaping.cpp) ----

// One dimension may be -1: what is left of the elements.
std::optional<Extents> completed(Extents dims, const Dim& elements);
ValueId reshape_to(NodeBuilder& in, ValueId x, const Numbers& dims);
// Without these axes of size 1, or without all of size 1; others that are named are an error, or stay.
enum class NotOne { is_error, stays };
ValueId squeeze(NodeBuilder& in, ValueId x, const std::optional<Numbers>& axes, NotOne not_one = NotOne::is_error);
// With new axes of size 1, which are axes of the result.
ValueId unsqueeze(NodeBuilder& in, ValueId x, const Numbers& axes, std::string_view suffix = {});
ValueId transpose(NodeBuilder& in, ValueId x, const Numbers& perm, std::string_view suffix = {});
// All other axes stay.
ValueId swap_axes(NodeBuilder& in, ValueId x, std::int64_t a, std::int64_t b, std::string_view suffix = {});
ValueId expand(NodeBuilder& in, ValueId x, const Numbers& dims, std::string_view suffix = {});
// x several times along each axis; repeats beyond its rank are new axes in front.
ValueId tile(NodeBuilder& in, ValueId x, const Numbers& repeats);

// Python's slice of an axis of `size`: positions from the end are negative, positions beyond the ends are cut; step is
// not 0. All of an axis: [0, kFar) or, backwards, [kFar, -kFar).
inline constexpr std::int64_t kFar = kMaxElements;  // beyond any axis, and far from overflow
struct Range {
  Dim start = 0;
  std::int64_t step = 1;
  Dim size = 0;
};
Range range_of_slice(const Dim& size, const Dim& start, const Dim& end, std::int64_t step);
// x[range] along the axis; x itself where that is all of it.
ValueId slice(NodeBuilder& in, ValueId x, std::int64_t axis, const Range& range, std::string_view suffix = {});
// One range per axis.
ValueId slice(NodeBuilder& in, ValueId x, const std::vector<Range>& ranges, std::string_view suffix = {});
std::vector<Range> whole(const OpenShape& shape);
// Without the axis.
ValueId pick(NodeBuilder& in, ValueId x, std::int64_t axis, const Number& index, std::string_view suffix = {});
// Results 0, 1, ... are the indices of the axis, or parts of these sizes along it.
void unstack(NodeBuilder& in, ValueId x, const Number& axis);
void split(NodeBuilder& in, ValueId x, const Number& axis, const Numbers& sizes);

ValueId concat(NodeBuilder& in, const std::vector<ValueId>& parts, const Number& axis, std::string_view suffix = {});
// Along a new axis.
ValueId stack(NodeBuilder& in, std::vector<ValueId> parts, const Number& axis);
ValueId gather(NodeBuilder& in, ValueId x, ValueId indices, const Number& axis);
ValueId gather_elements(NodeBuilder& in, ValueId x, ValueId indices, const Number& axis);

// Elements before and after each of `axes` (empty: of all). `value` has one element; left out: 0.
struct PadArgs {
  ValueId x;
  Numbers begin, end;
  PadMode mode = PadMode::constant;
  ValueId value;
  Integers axes;
};
ValueId pad(NodeBuilder& in, const PadArgs& args, std::string_view suffix = {});

// ---- positions, and what is picked by them (selection.cpp) ----

// start, start + delta, ... before limit: scalars of one type, known at compile time, or sizes that are known in a run.
ValueId range(NodeBuilder& in, ValueId start, ValueId limit, ValueId delta);
// start, start + delta, ...: `count` numbers.
ValueId counted_from(NodeBuilder& in, ValueId start, ValueId delta, const Dim& count);
// How many numbers a range of integers has, which may be computed in a run: a scalar.
ValueId count_of_range(NodeBuilder& in, ValueId start, ValueId limit, ValueId delta);
// 0, 1, ... as many as the extent says.
ValueId counted(NodeBuilder& in, const Dim& count, DType type, const std::string& name);
// The position of each element along an axis of `shape`, in s64; of size 1 along the others.
ValueId positions_along(NodeBuilder& in, const OpenShape& shape, std::int64_t axis, const std::string& name);
// Indices of an axis of `size`, of which negative ones count from the end, as positions in s64.
ValueId from_the_end(NodeBuilder& in, ValueId indices, const Dim& size);
// The first k elements along the axis, sorted, and their positions in s64.
struct TopElements {
  ValueId values, positions;
};
TopElements topk(NodeBuilder& in, ValueId x, const Number& axis, const Number& k, bool largest);
// Axes (normalised) backwards.
ValueId flip(NodeBuilder& in, ValueId x, const Integers& axes);
// `on` where an index equals the position along a new axis of size `depth`, else `off`, which are scalars.
struct OneHotArgs {
  ValueId indices, on, off;
  Dim depth;
  Number axis;
  bool wraps = true;  // negative indices count from the end
};
ValueId one_hot(NodeBuilder& in, const OneHotArgs& args);
// 1 at the first of the largest elements along the axis, else 0.
ValueId hardmax(NodeBuilder& in, ValueId x, std::int64_t axis);
// Of the elements of a matrix: how the column compares with the row plus `diagonal`.
ValueId diagonal_mask(NodeBuilder& in, BinaryKind kind, const OpenShape& matrix, std::int64_t diagonal);
// Of the last two axes, what lies on or above the diagonal, or on or below it; 0 elsewhere.
ValueId trilu(NodeBuilder& in, ValueId x, std::int64_t diagonal, bool is_upper);
// The first lengths[b] elements along the time axis backwards, for each index b of the batch axis; the others stay.
struct ReverseArgs {
  ValueId x, lengths;
  Number time_axis, batch_axis;
};
ValueId reverse_sequence(NodeBuilder& in, const ReverseArgs& args);

// ---- random numbers (random.cpp) ----

// f32 numbers that a seed and each element's position decide; without a seed of the file's that of the options, which
// gives every operator numbers of its own, or the clock's. An error in loops.
struct RandomArgs {
  Extents shape;
  std::optional<std::uint64_t> seed;
  float scale = 1.0f, offset = 0.0f;
};
// offset + scale * u, u in [0, 1) a multiple of 2^-24.
ValueId random_uniform(NodeBuilder& in, const RandomArgs& args, std::string_view suffix = {});
// offset + scale * a number of the standard normal distribution.
ValueId random_normal(NodeBuilder& in, const RandomArgs& args, std::string_view suffix = {});
// `count` classes for each row of logits [batch, classes], as their softmax has them: s64 [batch, count].
ValueId random_classes(NodeBuilder& in, ValueId logits, std::int64_t count, std::optional<std::uint64_t> seed,
                       std::string_view suffix = {});

// ---- sums, products, normalisations (products.cpp) ----

struct ReduceArgs {
  ValueId x;
  ReduceKind kind = ReduceKind::sum;
  Numbers axes;
  bool keeps_dims = true;
  bool empty_is_all = true;  // no axes: over all of them; else over none
  bool may_repeat = false;   // an axis named twice is as good as once
};
ValueId reduce(NodeBuilder& in, const ReduceArgs& args, std::string_view suffix = {});
// (sum of |x|^p)^(1/p) over the axes.
ValueId lp_norm(NodeBuilder& in, const ReduceArgs& args, float p, std::string_view suffix = {});
ValueId argmax(NodeBuilder& in, ValueId x, const Number& axis, ArgmaxAttrs attrs, std::string_view suffix = {});

// a · b, plus a bias where there is one.
ValueId matmul(NodeBuilder& in, ValueId a, ValueId b, ValueId bias = {}, std::string_view suffix = {});
// Einstein's notation (einsum.cpp): "ij,jk->ik"; `place` names the equation in messages.
ValueId einsum(NodeBuilder& in, const std::string& equation, const std::string& place, std::vector<ValueId> operands);
// |x|^p and its inverse, y^(1/p) of a sum of such; of p = 1 and 2 without logarithms.
ValueId absolute_power(NodeBuilder& in, ValueId x, float p);
ValueId root(NodeBuilder& in, ValueId y, float p, std::string_view suffix = {});
// x itself where the factor is 1.
ValueId scaled(NodeBuilder& in, ValueId x, double factor, std::string_view suffix);

// Whether a file may have a constant made of so many elements, which count as folded; an error where not.
bool may_make(NodeBuilder& in, const std::string& place, std::int64_t rows, std::int64_t columns);
inline constexpr double kTurn = 0x1.921fb54442d18p+2;  // 2 pi
// The discrete Fourier transform of numbers or pairs (fourier.cpp), along another axis than the last, which has their
// parts: x is cut, or followed by zeros, to `length`. Half of the bins where it is one-sided; the inverse of half of
// the bins is real. `name` begins the names of its nodes.
struct DftArgs {
  ValueId x;  // [..., 1 or 2]
  std::int64_t axis = 0;
  std::optional<Number> length;
  bool is_inverse = false, is_onesided = false;
  std::string name;
};
ValueId dft(NodeBuilder& in, const DftArgs& args);

struct NormArgs {
  ValueId x, scale, bias;  // left out: 1 and 0
  float epsilon = 1e-5f;
};
// Along axis 1.
ValueId batch_norm(NodeBuilder& in, const NormArgs& args, ValueId mean, ValueId variance);
// Over all axes from `axis` on.
ValueId layer_norm(NodeBuilder& in, const NormArgs& args, std::int64_t axis);
// Over the channels of each of `groups` and all spatial axes; scale and bias per channel. As many groups as channels:
// an instance normalisation.
ValueId group_norm(NodeBuilder& in, const NormArgs& args, const Number& groups);
ValueId softmax(NodeBuilder& in, ValueId x, const Number& axis, SoftmaxKind kind = SoftmaxKind::softmax,
                std::string_view suffix = {});
// Between two numbers; an infinite one is none.
ValueId clip(NodeBuilder& in, ValueId x, float lowest, float highest, std::string_view suffix = {});
// "none" or "tanh".
ValueId gelu(NodeBuilder& in, ValueId x, const std::string& approximation, const std::string& place);

// ---- transformers (attention.cpp) ----

// 1 / sqrt(head_size), which files leave out.
float attention_scale(std::int64_t head_size);
// The operator on columns; the mask may be left out.
ValueId attention(NodeBuilder& in, ValueId q, ValueId k, ValueId v, ValueId mask, const AttentionAttrs& attrs,
                  std::string_view suffix = {});
// q [..., heads, Tq, size], k [..., heads, Tk, size], v [..., heads, Tk, value size]; fewer heads of k and v serve
// several of q each. The mask, which may be left out, broadcasts to [..., heads, Tq, Tk].
struct AttentionByAxes {
  ValueId q, k, v, mask;
  std::optional<float> scale;  // none: attention_scale
  bool is_causal = false;
};
ValueId attention_by_axes(NodeBuilder& in, const AttentionByAxes& args);
// x [..., heads, T, size] with each head `times` times, one after the other.
ValueId repeated_heads(NodeBuilder& in, ValueId x, std::int64_t times, std::string_view suffix);
// x / sqrt(mean(x²) + epsilon) * scale + bias over all axes from `axis` on; scale and bias may be left out.
ValueId rms_norm(NodeBuilder& in, const NormArgs& args, std::int64_t axis);
// The first 2 * half columns of x as `half` pairs, column i with i + half, or neighbours, turned by angles whose
// cosines and sines broadcast to [..., half]; other columns stay.
struct RotaryArgs {
  ValueId x, cosines, sines;
  std::int64_t half = 0;
  bool is_interleaved = false;
};
ValueId rotated(NodeBuilder& in, const RotaryArgs& args);

// ---- quantization (quantizing.cpp) ----

// Scales and zero points (which may be left out) as operands of quantize and dequantize.
struct Scales {
  ValueId scale, zero_point;
  std::int64_t axis = -1;  // -1: one for all
  std::int64_t block = 0;
  bool operator==(const Scales&) const = default;
};
bool is_scale(float scale);  // finite and above 0: others would poison every formula
// As constants of the operator, called `prefix` + "scale" and "zero_point"; as many of each. `place` names them in
// messages.
Scales constant_scales(NodeBuilder& in, const std::vector<float>& scales, const Integers& zero_points, DType type,
                       std::int64_t axis, const std::string& place, const std::string& prefix = {});
ValueId dequantize(NodeBuilder& in, ValueId x, const Scales& from, std::string_view suffix = {});
// With the profile of the file; bounds narrower than the type where they are given.
ValueId quantize(NodeBuilder& in, ValueId x, const Scales& to, DType type, std::string_view suffix = {},
                 std::optional<IntegerRange> bounds = std::nullopt);

}  // namespace octavo::importing

#endif  // OCTAVO_IMPORT_VERBS_H_
