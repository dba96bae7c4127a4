// Fuzz target: bytes as a .pt2 archive, through import, quantization, lowering and planning. Must never crash, hang or
// take unbounded memory.
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "fuzz/planning.h"
#include "import/pt2/operators.h"
#include "support/zip_builder.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace octavo {
namespace {

using Random = std::minstd_rand;
using Entries = std::map<std::string, std::string>;

std::size_t below(Random& random, std::size_t count) { return count == 0 ? 0 : random() % count; }

// What JSON of a program may hold in place of something else.
const std::vector<std::string>& words() {
  static const std::vector<std::string> kWords = [] {
    std::vector<std::string> words = {"0",
                                      "1",
                                      "-1",
                                      "2",
                                      "7",
                                      "127",
                                      "-129",
                                      "4294967296",
                                      "9223372036854775807",
                                      "1e30",
                                      "0.0",
                                      "-0.5",
                                      "\"NaN\"",
                                      "\"Infinity\"",
                                      "null",
                                      "true",
                                      "false",
                                      "[]",
                                      "{}",
                                      "\"as_int\"",
                                      "\"as_ints\"",
                                      "\"as_none\"",
                                      "\"as_float\"",
                                      "\"as_tensor\"",
                                      "\"as_bool\"",
                                      "\"as_sym_int\"",
                                      "\"as_tensors\"",
                                      "\"input\"",
                                      "\"dim\"",
                                      "\"self\"",
                                      "\"other\"",
                                      "\"x\"",
                                      "\"stride\"",
                                      "\"buffer\"",
                                      "\"same\""};
    for (const pt2_import::Operator& op : pt2_import::all_operators())
      words.push_back("\"" + std::string(op.name) + "." + std::string(op.overloads.substr(0, op.overloads.find(' '))) +
                      "\"");
    return words;
  }();
  return kWords;
}

// A number, a string or a word from `from` on: its place and length.
std::pair<std::size_t, std::size_t> token(const std::string& json, std::size_t from) {
  for (std::size_t begin = from; begin < json.size(); ++begin) {
    const char first = json[begin];
    if (first == '"') {
      const std::size_t end = json.find('"', begin + 1);
      return {begin, end == std::string::npos ? 1 : end + 1 - begin};
    }
    std::size_t end = begin;
    while (end < json.size() &&
           (std::isalnum(static_cast<unsigned char>(json[end])) != 0 || json[end] == '-' || json[end] == '.'))
      ++end;
    if (end > begin) return {begin, end - begin};
  }
  return {json.size(), 0};
}

// A token becomes a word, or one from elsewhere in the document.
void change_token(std::string& json, Random& random) {
  const auto [at, length] = token(json, below(random, json.size()));
  const auto [other, other_length] = token(json, below(random, json.size()));
  const std::string given =
      random() % 2 == 0 ? words()[below(random, words().size())] : json.substr(other, other_length);
  json.replace(at, length, given);
}

void change_bytes(std::string& bytes, Random& random) {
  std::vector<std::uint8_t> data(bytes.begin(), bytes.end());
  data.resize(bytes.size() + 64);
  const std::size_t size = LLVMFuzzerMutate(data.data(), bytes.size(), random() % 4 == 0 ? data.size() : bytes.size());
  bytes.assign(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(size));
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// One entry; a zip in the zip (a file of torch.save) is opened in turn.
void change_entry(Entries& entries, Random& random, int depth) {
  auto entry = entries.begin();
  std::advance(entry, static_cast<std::ptrdiff_t>(below(random, entries.size())));
  // Most of what can go wrong is in the program.
  for (auto other = entries.begin(); random() % 2 == 0 && other != entries.end(); ++other) {
    if (ends_with(other->first, ".json")) entry = other;
  }
  if (ends_with(entry->first, ".json") && random() % 8 != 0) return change_token(entry->second, random);
  Entries inner = depth == 0 && ends_with(entry->first, ".pt") ? testing::entries_of(entry->second) : Entries{};
  if (inner.empty())
    return random() % 32 == 0 ? static_cast<void>(entries.erase(entry)) : change_bytes(entry->second, random);
  change_entry(inner, random, 1);
  entry->second = testing::zip_of(testing::members_of(inner));
}

std::string text_of(const std::uint8_t* data, std::size_t size) { return {reinterpret_cast<const char*>(data), size}; }

}  // namespace
}  // namespace octavo

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  using namespace octavo;
  // One in sixteen as plain bytes: the zip reader itself wants trying too.
  Entries entries = seed % 16 == 0 ? Entries{} : testing::entries_of(text_of(data, size));
  if (entries.empty()) return LLVMFuzzerMutate(data, size, max_size);
  Random random(seed);
  for (unsigned i = 0; i <= seed / 16 % 4 && !entries.empty(); ++i) change_entry(entries, random, 0);
  const std::string changed = testing::zip_of(testing::members_of(entries));
  if (changed.size() > max_size) return size;
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  octavo::fuzz::quantize_and_plan(octavo::import_pt2(bytes, "fuzz.pt2", octavo::fuzz::import_options_for(bytes)));
  return 0;
}
