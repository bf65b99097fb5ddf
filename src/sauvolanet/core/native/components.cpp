// Union of runs into components, and flooding from seeds; the truth is in core/components.py.

#include <vector>

#include "bind.h"

namespace sauvolanet::LEVEL {

static Index root(View<Index, 1> parent, Index i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

// The component of each run, named by its first run; reach 1 joins diagonally, 0 does not.
static void link(View<const Index, 1> row, View<const Index, 1> first, View<const Index, 1> last, Index reach,
                 View<Index, 1> parent) {
    const Index count = row.shape[0];
    for (Index i = 0; i < count; i++) parent[i] = i;
    Index above = 0;  // first run of the row above that may still touch
    for (Index i = 0; i < count; i++) {
        while (above < i && (row[above] < row[i] - 1 || (row[above] == row[i] - 1 && last[above] + reach <= first[i])))
            above++;
        for (Index j = above; j < i && row[j] == row[i] - 1 && first[j] < last[i] + reach; j++) {
            const Index a = root(parent, i), b = root(parent, j);
            if (a < b)
                parent[b] = a;
            else
                parent[a] = b;
        }
    }
    for (Index i = 0; i < count; i++) parent[i] = root(parent, i);
}

// Raise state from 1 (inside the mask) to 2 on the 8-connected components that hold a seed. Both have one pixel of
// padding, and no gaps between their rows.
static void flood(View<std::uint8_t, 2> state, View<const bool, 2> seeds) {
    const Index width = state.stride[0];
    const Index around[] = {-width - 1, -width, -width + 1, -1, 1, width - 1, width, width + 1};
    std::vector<Index> waiting;
    for (Index start = 0; start < state.shape[0] * width; start++) {
        if (!seeds.data[start] || state.data[start] != 1) continue;
        state.data[start] = 2;
        waiting.push_back(start);
        while (!waiting.empty()) {
            const Index at = waiting.back();
            waiting.pop_back();
            for (const Index step : around)
                if (state.data[at + step] == 1) {
                    state.data[at + step] = 2;
                    waiting.push_back(at + step);
                }
        }
    }
}

Table components = {KERNEL(link), KERNEL(flood), {}};

}  // namespace sauvolanet::LEVEL
