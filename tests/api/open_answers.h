// Answers of models with open sizes beside those of models compiled for one size. For the tests of api/.
#ifndef OCTAVO_TESTS_API_OPEN_ANSWERS_H_
#define OCTAVO_TESTS_API_OPEN_ANSWERS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "octavo/compile.h"

namespace octavo::testing {

using Dims = std::vector<std::int64_t>;

// Where real models are; it may not exist.
std::string models_folder();

// Bytes of seeded floats in [-1, 1].
std::vector<std::byte> noise(std::size_t bytes, unsigned seed);

// All outputs' bytes for seeded floats (8-bit inputs take them as they are).
std::vector<std::byte> answer(v1::Context& context, unsigned seed);

// Through a file's bytes, as a run has it. The test fails where it cannot be.
Result<v1::Model> loaded(const Result<v1::CompiledModel>& compiled, const v1::LoadOptions& options = {.threads = 1});

// The answer of `path` compiled with this shape of an input alone.
std::vector<std::byte> fixed_answer(const std::string& path, v1::CompileOptions options, const std::string& input,
                                    const Dims& shape, unsigned seed);

// `path` compiled with its first input `open` (empty: as the file leaves it), run at all shapes of that input, in
// random order by two contexts at once, gives the bytes of compilations for each shape.
void expect_fixed_answers(const std::string& path, v1::CompileOptions options, const std::vector<Extent>& open,
                          const std::vector<Dims>& shapes);

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_API_OPEN_ANSWERS_H_
