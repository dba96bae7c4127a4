// Octavo: int8 neural networks, compiled ahead of time, on CPUs. Includes the whole public API.
//
// Every function that can fail returns a Result; the library never prints and never ends the process.
// Names in namespace octavo::v1 keep their meaning; an incompatible change would be octavo::v2.
#ifndef OCTAVO_OCTAVO_H_
#define OCTAVO_OCTAVO_H_

#include "octavo/compile.h"
#include "octavo/dtype.h"
#include "octavo/precision.h"
#include "octavo/quantize.h"
#include "octavo/result.h"
#include "octavo/run.h"
#include "octavo/tensor.h"

#endif  // OCTAVO_OCTAVO_H_
