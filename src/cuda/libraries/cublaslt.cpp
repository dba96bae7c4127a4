// Products by constant matrices by cuBLASLt. Part of cuda/.
#include "cuda/libraries/cublaslt.h"

#include "base/tensor.h"
#include "cuda/finder.h"
#include "cuda/libraries/session.h"

namespace octavo::cuda::cublaslt {
namespace {

std::string find_all(void* library, Functions& f) {
  Finder in(library);
  in.find(f.create, "cublasLtCreate");
  in.find(f.destroy, "cublasLtDestroy");
  in.find(f.error_text, "cublasLtGetStatusString");
  in.find(f.create_product, "cublasLtMatmulDescCreate");
  in.find(f.destroy_product, "cublasLtMatmulDescDestroy");
  in.find(f.set_product, "cublasLtMatmulDescSetAttribute");
  in.find(f.create_matrix, "cublasLtMatrixLayoutCreate");
  in.find(f.destroy_matrix, "cublasLtMatrixLayoutDestroy");
  in.find(f.create_preference, "cublasLtMatmulPreferenceCreate");
  in.find(f.destroy_preference, "cublasLtMatmulPreferenceDestroy");
  in.find(f.set_preference, "cublasLtMatmulPreferenceSetAttribute");
  in.find(f.choose, "cublasLtMatmulAlgoGetHeuristic");
  in.find(f.multiply, "cublasLtMatmul");
  return in.missing();
}

using Session = LibrarySession<Functions, Handle>;

// Matrices are columns one after the other there: y [OC, pixels] is w [C, OC], transposed, by x [C, pixels].
class Call final : public LibraryCall {
 public:
  explicit Call(const Session& session) : session_(session) {}

  Status prepare(const LibraryConv& conv) {
    has_residual_ = conv.has_residual;
    if (Status status = describe(conv); !status) return status;
    return choose();
  }

  std::uint64_t workspace_bytes() const override { return chosen_.workspace; }

  Status enqueue(const LibraryAddresses& operands, StreamHandle stream) const override {
    const auto at = [&](LibraryOperand operand) { return reinterpret_cast<void*>(operands[operand]); };
    if (Status status = set(kBiasPointer, at(kCallBias)); !status) return status;
    const float one = 1.0f, of_residual = has_residual_ ? 1.0f : 0.0f;
    const int code =
        session_.functions().multiply(session_.handle(), product_.get(), &one, at(kCallWeights), w_.get(), at(kCallX),
                                      x_.get(), &of_residual, at(kCallResidual), y_.get(), at(kCallY), y_.get(),
                                      &chosen_.algorithm, at(kCallWorkspace), chosen_.workspace, stream);
    return session_.check(code, "enqueueing a product of cuBLASLt");
  }

 private:
  template <class Value>
  Status set(int attribute, const Value& value) const {
    return session_.check(session_.functions().set_product(product_.get(), attribute, &value, sizeof value),
                          "describing a product to cuBLASLt");
  }

  Status make_matrix(Owned<Matrix>& matrix, std::int64_t rows, std::int64_t columns) {
    const Functions& f = session_.functions();
    return session_.make(matrix, f.create_matrix, f.destroy_matrix, kFloat, static_cast<std::uint64_t>(rows),
                         static_cast<std::uint64_t>(columns), rows);
  }

  Status describe(const LibraryConv& conv) {
    const Functions& f = session_.functions();
    const std::int64_t k = conv.window.channels, columns = conv.window.out_channels;
    if (Status status = make_matrix(w_, k, columns); !status) return status;
    if (Status status = make_matrix(x_, k, conv.pixels()); !status) return status;
    if (Status status = make_matrix(y_, columns, conv.pixels()); !status) return status;
    if (Status status = session_.make(product_, f.create_product, f.destroy_product, kTf32Products, kFloat); !status)
      return status;
    if (Status status = set(kTransposeA, std::int32_t{kTransposed}); !status) return status;
    // An algorithm is chosen by how the bias is aligned, too; a call has another address.
    if (Status status = set(kBiasPointer, std::uintptr_t{kAlignment}); !status) return status;
    return set(kEpilogue, conv.has_relu ? kReluBiasEpilogue : kBiasEpilogue);
  }

  Status choose() {
    constexpr std::uint64_t kMostBytes = std::uint64_t{32} << 20;
    const Functions& f = session_.functions();
    Owned<Preference> preference;
    if (Status status = session_.make(preference, f.create_preference, f.destroy_preference); !status) return status;
    const auto prefer = [&](int attribute, const auto& value) {
      return session_.check(f.set_preference(preference.get(), attribute, &value, sizeof value), "asking cuBLASLt");
    };
    if (Status status = prefer(kMostWorkspace, kMostBytes); !status) return status;
    for (const int attribute : {kAlignmentA, kAlignmentB, kAlignmentC, kAlignmentD}) {
      if (Status status = prefer(attribute, static_cast<std::uint32_t>(kAlignment)); !status) return status;
    }
    int found = 0;
    const int asked = f.choose(session_.handle(), product_.get(), w_.get(), x_.get(), y_.get(), y_.get(),
                               preference.get(), 1, &chosen_, &found);
    if (Status status = session_.check(asked, "asking cuBLASLt for an algorithm"); !status) return status;
    if (found == 1 && chosen_.status == 0) return ok_status();
    return library_failed("asking cuBLASLt for an algorithm", "none that computes it", found);
  }

  const Session& session_;
  bool has_residual_ = false;
  Owned<Matrix> w_, x_, y_;
  Owned<Product> product_;
  Proposal chosen_;
};

}  // namespace

}  // namespace octavo::cuda::cublaslt

namespace octavo::cuda {

Result<std::unique_ptr<OpenLibrary>> open_cublaslt(const std::string& library) {
  return open_by<cublaslt::Call, cublaslt::Functions, cublaslt::Handle>(cublaslt::find_all, {"cuBLASLt", library});
}

}  // namespace octavo::cuda
