// Thinning by tables of neighbourhoods; what the tables mean is in core/thinning.py, where the truth is too.

#include <vector>

#include "bind.h"

namespace sauvolanet::LEVEL {

// The eight neighbours of one pixel of a padded mask as bits, east first, then counterclockwise.
static int neighbours(const std::uint8_t *at, Index stride) {
    return at[1] | at[1 - stride] << 1 | at[-stride] << 2 | at[-1 - stride] << 3 | at[-1] << 4 | at[stride - 1] << 5 |
           at[stride] << 6 | at[stride + 1] << 7;
}

// Thin a mask of 0 and 1 in place: the tables in turn, each deleting in parallel, until nothing changes. The mask has one
// pixel of padding, and no gaps between its rows.
//
// Only a pixel beside a hole can go, and only by a table that has not seen its present neighbourhood: pixels wait in a
// list with the number of tables that still have to look at them.
static void thin(View<std::uint8_t, 2> mask, View<const bool, 2> tables) {
    const Index stride = mask.stride[0], size = mask.shape[0] * stride;
    const auto all = static_cast<std::uint8_t>(tables.shape[0]);
    const Index around[] = {1, 1 - stride, -stride, -stride - 1, -1, stride - 1, stride, stride + 1};
    std::uint8_t *pixels = mask.data;
    std::vector<std::uint8_t> waiting(static_cast<std::size_t>(size));
    std::vector<Index> listed, gone;
    for (Index at = stride; at < size - stride; at++)
        if (pixels[at] && neighbours(pixels + at, stride) != 255) {
            listed.push_back(at);
            waiting[at] = all;
        }
    while (!listed.empty()) {
        for (Index t = 0; t < tables.shape[0]; t++) {
            const bool *goes = tables[t].data;
            gone.clear();
            std::size_t kept = 0;
            for (const Index at : listed) {
                waiting[at]--;
                if (goes[neighbours(pixels + at, stride)]) {
                    waiting[at] = 0;
                    gone.push_back(at);
                } else if (waiting[at]) {
                    listed[kept++] = at;
                }
            }
            listed.resize(kept);
            for (const Index at : gone) pixels[at] = 0;
            for (const Index middle : gone)
                for (const Index step : around) {
                    const Index at = middle + step;
                    if (!pixels[at]) continue;
                    if (!waiting[at]) listed.push_back(at);
                    waiting[at] = all;
                }
        }
    }
}

// Delete by one table in raster order, each deletion seen by the pixels after it, until nothing changes.
static void thin_in_order(View<std::uint8_t, 2> mask, View<const bool, 1> goes) {
    const Index stride = mask.stride[0], size = mask.shape[0] * stride;
    std::uint8_t *pixels = mask.data;
    std::vector<Index> left;
    for (Index at = 0; at < size; at++)
        if (pixels[at]) left.push_back(at);
    for (bool changed = true; changed;) {
        changed = false;
        std::size_t kept = 0;
        for (const Index at : left) {
            if (goes[neighbours(pixels + at, stride)]) {
                pixels[at] = 0;
                changed = true;
            } else {
                left[kept++] = at;
            }
        }
        left.resize(kept);
    }
}

Table thinning = {KERNEL(thin), KERNEL(thin_in_order), {}};

}  // namespace sauvolanet::LEVEL
