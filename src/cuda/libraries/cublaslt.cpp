// Products by constant matrices by cuBLASLt. Part of cuda/.
#include "cuda/libraries/cublaslt.h"

#include "base/tensor.h"
#include "cuda/finder.h"
#include "cuda/libraries/libraries.h"

namespace octavo::cuda {
namespace {

using namespace cublaslt;

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

// A handle, and calls as Status.
class Session {
 public:
  explicit Session(const Functions& functions) : functions_(functions) {}
  const Functions& functions() const { return functions_; }
  Handle handle() const { return handle_.get(); }
  Status start() {
    Handle handle = nullptr;
    const int code = functions_.create(&handle);
    return keep(code, handle, handle_, functions_.destroy);
  }

  Status check(int code, const std::string& doing) const {
    return code == 0 ? ok_status() : Status(library_failed(doing, functions_.error_text(code), code));
  }
  // What a call that returned `code` has made.
  template <class Object>
  Status keep(int code, Object object, Owned<Object>& owned, int (*destroy)(Object)) const {
    if (Status status = check(code, "asking cuBLASLt"); !status) return status;
    owned = Owned<Object>(object, destroy);
    return ok_status();
  }

 private:
  const Functions functions_;
  Owned<Handle> handle_;
};

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
    Matrix made = nullptr;
    const int code =
        f.create_matrix(&made, kFloat, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), rows);
    return session_.keep(code, made, matrix, f.destroy_matrix);
  }

  Status describe(const LibraryConv& conv) {
    const Functions& f = session_.functions();
    const std::int64_t k = conv.window.channels, columns = conv.window.out_channels;
    if (Status status = make_matrix(w_, k, columns); !status) return status;
    if (Status status = make_matrix(x_, k, conv.pixels()); !status) return status;
    if (Status status = make_matrix(y_, columns, conv.pixels()); !status) return status;
    Product product = nullptr;
    const int code = f.create_product(&product, kTf32Products, kFloat);
    if (Status status = session_.keep(code, product, product_, f.destroy_product); !status) return status;
    if (Status status = set(kTransposeA, std::int32_t{kTransposed}); !status) return status;
    // An algorithm is chosen by how the bias is aligned, too; a call has another address.
    if (Status status = set(kBiasPointer, std::uintptr_t{kAlignment}); !status) return status;
    return set(kEpilogue, conv.has_relu ? kReluBiasEpilogue : kBiasEpilogue);
  }

  Status choose() {
    constexpr std::uint64_t kMostBytes = std::uint64_t{32} << 20;
    const Functions& f = session_.functions();
    Owned<Preference> preference;
    Preference made = nullptr;
    const int code = f.create_preference(&made);
    if (Status status = session_.keep(code, made, preference, f.destroy_preference); !status) return status;
    const auto prefer = [&](int attribute, const auto& value) {
      return session_.check(f.set_preference(made, attribute, &value, sizeof value), "asking cuBLASLt");
    };
    if (Status status = prefer(kMostWorkspace, kMostBytes); !status) return status;
    for (const int attribute : {kAlignmentA, kAlignmentB, kAlignmentC, kAlignmentD}) {
      if (Status status = prefer(attribute, static_cast<std::uint32_t>(kAlignment)); !status) return status;
    }
    int found = 0;
    const int asked =
        f.choose(session_.handle(), product_.get(), w_.get(), x_.get(), y_.get(), y_.get(), made, 1, &chosen_, &found);
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

class CublasLt final : public OpenLibrary {
 public:
  explicit CublasLt(const Functions& functions) : session_(functions) {}
  Status start() { return session_.start(); }
  Result<std::unique_ptr<LibraryCall>> prepare(const LibraryConv& conv) override {
    auto call = std::make_unique<Call>(session_);
    if (Status status = call->prepare(conv); !status) return status.errors();
    return std::unique_ptr<LibraryCall>(std::move(call));
  }

 private:
  Session session_;
};

}  // namespace

Result<std::unique_ptr<OpenLibrary>> open_cublaslt(const std::string& library) {
  const auto loaded = load_library(library, "cuBLASLt");
  if (!loaded) return loaded.errors();
  Functions functions{};
  if (const std::string lacking = find_all(*loaded, functions); !lacking.empty())
    return library_lacks(library, lacking);
  auto cublaslt = std::make_unique<CublasLt>(functions);
  if (Status status = cublaslt->start(); !status) return status.errors();
  return std::unique_ptr<OpenLibrary>(std::move(cublaslt));
}

}  // namespace octavo::cuda
