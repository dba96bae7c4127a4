// Result and Error, which are part of the public API. Part of base/.
#ifndef OCTAVO_BASE_RESULT_H_
#define OCTAVO_BASE_RESULT_H_

#include "octavo/result.h"  // IWYU pragma: export

#endif  // OCTAVO_BASE_RESULT_H_
