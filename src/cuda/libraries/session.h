// What libraries are alike in: opening one, its handle, calls as Status. For the files of this folder. Part of cuda/.
#ifndef OCTAVO_CUDA_LIBRARIES_SESSION_H_
#define OCTAVO_CUDA_LIBRARIES_SESSION_H_

#include "cuda/libraries/libraries.h"

namespace octavo::cuda {

// Names a library in messages, and in the file system.
struct LibraryName {
  std::string what, file;
};
// It stays loaded, as the driver does.
Result<void*> load_library(const LibraryName& name);
Error library_lacks(const LibraryName& name, const std::string& function);
Error library_failed(const std::string& doing, const char* text, int code);

template <class Functions, class Handle>
class LibrarySession {
 public:
  LibrarySession(const LibraryName& name, const Functions& functions) : what_(name.what), functions_(functions) {}
  const Functions& functions() const { return functions_; }
  Handle handle() const { return handle_.get(); }
  Status start() { return make(handle_, functions_.create, functions_.destroy); }

  Status check(int code, const std::string& doing) const {
    return code == 0 ? ok_status() : Status(library_failed(doing, functions_.error_text(code), code));
  }
  // By create(&object, arguments...).
  template <class Object, class... Arguments, class... Given>
  Status make(Owned<Object>& owned, int (*create)(Object*, Arguments...), int (*destroy)(Object),
              Given... arguments) const {
    Object object = nullptr;
    if (Status status = check(create(&object, arguments...), "asking " + what_); !status) return status;
    owned = Owned<Object>(object, destroy);
    return ok_status();
  }

 private:
  std::string what_;
  Functions functions_;
  Owned<Handle> handle_;
};

// Call: made of a session, and then told of a convolution by `prepare`.
template <class Session, class Call>
class LibraryOf final : public OpenLibrary {
 public:
  explicit LibraryOf(Session session) : session_(std::move(session)) {}
  Result<std::unique_ptr<LibraryCall>> prepare(const LibraryConv& conv) override {
    auto call = std::make_unique<Call>(session_);
    if (Status status = call->prepare(conv); !status) return status.errors();
    return std::unique_ptr<LibraryCall>(std::move(call));
  }

 private:
  Session session_;
};

// `find_all` fills in the functions and tells the first that is not there.
template <class Call, class Functions, class Handle>
Result<std::unique_ptr<OpenLibrary>> open_by(std::string (*find_all)(void* library, Functions& functions),
                                             const LibraryName& name) {
  using Session = LibrarySession<Functions, Handle>;
  const auto loaded = load_library(name);
  if (!loaded) return loaded.errors();
  Functions functions{};
  if (const std::string lacking = find_all(*loaded, functions); !lacking.empty()) return library_lacks(name, lacking);
  Session session(name, functions);
  if (Status status = session.start(); !status) return status.errors();
  return std::unique_ptr<OpenLibrary>(std::make_unique<LibraryOf<Session, Call>>(std::move(session)));
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_LIBRARIES_SESSION_H_
