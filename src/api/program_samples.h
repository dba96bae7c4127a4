// What the networks of a program read when it runs on samples. Part of api/.
#ifndef OCTAVO_API_PROGRAM_SAMPLES_H_
#define OCTAVO_API_PROGRAM_SAMPLES_H_

#include <memory>
#include <string>
#include <vector>

#include "api/planned_sizes.h"
#include "import/import.h"
#include "octavo/run.h"
#include "quantize/quantize.h"

namespace octavo::v1 {

// The inputs of a program, as a graph of nothing else: what takes samples. Error (usage): an input whose size is open,
// other than the batch, which is 1. `path` names the file.
Result<Graph> inputs_of_program(const octavo::Program& program, const std::string& path);

struct NetworkSamples {
  // Null: no run came to the network with something for it to read.
  std::shared_ptr<const SampleSource> samples;
  SizeValues sizes;  // that the samples have, of a graph whose sizes are open
};

// Runs the program, compiled in fp32, on up to 32 of the samples, spread evenly, and keeps what each network read, of
// up to 32 calls: those that have the sizes of its first one, where nothing was empty. `networks` are their graphs.
Result<std::vector<NetworkSamples>> samples_of_networks(const CompiledModel& program,
                                                        const std::vector<Graph>& networks, const SampleSource& samples,
                                                        const Monitor& monitor);

// Whether something in it is worth rounding to 8 bits: a product or convolution with constant weights.
bool has_products(const Graph& graph);

}  // namespace octavo::v1

#endif  // OCTAVO_API_PROGRAM_SAMPLES_H_
