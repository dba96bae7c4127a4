// What the networks of a program read when it runs on samples. Part of api/.
#ifndef OCTAVO_API_PROGRAM_SAMPLES_H_
#define OCTAVO_API_PROGRAM_SAMPLES_H_

#include <memory>
#include <vector>

#include "graph/graph.h"
#include "octavo/run.h"
#include "quantize/quantize.h"

namespace octavo::v1 {

// What a network reads. Null: no run came to it with something for it to read.
using NetworkSamples = std::shared_ptr<const SampleSource>;

// Runs the program, compiled in fp32, on up to 32 of the samples, spread evenly, and keeps what each of its `networks`
// read, of up to 32 calls in which something was not empty, whatever their sizes.
Result<std::vector<NetworkSamples>> samples_of_networks(const CompiledModel& program, std::size_t networks,
                                                        const SampleSource& samples, const Monitor& monitor);

// Whether something in it is worth rounding to 8 bits: a product or convolution with constant weights.
bool has_products(const Graph& graph);

}  // namespace octavo::v1

#endif  // OCTAVO_API_PROGRAM_SAMPLES_H_
