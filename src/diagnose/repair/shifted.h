// Stored values of another signedness. Part of diagnose/.
#ifndef OCTAVO_DIAGNOSE_REPAIR_SHIFTED_H_
#define OCTAVO_DIAGNOSE_REPAIR_SHIFTED_H_

#include <map>
#include <string>

#include "diagnose/repair/repairs.h"

namespace octavo::repair {

// Constants of a file as bytes of the other signedness, 128 further: each is added to the file once.
class ShiftedConstants {
 public:
  // to: u8 or s8
  ShiftedConstants(OnnxEdit& edit, DType to) : edit_(edit), to_(to) {}

  // The name of the constant that stands for `name`, which is a constant.
  std::string of(const std::string& name) {
    std::string& made = made_[name];
    if (!made.empty()) return made;
    const Tensor before = *edit_.constant(name);
    Tensor after(to_, before.shape());
    const double step = to_ == DType::u8 ? 128.0 : -128.0;
    for (std::int64_t i = 0; i < before.elements(); ++i)
      store_double(after.view(), i, element_as_double(before.view(), i) + step);
    return made = edit_.add_constant(name + (to_ == DType::u8 ? "_u8" : "_s8"), after);
  }

 private:
  OnnxEdit& edit_;
  DType to_;
  std::map<std::string, std::string> made_;
};

}  // namespace octavo::repair

#endif  // OCTAVO_DIAGNOSE_REPAIR_SHIFTED_H_
