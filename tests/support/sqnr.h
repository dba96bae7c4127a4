// How far a network's answers are from another's. For the tests of quantize/.
#ifndef OCTAVO_TESTS_SUPPORT_SQNR_H_
#define OCTAVO_TESTS_SUPPORT_SQNR_H_

#include <gtest/gtest.h>

#include <cmath>

#include "graph/graph.h"
#include "ops/evaluate.h"
#include "quantize/quantize.h"

namespace octavo::testing {

// Signal to quantization noise of the first output, f32, in dB, over the samples from `first` on.
inline double sqnr_db(const Graph& exact, const Graph& changed, const SampleSource& samples, std::int64_t first = 0) {
  double signal = 0.0, noise = 0.0;
  for (std::int64_t i = first; i < samples.size(); ++i) {
    const auto inputs = *samples.sample(i);
    const auto x = evaluate(exact, inputs), y = evaluate(changed, inputs);
    EXPECT_TRUE(x && y);
    for (std::int64_t k = 0; k < (*x)[0].elements(); ++k) {
      const double wanted = (*x)[0].as<float>()[k], found = (*y)[0].as<float>()[k];
      signal += wanted * wanted;
      noise += (wanted - found) * (wanted - found);
    }
  }
  return 10.0 * std::log10(signal / noise);
}

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_SUPPORT_SQNR_H_
