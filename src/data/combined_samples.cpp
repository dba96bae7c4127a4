// Sources made of others. Part of data/.
#include "data/combined_samples.h"

#include <algorithm>
#include <utility>

namespace octavo {
namespace {

// Some samples of another source, spread evenly.
class Spread final : public SampleSource {
 public:
  Spread(std::unique_ptr<SampleSource> all, std::int64_t count) : all_(std::move(all)), count_(count) {}
  std::int64_t size() const override { return count_; }
  Result<std::vector<Tensor>> sample(std::int64_t index) const override { return all_->sample(in_all(index)); }
  Result<std::vector<Shape>> shapes(std::int64_t index) const override { return all_->shapes(in_all(index)); }
  std::string name(std::int64_t index) const override { return all_->name(in_all(index)); }

 private:
  std::int64_t in_all(std::int64_t index) const { return index * all_->size() / count_; }

  std::unique_ptr<SampleSource> all_;
  std::int64_t count_;
};

class SamplesOfFiles final : public SampleSource {
 public:
  explicit SamplesOfFiles(OpenSampleFile open) : open_(std::move(open)) {}

  Status add(const std::string& path) {
    auto file = open_(path);
    if (!file) return file.errors();
    if ((*file)->size() == 0) return ok_status();
    paths_.push_back(path);
    begins_.push_back(size_);
    size_ += (*file)->size();
    return ok_status();
  }
  std::int64_t size() const override { return size_; }
  Result<std::vector<Tensor>> sample(std::int64_t index) const override {
    const auto file = file_of(index);
    return file ? (*file)->sample(index - begins_[opened_]) : file.errors();
  }
  Result<std::vector<Shape>> shapes(std::int64_t index) const override {
    const auto file = file_of(index);
    return file ? (*file)->shapes(index - begins_[opened_]) : file.errors();
  }
  std::string name(std::int64_t index) const override {
    const std::size_t place = place_of(index);
    return paths_[place] + ": sample " + std::to_string(index - begins_[place]);
  }

 private:
  std::size_t place_of(std::int64_t index) const {
    return static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), index) - begins_.begin()) - 1;
  }
  Result<const SampleSource*> file_of(std::int64_t index) const {
    const std::size_t place = place_of(index);
    if (file_ == nullptr || place != opened_) {
      auto file = open_(paths_[place]);
      if (!file) return file.errors();
      file_ = std::move(*file);
      opened_ = place;
    }
    return file_.get();
  }

  OpenSampleFile open_;
  std::vector<std::string> paths_;
  std::vector<std::int64_t> begins_;  // of each: the number of samples before it
  std::int64_t size_ = 0;
  mutable std::unique_ptr<SampleSource> file_;  // the one that was asked for last
  mutable std::size_t opened_ = 0;
};

}  // namespace

std::unique_ptr<SampleSource> limited(std::unique_ptr<SampleSource> samples, std::int64_t limit) {
  if (limit <= 0 || samples->size() <= limit) return samples;
  return std::make_unique<Spread>(std::move(samples), limit);
}

Result<std::unique_ptr<SampleSource>> samples_of_files(const std::vector<std::string>& paths, OpenSampleFile open) {
  auto all = std::make_unique<SamplesOfFiles>(std::move(open));
  for (const std::string& path : paths) {
    if (const Status added = all->add(path); !added) return added.errors();
  }
  return Result<std::unique_ptr<SampleSource>>(std::move(all));
}

}  // namespace octavo
