// The kernels of one processor level: one table per file.

#include "bind.h"

namespace sauvolanet::LEVEL {

extern Table windows;

PyMethodDef *const tables[] = {windows, nullptr};

}  // namespace sauvolanet::LEVEL
