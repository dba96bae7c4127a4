// Rows of tokens from sentences of any length: what calibrates networks over tokens. Part of data/.
#ifndef OCTAVO_DATA_TOKEN_ROWS_H_
#define OCTAVO_DATA_TOKEN_ROWS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/npy.h"
#include "pictures/input_spec.h"

namespace octavo {

// What one .npz holds, by name of the input: each [sentences, tokens] of one shape.
struct TokenFile {
  std::string path;
  std::map<std::string, StoredArray> arrays;
};

// Whether all inputs are s64, s32 or bool [1, n] of one n, as those of a network over tokens are.
bool take_tokens(const std::vector<InputSpec>& inputs);

// Whether a file has other lengths than the inputs, or a mask (an array with "mask" in its name) with a 0 in it.
Result<bool> needs_rows(const TokenFile& file, const std::vector<InputSpec>& inputs);

// Positions that the mask keeps (all where there is none), sentence after sentence and file after file, cut into rows
// of the inputs' length; what is left at the end is dropped, and less than a row repeated until it is one. So nothing
// of a sample is padding, and every position counts. Errors (invalid_input): arrays of other shapes than that, values
// that the input's type does not hold, no position at all.
Result<std::unique_ptr<SampleSource>> token_rows(const std::vector<TokenFile>& files,
                                                 const std::vector<InputSpec>& inputs);

}  // namespace octavo

#endif  // OCTAVO_DATA_TOKEN_ROWS_H_
