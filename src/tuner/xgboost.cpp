// XGBoost's C API, loaded when asked for. Part of tuner/.
// https://xgboost.readthedocs.io/en/stable/c.html
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "tuner/ranker.h"

namespace octavo {
namespace {

using Handle = void*;

// The functions that are called, by their names there.
struct Api {
  const char* (*XGBGetLastError)() = nullptr;
  int (*XGDMatrixCreateFromMat)(const float* data, std::uint64_t rows, std::uint64_t columns, float missing,
                                Handle* out) = nullptr;
  int (*XGDMatrixSetInfoFromInterface)(Handle matrix, const char* field, const char* array) = nullptr;
  int (*XGDMatrixFree)(Handle matrix) = nullptr;
  int (*XGBoosterCreate)(const Handle matrices[], std::uint64_t count, Handle* out) = nullptr;
  int (*XGBoosterSetParam)(Handle booster, const char* name, const char* value) = nullptr;
  int (*XGBoosterUpdateOneIter)(Handle booster, int iteration, Handle matrix) = nullptr;
  int (*XGBoosterPredict)(Handle booster, Handle matrix, int option, unsigned trees, int training, std::uint64_t* count,
                          const float** out) = nullptr;
  int (*XGBoosterFree)(Handle booster) = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

Error xgboost_failed(const std::string& where, const std::string& found) {
  return {.kind = ErrorKind::resource, .where = where, .found = found};
}

// NumPy's array interface, as the library takes it.
template <class T>
std::string array_of(const std::vector<T>& values, const char* type) {
  const nlohmann::json array{{"data", nlohmann::json::array({reinterpret_cast<std::uintptr_t>(values.data()), true})},
                             {"shape", nlohmann::json::array({values.size()})},
                             {"typestr", type},
                             {"version", 3}};
  return array.dump();
}

// A handle that is freed by a function of the library.
class Owned {
 public:
  explicit Owned(int (*free)(Handle)) : free_(free) {}
  ~Owned() {
    if (handle_ != nullptr) free_(handle_);
  }
  Owned(Owned&& other) noexcept : free_(other.free_), handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(free_, other.free_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  Handle get() const { return handle_; }
  Handle* out() { return &handle_; }

 private:
  int (*free_)(Handle);
  Handle handle_ = nullptr;
};

class XgBoost final : public Ranker {
 public:
  explicit XgBoost(const Api& api) : api_(api), booster_(api.XGBoosterFree) {}

  Status fit(std::span<const RankedGroup> groups) override;
  Result<std::vector<float>> predict(std::span<const std::vector<float>> features) override;

 private:
  Status check(int code) const {
    if (code == 0) return ok_status();
    return xgboost_failed("XGBoost", api_.XGBGetLastError());
  }
  Result<Owned> matrix_of(std::span<const std::vector<float>> rows) const;

