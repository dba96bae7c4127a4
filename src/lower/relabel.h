// s8 activations become u8 ones, because dot products of kernels multiply u8 by s8. Part of lower/.
#ifndef OCTAVO_LOWER_RELABEL_H_
#define OCTAVO_LOWER_RELABEL_H_

#include "base/result.h"
#include "graph/graph.h"

namespace octavo {

// Every s8 wire between integer operators carries q + 128 as u8 instead; zero points, bounds, biases and tables move
// with it, so that every value means what it meant, bit for bit. Formulas that add a zero point before they round keep
// the old one and get a shift. Graph inputs and outputs keep their type: a table converts there, and around operators
// that know no u8 form.
Status relabel_signed(Graph& graph);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RELABEL_H_
