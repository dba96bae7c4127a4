// Embeds sentences with a compiled encoder and prints each asked sentence's nearest neighbours.
//   embed model.octv tokens.npz NAME QUERY...
// tokens.npz: NAME_ids, u16 token ids of all sentences in a row, and NAME_lengths, u16, as numpy.savez writes them. The
// model takes input_ids and attention_mask, s64 [batch, tokens], and gives f32 [batch, tokens, width]; a sentence's
// vector is the mean over its tokens, of length 1. Whatever a sentence is batched with, its vector has the same bytes.
#include <octavo/unpadded.h>
#include <zip.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using octavo::v1::Unpadded;

template <class T>
T checked(octavo::Result<T> result) {
  if (!result) throw std::runtime_error(octavo::to_string(result.errors()));
  return std::move(*result);
}

// The array of u16 that numpy stored under that name.
std::vector<std::uint16_t> read_array(const char* path, const std::string& name) {
  zip_t* archive = zip_open(path, ZIP_RDONLY, nullptr);
  zip_file_t* file = archive == nullptr ? nullptr : zip_fopen(archive, (name + ".npy").c_str(), 0);
  if (file == nullptr) throw std::runtime_error(std::string(path) + ": no array " + name);
  std::string bytes;
  char some[1 << 16];
  for (zip_int64_t n; (n = zip_fread(file, some, sizeof some)) > 0;) bytes.append(some, static_cast<std::size_t>(n));
  zip_fclose(file);
  zip_discard(archive);
  if (bytes.size() < 10 || bytes.find("'<u2'") == std::string::npos) throw std::runtime_error(name + ": not u16");
  const auto header = 10u + static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  if (header > bytes.size()) throw std::runtime_error(name + ": cut off");
  std::vector<std::uint16_t> values((bytes.size() - header) / 2);
  std::memcpy(values.data(), bytes.data() + header, values.size() * 2);
  return values;
}

struct Sentence {
  std::vector<std::int64_t> ids;
  std::vector<float> vector;
};

std::vector<Sentence> read_sentences(const char* path, const std::string& name) {
  const auto ids = read_array(path, name + "_ids"), lengths = read_array(path, name + "_lengths");
  std::vector<Sentence> sentences;
  for (auto at = ids.begin(); const std::uint16_t length : lengths) {
    if (length == 0 || ids.end() - at < length) throw std::runtime_error(name + "_lengths: do not fit the ids");
    sentences.push_back({.ids = {at, at + length}, .vector = {}});
    at += length;
  }
  return sentences;
}

// The mean of a sentence's rows, of length 1.
std::vector<float> pooled(const float* rows, std::size_t tokens, std::size_t width) {
  std::vector<float> mean(width);
  for (std::size_t i = 0; i < tokens * width; ++i) mean[i % width] += rows[i];
  const float length = std::sqrt(std::inner_product(mean.begin(), mean.end(), mean.begin(), 0.0f));
  for (float& x : mean) x /= length;
  return mean;
}

// Sentences of a batch are padded to the longest, in memory alone: the padding is not computed.
void embed(Unpadded& encoder, std::span<Sentence> batch, std::size_t width) {
  std::size_t tokens = 0;
  for (const Sentence& sentence : batch) tokens = std::max(tokens, sentence.ids.size());
  const std::vector<std::int64_t> shape{std::ssize(batch), std::int64_t(tokens)};
  const std::vector<std::int64_t> of_rows{std::ssize(batch), std::int64_t(tokens), std::int64_t(width)};
  std::vector<std::int64_t> ids(batch.size() * tokens), mask(ids.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    std::copy(batch[i].ids.begin(), batch[i].ids.end(), &ids[i * tokens]);
    std::fill_n(&mask[i * tokens], batch[i].ids.size(), 1);
  }
  std::vector<float> rows(ids.size() * width);
  const octavo::v1::ConstTensorRef inputs[] = {{octavo::DType::s64, shape, ids.data()},
                                               {octavo::DType::s64, shape, mask.data()}};
  const octavo::v1::TensorRef outputs[] = {{octavo::DType::f32, of_rows, rows.data()}};
  checked(encoder.run(inputs, outputs));
  for (std::size_t i = 0; i < batch.size(); ++i)
    batch[i].vector = pooled(&rows[i * tokens * width], batch[i].ids.size(), width);
}

void print_nearest(const std::vector<Sentence>& sentences, std::size_t query) {
  constexpr std::size_t kNeighbours = 3;
  const std::vector<float>& asked = sentences.at(query).vector;
  std::vector<std::pair<float, std::size_t>> found;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    if (i == query) continue;
    found.emplace_back(std::inner_product(asked.begin(), asked.end(), sentences[i].vector.begin(), 0.0f), i);
  }
  const std::size_t count = std::min(kNeighbours, found.size());
  std::ranges::partial_sort(found, found.begin() + std::ptrdiff_t(count), std::greater());
  std::printf("%zu:", query);
  for (std::size_t i = 0; i < count; ++i) std::printf(" %zu (%.4f)", found[i].second, double(found[i].first));
  std::printf("\n");
}

int run(int count, char** words) {
  if (count < 5) throw std::runtime_error("usage: embed model.octv tokens.npz NAME QUERY...");
  std::vector<Sentence> sentences = read_sentences(words[2], words[3]);
  const auto model = checked(octavo::v1::Model::load(checked(octavo::v1::open(words[1]))));
  const octavo::v1::ModelInfo info = model.info();
  if (info.open_outputs.size() != 1 || info.open_outputs[0].shape.size() != 3)
    throw std::runtime_error("another model");
  Unpadded encoder = checked(Unpadded::create(model, "attention_mask"));
  constexpr std::size_t kBatch = 32;
  for (std::size_t i = 0; i < sentences.size(); i += kBatch)
    embed(encoder, std::span(sentences).subspan(i, std::min(kBatch, sentences.size() - i)),
          std::stoul(info.open_outputs[0].shape[2]));
  for (int i = 4; i < count; ++i) print_nearest(sentences, std::strtoul(words[i], nullptr, 10));
  return 0;
}

}  // namespace

int main(int count, char** words) try { return run(count, words); } catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
