// How this processor encodes vpdpbusd. Part of kernels/.
#include <xbyak/xbyak_util.h>

#include "kernels/jit/code.h"

namespace octavo {

bool has_vex_vnni() {
  static const bool has = Xbyak::util::Cpu().has(Xbyak::util::Cpu::tAVX_VNNI);
  return has;
}

}  // namespace octavo
