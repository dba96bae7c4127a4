// Where the elements of a result come from, for values whose elements are no numbers yet. Part of import/.
#ifndef OCTAVO_IMPORT_PLACES_H_
#define OCTAVO_IMPORT_PLACES_H_

#include <cstddef>
#include <vector>

#include "graph/op.h"

namespace octavo {

// Whether input `index` of an operator that moves or joins elements holds them; the others say where they go.
bool holds_elements(const OpSpec& spec, std::size_t index);

// Of an operator that moves or joins elements: for each element of the result its place among those of the inputs that
// hold elements, counted on from one input to the next. The others are constants.
std::vector<std::size_t> moved_places(const OpSpec& spec, const Attrs& attrs, InputFacts inputs, const Fact& output);

// For each element of `output` that of `input` which broadcasting takes.
std::vector<std::size_t> broadcast_places(const OpenShape& input, const OpenShape& output);

}  // namespace octavo

#endif  // OCTAVO_IMPORT_PLACES_H_
