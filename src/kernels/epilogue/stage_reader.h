// StageReader: the stages of an epilogue, taken from the front one by one. Part of kernels/epilogue/.
#ifndef OCTAVO_KERNELS_EPILOGUE_STAGE_READER_H_
#define OCTAVO_KERNELS_EPILOGUE_STAGE_READER_H_

#include <cstddef>
#include <variant>
#include <vector>

#include "ops/epilogue.h"

namespace octavo {

class StageReader {
 public:
  // `first_operand`: the operator's first input that is an operand of the epilogue, which outlives this.
  StageReader(const Epilogue& epilogue, std::size_t first_operand)
      : stages_(epilogue.stages), operand_(static_cast<int>(first_operand)) {}

  bool is_done() const { return at_ == stages_.size(); }
  // The next stage where it is of that kind, else nullptr; `operand` becomes the first of its operands, where it has
  // any: an input of the operator.
  template <class T>
  const T* take(int& operand) {
    const T* found = is_done() ? nullptr : std::get_if<T>(&stages_[at_]);
    if (found == nullptr) return nullptr;
    ++at_;
    if (!T::kOperands.empty()) operand = operand_;
    operand_ += static_cast<int>(T::kOperands.size());
    return found;
  }
  template <class T>
  const T* take() {
    int none = -1;
    return take<T>(none);
  }

 private:
  const std::vector<Stage>& stages_;
  std::size_t at_ = 0;
  int operand_;
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_EPILOGUE_STAGE_READER_H_
