// Window statistics, one band of rows at a time; the truth is in core/windows.py.

#include "bind.h"

namespace sauvolanet::LEVEL {

// ink = gray < surface, one band.
static void below(View<const std::uint8_t, 2> gray, View<const float, 2> surface, View<bool, 2> ink) {
    for (Index y = 0; y < gray.shape[0]; y++) {
        const auto grays = gray[y];
        const auto surfaces = surface[y];
        const auto inks = ink[y];
        for (Index x = 0; x < grays.shape[0]; x++) inks[x] = static_cast<float>(grays[x]) < surfaces[x];
    }
}

Table windows = {KERNEL(below), {}};

}  // namespace sauvolanet::LEVEL
