// Samples of several files as one source, and some of a source. Part of data/.
#ifndef OCTAVO_DATA_COMBINED_SAMPLES_H_
#define OCTAVO_DATA_COMBINED_SAMPLES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "quantize/quantize.h"

namespace octavo {

// At most `limit` of the samples, spread evenly; 0: all.
std::unique_ptr<SampleSource> limited(std::unique_ptr<SampleSource> samples, std::int64_t limit);

// The samples of files, one file after the other. Each is opened to count its samples, and again when one of them is
// asked for: one is open at a time, however many there are.
using OpenSampleFile = std::function<Result<std::unique_ptr<SampleSource>>(const std::string& path)>;
Result<std::unique_ptr<SampleSource>> samples_of_files(const std::vector<std::string>& paths, OpenSampleFile open);

}  // namespace octavo

#endif  // OCTAVO_DATA_COMBINED_SAMPLES_H_
