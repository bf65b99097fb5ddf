// The kernels of one processor level: one table per file.

#include "bind.h"

namespace sauvolanet::LEVEL {

extern Table components, cuts, edges, fit, metrics, su, thinning, windows;

PyMethodDef *const tables[] = {components, cuts, edges, fit, metrics, su, thinning, windows, nullptr};

}  // namespace sauvolanet::LEVEL
