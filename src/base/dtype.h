// Element types, which are part of the public API. Part of base/.
#ifndef OCTAVO_BASE_DTYPE_H_
#define OCTAVO_BASE_DTYPE_H_

#include "octavo/dtype.h"  // IWYU pragma: export

#endif  // OCTAVO_BASE_DTYPE_H_
