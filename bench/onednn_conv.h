// A layer computed by oneDNN in 8 bits, the yardstick of our kernels: u8 by s8 with scales per channel, the layouts
// that it asks for. Part of bench/.
#ifndef OCTAVO_BENCH_ONEDNN_CONV_H_
#define OCTAVO_BENCH_ONEDNN_CONV_H_

#include <omp.h>

#include <algorithm>
#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <random>
#include <unordered_map>
#include <vector>

#include "layers.h"

namespace octavo {

// Its best legal form: no zero points; SiLU in float where the layer has a table; the residual added as a scaled sum in
// place.
class OneDnnConv {
 public:
  OneDnnConv(const Layer& l, int threads) : threads_(threads), stream_(engine_) {
    omp_set_num_threads(threads);  // its primitives are made for the threads of that moment
    const std::int64_t pad = l.kernel / 2, out = (l.size + 2 * pad - l.kernel) / l.stride + 1;
    using Desc = dnnl::memory::desc;
    using Type = dnnl::memory::data_type;
    using Tag = dnnl::memory::format_tag;
    const Desc x({1, l.in, l.size, l.size}, Type::u8, Tag::nhwc), y({1, l.out, out, out}, Type::u8, Tag::nhwc),
        bias({l.out}, Type::s32, Tag::x);
    const dnnl::memory::dims dims =
        l.groups == 1 ? dnnl::memory::dims{l.out, l.in, l.kernel, l.kernel}
                      : dnnl::memory::dims{l.groups, l.out / l.groups, l.in / l.groups, l.kernel, l.kernel};
    const dnnl::convolution_forward::desc description(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, x, Desc(dims, Type::s8, Tag::any),
        bias, y, {l.stride, l.stride}, {pad, pad}, {pad, pad});
    const dnnl::convolution_forward::primitive_desc chosen(description, attributes_of(l), engine_);
    compute_ = dnnl::convolution_forward(chosen);
    const std::size_t copies = std::clamp<std::size_t>((std::size_t{4} << 20) / chosen.weights_desc().get_size(), 1,
                                                       64);  // as for our kernels
    for (std::size_t i = 0; i < copies; ++i) weights_.push_back(filled(chosen.weights_desc()));
    operands_ = {{DNNL_ARG_SRC, filled(x)},
                 {DNNL_ARG_BIAS, filled(bias)},
                 {DNNL_ARG_DST, filled(y)},
                 {DNNL_ARG_SCRATCHPAD, filled(chosen.scratchpad_desc())}};
  }

  void run() {
    omp_set_num_threads(threads_);
    operands_[DNNL_ARG_WEIGHTS] = weights_[next_++ % weights_.size()];
    compute_.execute(stream_, operands_);
    stream_.wait();
  }

 private:
  static dnnl::primitive_attr attributes_of(const Layer& l) {
    dnnl::primitive_attr attr;
    attr.set_output_scales(1 << 1, std::vector<float>(static_cast<std::size_t>(l.out), 0.0003f));
    dnnl::post_ops post_ops;
    if (l.has_residual) post_ops.append_sum(0.7f);
    if (l.has_table) post_ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_swish, 1.0f, 0.0f);
    attr.set_post_ops(post_ops);
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attr;
  }
  dnnl::memory filled(const dnnl::memory::desc& desc) {
    dnnl::memory memory(desc, engine_);
    auto* bytes = static_cast<std::uint8_t*>(memory.get_data_handle());
    if (bytes == nullptr) return memory;  // of no size
    for (std::size_t i = 0; i < desc.get_size(); ++i) bytes[i] = static_cast<std::uint8_t>(random_() % 64);
    return memory;
  }

  int threads_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_;
  std::mt19937 random_{1};
  dnnl::convolution_forward compute_;
  std::vector<dnnl::memory> weights_;
  std::unordered_map<int, dnnl::memory> operands_;
  std::size_t next_ = 0;
};

}  // namespace octavo

#endif  // OCTAVO_BENCH_ONEDNN_CONV_H_
