// The functions of cuBLASLt that src/cuda/libraries/cublaslt.cpp asks for, in plain loops. Built as libcublasLt.so.13.
#include "cuda/fake/fake_library.h"
#include "cuda/libraries/cublaslt.h"

namespace {

using namespace octavo::testing::fake;
using octavo::cuda::cublaslt::Algorithm;
using octavo::cuda::cublaslt::Proposal;

struct Matrix {
  std::int64_t rows = 0, columns = 0;
};
struct Product {
  std::int32_t transposes_a = 0;
  std::uint32_t epilogue = 0;
  const float* bias = nullptr;
};
struct Preference {
  std::uint64_t workspace = 0;
};

constexpr int kFloat = 0, kTf32 = 77, kTransposeA = 3, kEpilogue = 7, kBiasPointer = 8, kWorkspace = 1;
constexpr std::uint32_t kBias = 4, kReluBias = 6;
constexpr std::uint64_t kChosen = 42;

template <class Value>
int read(Value& into, const void* value, std::size_t bytes) {
  if (bytes != sizeof into) return kInvalid;
  std::memcpy(&into, value, bytes);
  return 0;
}

struct Call {
  Matrix a, b, d;
  Product product;
  const float *a_data, *b_data, *c_data;
  float* d_data;
  float beta;

  void run() const {
    for (std::int64_t column = 0; column < d.columns; ++column) {
      for (std::int64_t row = 0; row < d.rows; ++row) {
        float sum = product.bias[row];
        for (std::int64_t k = 0; k < a.rows; ++k)
          sum += tf32(a_data[row * a.rows + k]) * tf32(b_data[column * b.rows + k]);
        if (beta != 0.0f) sum += beta * c_data[column * d.rows + row];
        d_data[column * d.rows + row] = product.epilogue == kReluBias && sum < 0.0f ? 0.0f : sum;
      }
    }
  }
};

}  // namespace

extern "C" {

int cublasLtCreate(void** handle) { return make<Library>(handle); }
int cublasLtDestroy(void* handle) { return destroy<Library>(handle); }
const char* cublasLtGetStatusString(int code) { return text_of(code); }
int cublasLtMatmulDescCreate(void** product, int compute_type, int scale_type) {
  return compute_type == kTf32 && scale_type == kFloat ? make<Product>(product) : kInvalid;
}
int cublasLtMatmulDescDestroy(void* product) { return destroy<Product>(product); }
int cublasLtMatmulDescSetAttribute(void* product, int attribute, const void* value, std::size_t bytes) {
  if (const int code = called_with_context()) return code;
  if (!is_given(product)) return kInvalid;
  Product& own = *static_cast<Product*>(product);
  switch (attribute) {
    case kTransposeA: return read(own.transposes_a, value, bytes);
    case kEpilogue: return read(own.epilogue, value, bytes);
    case kBiasPointer: return read(own.bias, value, bytes);
    default: return kInvalid;
  }
}
int cublasLtMatrixLayoutCreate(void** matrix, int type, std::uint64_t rows, std::uint64_t columns,
                               std::int64_t stride) {
  if (type != kFloat || stride != static_cast<std::int64_t>(rows)) return kInvalid;
  const int code = make<Matrix>(matrix);
  if (code == 0) *static_cast<Matrix*>(*matrix) = {stride, static_cast<std::int64_t>(columns)};
  return code;
}
int cublasLtMatrixLayoutDestroy(void* matrix) { return destroy<Matrix>(matrix); }
int cublasLtMatmulPreferenceCreate(void** preference) { return make<Preference>(preference); }
int cublasLtMatmulPreferenceDestroy(void* preference) { return destroy<Preference>(preference); }
int cublasLtMatmulPreferenceSetAttribute(void* preference, int attribute, const void* value, std::size_t bytes) {
  if (const int code = called_with_context()) return code;
  if (!is_given(preference)) return kInvalid;
  std::uint32_t alignment = 0;
  if (attribute == kWorkspace) return read(static_cast<Preference*>(preference)->workspace, value, bytes);
  return attribute >= 5 && attribute <= 8 ? read(alignment, value, bytes) : kInvalid;
}
int cublasLtMatmulAlgoGetHeuristic(void* handle, void* product, void* a, void* b, void* c, void* d, void* preference,
                                   int wanted, Proposal* proposals, int* found) {
  if (const int code = called_with_context()) return code;
  for (const void* object : {handle, product, a, b, c, d, preference}) {
    if (!is_given(object)) return kInvalid;
  }
  if (wanted < 1 || of<Preference>(preference).workspace < kWorkspaceBytes) return kInvalid;
  *found = fake_cuda()->has_algorithms ? 1 : 0;
  if (*found == 1) proposals[0] = {.algorithm = {{kChosen}}, .workspace = kWorkspaceBytes};
  return 0;
}
int cublasLtMatmul(void* handle, void* product, const float* alpha, const float* a_data, void* a, const float* b_data,
                   void* b, const float* beta, const float* c_data, void* c, float* d_data, void* d,
                   const Algorithm* algorithm, void* workspace, std::size_t workspace_bytes, void* stream) {
  if (const int code = called_with_context()) return code;
  note_call(handle);
  const Call call{of<Matrix>(a), of<Matrix>(b), of<Matrix>(d), of<Product>(product), a_data, b_data,
                  c_data,        d_data,        *beta};
  const bool is_epilogue = call.product.epilogue == kBias || call.product.epilogue == kReluBias;
  const bool is_right = is_given(stream) && *alpha == 1.0f && algorithm->data[0] == kChosen && is_epilogue &&
                        call.product.transposes_a == 1 && call.a.rows == call.b.rows && call.a.columns == call.d.rows &&
                        call.b.columns == call.d.columns && of<Matrix>(c).rows == call.d.rows;
  if (!is_right) return kInvalid;
  return enqueue([=] {
    use_workspace(workspace, workspace_bytes);
    call.run();
  });
}

}  // extern "C"