  Api api_;
  Owned booster_;
};

// Rows that are shorter than the longest miss what these lack.
Result<Owned> XgBoost::matrix_of(std::span<const std::vector<float>> rows) const {
  std::size_t columns = 0;
  for (const std::vector<float>& row : rows) columns = std::max(columns, row.size());
  const float missing = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> data(rows.size() * columns, missing);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy(rows[i].begin(), rows[i].end(), data.begin() + static_cast<std::ptrdiff_t>(i * columns));
  Owned matrix(api_.XGDMatrixFree);
  const Status made = check(api_.XGDMatrixCreateFromMat(data.data(), rows.size(), columns, missing, matrix.out()));
  if (!made) return made.errors();
  return matrix;
}

Status XgBoost::fit(std::span<const RankedGroup> groups) {
  constexpr int kTrees = 60;
  constexpr std::pair<const char*, const char*> kParameters[] = {{"objective", "rank:pairwise"},
                                                                 {"max_depth", "4"},
                                                                 {"eta", "0.25"},
                                                                 {"min_child_weight", "0.1"},
                                                                 {"subsample", "1.0"},
                                                                 {"nthread", "1"},
                                                                 {"verbosity", "0"},
                                                                 {"seed", "1"},
                                                                 {"lambdarank_pair_method", "mean"},
                                                                 {"lambdarank_num_pair_per_sample", "12"}};
  std::vector<std::vector<float>> rows;
  std::vector<float> labels;
  std::vector<unsigned> sizes;
  for (const RankedGroup& group : groups) {
    rows.insert(rows.end(), group.features.begin(), group.features.end());
    const double best = *std::min_element(group.ns.begin(), group.ns.end());
    for (const double ns : group.ns) labels.push_back(std::isfinite(ns) ? static_cast<float>(best / ns) : 0.0f);
    sizes.push_back(static_cast<unsigned>(group.ns.size()));
  }
  auto matrix = matrix_of(rows);
  if (!matrix) return matrix.errors();
  const auto set = [&](const char* field, const auto& values, const char* type) {
    return check(api_.XGDMatrixSetInfoFromInterface(matrix->get(), field, array_of(values, type).c_str()));
  };
  Status done = set("label", labels, "<f4");
  if (done) done = set("group", sizes, "<u4");
  booster_ = Owned(api_.XGBoosterFree);
  const Handle matrices[] = {matrix->get()};
  if (done) done = check(api_.XGBoosterCreate(matrices, 1, booster_.out()));
  for (const auto& [name, value] : kParameters) {
    if (done) done = check(api_.XGBoosterSetParam(booster_.get(), name, value));
  }
  for (int tree = 0; done && tree < kTrees; ++tree)
    done = check(api_.XGBoosterUpdateOneIter(booster_.get(), tree, matrix->get()));
  return done;
}

Result<std::vector<float>> XgBoost::predict(std::span<const std::vector<float>> features) {
  auto matrix = matrix_of(features);
  if (!matrix) return matrix.errors();
  std::uint64_t count = 0;
  const float* scores = nullptr;
  const Status done = check(api_.XGBoosterPredict(booster_.get(), matrix->get(), 0, 0, 0, &count, &scores));
  if (!done) return done.errors();
  if (count != features.size()) return xgboost_failed("XGBoost", std::to_string(count) + " scores");
  return std::vector<float>(scores, scores + count);
}

}  // namespace

Result<std::unique_ptr<Ranker>> load_xgboost(const std::string& path) {
  const std::string name = path.empty() ? "libxgboost.so" : path;
  void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    Error error = xgboost_failed(name, ::dlerror());
    error.expected = "XGBoost's library, which the tuner 'xgb' needs";
    error.hint = "--xgboost FILE says where it is (PyPI's xgboost has it in xgboost/lib); the other tuners need none";
    return error;
  }
  Api api;
  const bool is_whole =
      find(library, "XGBGetLastError", api.XGBGetLastError) &&
      find(library, "XGDMatrixCreateFromMat", api.XGDMatrixCreateFromMat) &&
      find(library, "XGDMatrixSetInfoFromInterface", api.XGDMatrixSetInfoFromInterface) &&
      find(library, "XGDMatrixFree", api.XGDMatrixFree) && find(library, "XGBoosterCreate", api.XGBoosterCreate) &&
      find(library, "XGBoosterSetParam", api.XGBoosterSetParam) &&
      find(library, "XGBoosterUpdateOneIter", api.XGBoosterUpdateOneIter) &&
      find(library, "XGBoosterPredict", api.XGBoosterPredict) && find(library, "XGBoosterFree", api.XGBoosterFree);
  // Never closed: a library with threads of its own does not survive that.
  if (!is_whole) return xgboost_failed(name, "no library of XGBoost: " + std::string(::dlerror()));
  return std::unique_ptr<Ranker>(std::make_unique<XgBoost>(api));
}

}  // namespace octavo
