// What callers need of elementary.h without its templates. Part of base/.
#include "base/elementary.h"

namespace octavo {

float math_sigmoid_f32(float x) { return sigmoid_f32<Lane>(x); }

}  // namespace octavo
