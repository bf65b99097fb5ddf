// Runs of a mask, their union into components, what a component encloses, and flooding from seeds; the truth is in core/components.py.

#include <cstring>
#include <vector>

#include "bind.h"

namespace sauvolanet::LEVEL {

// The horizontal runs of a mask, for which the arrays have room.
static void find_runs(View<const bool, 2> mask, View<Index, 1> row, View<Index, 1> first, View<Index, 1> last) {
    constexpr Index many = 8;  // pixels that are looked at together
    Index count = 0;
    for (Index y = 0; y < mask.shape[0]; y++) {
        const auto pixels = mask[y];
        const Index width = pixels.shape[0];
        bool inside = false;
        const auto look = [&](Index x) {
            if (pixels[x] == inside) return;
            if (inside) {
                last[count++] = x;
            } else {
                row[count] = y;
                first[count] = x;
            }
            inside = !inside;
        };
        Index x = 0;
        for (; x + many <= width; x += many) {
            std::uint64_t word;
            std::memcpy(&word, pixels.data + x, sizeof word);
            if (word != (inside ? 0x0101010101010101u : 0))
                for (Index i = 0; i < many; i++) look(x + i);
        }
        for (; x < width; x++) look(x);
        if (inside) last[count++] = width;
    }
}

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

// Whether the gap behind each run, up to the next of its component and row, is enclosed by the component. Gaps are named
// by the run before them, and joined where they touch, diagonally too; runs are ordered by component, row and column.
static void enclosed(View<const Index, 1> row, View<const Index, 1> first, View<const Index, 1> last,
                     View<const Index, 1> component, View<bool, 1> closed) {
    const Index count = row.shape[0], outside = count;
    std::vector<Index> names(count + 1);
    const View<Index, 1> parent{names.data(), {count + 1}, {1}};
    for (Index i = 0; i <= count; i++) parent[i] = i;
    const auto join = [&](Index a, Index b) { parent[root(parent, a)] = root(parent, b); };
    Index above = 0;  // the runs above … begin − 1 are the row above that of begin … end − 1, if it is of the component
    for (Index begin = 0, end; begin < count; above = begin, begin = end) {
        const auto same = [&](Index i) { return component[i] == component[begin]; };
        for (end = begin + 1; end < count && same(end) && row[end] == row[begin];) end++;
        const bool top = begin == 0 || !same(begin - 1), bottom = end == count || !same(end);
        Index j = above;
        for (Index i = begin; i + 1 < end; i++) {
            const Index a = last[i], b = first[i + 1];
            if (top || bottom || a <= first[above] || b >= last[begin - 1]) join(i, outside);
            if (top) continue;
            while (j + 1 < begin && first[j + 1] < a) j++;
            for (Index k = j; k + 1 < begin && last[k] <= b; k++) join(i, k);
        }
        if (top) continue;
        for (Index k = above; k + 1 < begin; k++)  // gaps above that touch what is left or right of this row
            if (last[k] <= first[begin] || first[k + 1] >= last[end - 1]) join(k, outside);
    }
    for (Index i = 0; i + 1 < count; i++)
        closed[i] = row[i] == row[i + 1] && component[i] == component[i + 1] && root(parent, i) != root(parent, outside);
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

Table components = {KERNEL(find_runs), KERNEL(link), KERNEL(enclosed), KERNEL(flood), {}};

}  // namespace sauvolanet::LEVEL
