// The options that compile, read once: what words there become values here, and only here. Part of cli/.
#ifndef OCTAVO_CLI_OPTIONS_H_
#define OCTAVO_CLI_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/model_file.h"
#include "cli/shapes.h"

namespace octavo::cli {

// A word of an option and what it stands for.
template <class T>
struct Word {
  std::string_view word;
  T value;
};

// "a, b or c".
std::string list_of(std::span<const std::string_view> words);

// What `text` stands for; else the option's error, which lists the words.
template <class T, std::size_t count>
T value_of(const std::string& option, const std::string& text, const Word<T> (&words)[count]) {
  std::vector<std::string_view> known;
  for (const Word<T>& word : words) {
    if (word.word == text) return word.value;
    known.push_back(word.word);
  }
  throw CLI::ValidationError(option, "found '" + text + "', expected " + list_of(known));
}

// Refuses what is no number above 0.
CLI::Validator positive_number();

// An option that takes a number of bytes above 0, or of K, M or G of them (powers of 1024).
CLI::Option* add_bytes_option(CLI::App& verb, const std::string& option, std::uint64_t& bytes, const std::string& help);

// An option that takes one of the words.
template <class T, class Value, std::size_t count>
CLI::Option* add_word_option(CLI::App& verb, const std::string& option, Value& value, const Word<T> (&words)[count],
                             const std::string& help) {
  const auto read = [option, &value, &words](const std::string& text) { value = value_of(option, text, words); };
  return verb.add_option_function<std::string>(option, read, help)->type_name("WORD");
}

// What computes in which precision, as --precision and --compare say it.
enum class PrecisionWord : std::uint8_t { int8, fp32, tf32, automatic };
inline constexpr Word<PrecisionWord> kPrecisionWords[] = {{"int8", PrecisionWord::int8},
                                                          {"fp32", PrecisionWord::fp32},
                                                          {"tf32", PrecisionWord::tf32},
                                                          {"auto", PrecisionWord::automatic}};
void choose_precision(PrecisionWord word, CompileRequest& request);

// How many batches --batch and shapes --shape name: one for a verb that runs one plan of a model.
enum class Batches : std::uint8_t { one, several };

// What the options of a verb fill in.
struct CompileArguments {
  CompileRequest request;
  std::string scales;           // a file
  bool takes_pictures = false;  // --input-type u8
  ShapeLists shapes;            // --shape
  Batches batches = Batches::several;
  std::string preprocess;                            // the SPEC as it was given
  std::vector<const CLI::Option*> decided_in_files;  // what an .octv has decided already
};

// All that --precision, --calibrate, --rounding, ... say, for the verbs that compile or open a model.
void add_compile_options(CLI::App& verb, CompileArguments& arguments, Batches batches);
// The part of them that is about quantizing, for `quantize`.
void add_quantize_options(CLI::App& verb, CompileArguments& arguments);
void add_integer_only_option(CLI::App& verb, CompileArguments& arguments);
// --preprocess belongs to calibration and, for verbs that read images, also to these.
enum class PreprocessOf : std::uint8_t { samples, images };
void add_preprocess_option(CLI::App& verb, CompileArguments& arguments, PreprocessOf of);
// The options of the verbs that run a model: those that compile, --preprocess and --threads. An fp32 file that comes
// without samples runs in fp32.
void add_run_options(CLI::App& verb, CompileArguments& arguments, Batches batches = Batches::one,
                     PreprocessOf of = PreprocessOf::samples);
// --scales-out, for the verbs that quantize and write.
void add_scales_out_option(CLI::App& verb, std::string& path);

// What --calibrate is for: scales alone, or also to judge answers by; then it may stand beside --scales.
enum class SamplesFor : std::uint8_t { scales, judging };

// The request for these models, complete: scales read, random samples left out of corrections. Errors of usage: options
// that contradict each other; options that compile where every model is compiled already.
Result<CompileRequest> request_for(const CompileArguments& arguments, std::span<const std::string> models,
                                   SamplesFor samples = SamplesFor::scales);

// Says on standard error that speed-only calibration data makes wrong answers.
void warn_of_random(const CompileRequest& request);

}  // namespace octavo::cli

#endif  // OCTAVO_CLI_OPTIONS_H_
