// The kernels of one processor level: one table per file.

#include "bind.h"

namespace sauvolanet::LEVEL {

extern Table components, convolution, cuts, edges, eight, ends, features_table, fit, gradients, light_table, metrics, su,
    thinning, windows;

PyMethodDef *const tables[] = {components,     convolution, cuts,        edges,   eight, ends,     features_table,
                               fit,            gradients,   light_table, metrics, su,    thinning, windows,
                               nullptr};

}  // namespace sauvolanet::LEVEL
