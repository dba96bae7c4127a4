// Where calibration and evaluation inputs come from: image folders, NumPy files, random numbers. Part of data/.
#ifndef OCTAVO_DATA_SAMPLES_H_
#define OCTAVO_DATA_SAMPLES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "pictures/input_spec.h"
#include "quantize/quantize.h"

namespace octavo {

struct SampleOptions {
  std::optional<Preprocess> preprocess;  // needed for images
  std::int64_t limit = 0;                // at most so many, spread evenly over what is there; 0: all
};

// `path`: a folder of images, a folder of .npy (one sample each), one .npz or .npy with a leading sample axis, a folder
// of such .npz, or the word "random" (normally distributed, seeded: for speed only). In an .npz the arrays carry the
// names of the inputs; for a model with one input `calibration`, `images`, `features` or the only array is taken. Where
// axes of inputs are open each sample has its own size there; images as shape_of_picture says. For a network over
// tokens (data/token_rows.h) tokens of an .npz, or of a folder of them, with other lengths or padding become rows. u8
// arrays [N, H, W, 1 or 3] are images. An 8-bit input with a scale takes preprocessed images and f32 arrays quantized
// with it. Pixels that no preprocessing changes are its stored values, unless they lie within what these stand for.
// Errors: resource (cannot be read), invalid_input (broken data, wrong shape, NaN), usage (no --preprocess for images).
Result<std::unique_ptr<SampleSource>> open_samples(const std::string& path, const std::vector<InputSpec>& inputs,
                                                   const SampleOptions& options);

// Samples that know their class.
struct LabelledSamples {
  std::unique_ptr<SampleSource> samples;
  std::vector<std::int64_t> labels;
};
// `images`: a folder with `labels` naming a file of lines "file class", of images or of .npy; or an .npz, or a folder
// of these, whose array `labels` holds the classes where no `labels` file is given.
Result<LabelledSamples> open_labelled(const std::string& images, const std::string& labels,
                                      const std::vector<InputSpec>& inputs, const SampleOptions& options);

}  // namespace octavo

#endif  // OCTAVO_DATA_SAMPLES_H_
