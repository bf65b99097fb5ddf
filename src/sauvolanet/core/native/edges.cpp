// Local contrast and the parts of Canny's edges, a block of rows at a time; the truth is in classic/shared.py and
// classic/edges.py.
//
// Operations stand in the order in which numpy does them there, so that both give the same float32 to the last bit.

#include <algorithm>
#include <cmath>
#include <vector>

#include "bind.h"

namespace sauvolanet::LEVEL {

using Gray = View<const std::uint8_t, 2>;
using Row = View<const float, 1>;

// Local contrast over 3×3 pixels of rows y0 … y1 − 1, on a scale of 255.
static void contrast(Gray gray, float alpha, Index y0, Index y1, View<std::uint8_t, 2> result) {
    const Index height = gray.shape[0], width = gray.shape[1];
    std::vector<std::uint8_t> lows(width + 2), highs(width + 2);  // of three rows, with the page's edge repeated
    std::uint8_t *__restrict low = lows.data(), *__restrict high = highs.data();
    for (Index y = y0; y < y1; y++) {
        const std::uint8_t *above = gray[std::max<Index>(y - 1, 0)].data, *here = gray[y].data;
        const std::uint8_t *below = gray[std::min(y + 1, height - 1)].data;
        for (Index x = 0; x < width; x++) {
            low[x + 1] = std::min(std::min(above[x], here[x]), below[x]);
            high[x + 1] = std::max(std::max(above[x], here[x]), below[x]);
        }
        low[0] = low[1], low[width + 1] = low[width], high[0] = high[1], high[width + 1] = high[width];
        std::uint8_t *__restrict out = result[y].data;
        for (Index x = 0; x < width; x++) {
            const float least = std::min(std::min(low[x], low[x + 1]), low[x + 2]);
            const float most = std::max(std::max(high[x], high[x + 1]), high[x + 2]);
            const float ratio = (most - least) * 255.0f / (most + least + 1e-4f);
            out[x] = static_cast<std::uint8_t>(static_cast<std::int32_t>(alpha * ratio + (1.0f - alpha) * (most - least)));
        }
    }
}

static void weigh(float weight, Row values, View<float, 1> result) {
    float *__restrict out = result.data;
    for (Index x = 0; x < result.shape[0]; x++) out[x] = weight * values[x];
}

// Add two weighted rows at once: fewer trips to memory.
static void weigh_two(float a, Row values_a, float b, Row values_b, View<float, 1> result) {
    float *__restrict out = result.data;
    for (Index x = 0; x < result.shape[0]; x++) out[x] = out[x] + a * values_a[x] + b * values_b[x];
}

// Correlation along the rows with an odd number of weights, the page's edge repeated.
static void along_rows(View<const float, 2> values, Row weights, View<float, 2> result) {
    const Index reach = weights.shape[0] / 2, width = values.shape[1];
    std::vector<float> room(width + 2 * reach);
    Row padded;
    padded.data = room.data(), padded.shape[0] = width + 2 * reach;
    for (Index y = 0; y < values.shape[0]; y++) {
        const float *row = values[y].data;
        std::fill_n(room.data(), reach, row[0]);
        std::copy_n(row, width, room.data() + reach);
        std::fill_n(room.data() + reach + width, reach, row[width - 1]);
        weigh(weights[0], padded, result[y]);
        for (Index i = 1; i < 2 * reach; i += 2)
            weigh_two(weights[i], padded.part(i, i + width), weights[i + 1], padded.part(i + 1, i + 1 + width), result[y]);
    }
}

// Correlation along the columns for the page's rows from first on; values begin at the page's row start.
static void along_columns(View<const float, 2> values, Index start, Row weights, Index first, Index height,
                          View<float, 2> result) {
    const Index reach = weights.shape[0] / 2;
    for (Index y = 0; y < result.shape[0]; y++) {
        const auto row = [&](Index i) { return values[std::clamp<Index>(first + y - reach + i, 0, height - 1) - start]; };
        weigh(weights[0], row(0), result[y]);
        for (Index i = 1; i < 2 * reach; i += 2) weigh_two(weights[i], row(i), weights[i + 1], row(i + 1), result[y]);
    }
}

// All neighbours are read before one is chosen, so that the loop has no branches.
static void ridge_row(Row gx, Row gy, Row above, Row here, Row below, View<bool, 1> result) {
    bool *__restrict out = result.data;
    for (Index x = 1; x < here.shape[0] - 1; x++) {
        const float north = above[x], south = below[x], west = here[x - 1], east = here[x + 1];
        const float northwest = above[x - 1], northeast = above[x + 1], southwest = below[x - 1], southeast = below[x + 1];
        const float ax = std::abs(gx[x]), ay = std::abs(gy[x]);
        const bool flat = ax >= ay, rising = gx[x] * gy[x] > 0.0f;
        const float longer = flat ? ax : ay, shorter = flat ? ay : ax;
        const float part = shorter / (longer > 1e-30f ? longer : 1e-30f);
        float ahead = (flat ? east : south) * (1.0f - part);
        ahead += (rising ? southeast : flat ? northeast : southwest) * part;
        float behind = (flat ? west : north) * (1.0f - part);
        behind += (rising ? northwest : flat ? southwest : northeast) * part;
        out[x] = (here[x] >= ahead) & (here[x] >= behind) & (longer > 0.0f);
    }
}

// Pixels (true) no smaller than both neighbours along the gradient, which are interpolated; none at the border.
static void ridges(View<const float, 2> gx, View<const float, 2> gy, View<const float, 2> magnitude,
                   View<bool, 2> result) {
    for (Index y = 1; y < magnitude.shape[0] - 1; y++)
        ridge_row(gx[y], gy[y], magnitude[y - 1], magnitude[y], magnitude[y + 1], result[y]);
}

// Rows y0 … y1 − 1 of a mask without the pixels that the table of neighbourhoods deletes, all at once; the mask has one
// pixel of padding.
static void thin_rows(View<const bool, 2> padded, View<const bool, 1> goes, View<bool, 2> result, Index y0, Index y1) {
    for (Index y = y0; y < y1; y++) {
        const bool *above = padded[y].data, *here = padded[y + 1].data, *below = padded[y + 2].data;
        bool *__restrict out = result[y].data;
        for (Index x = 0; x < result.shape[1]; x++) {
            bool stays = here[x + 1];
            if (stays)
                stays = !goes[here[x + 2] | above[x + 2] << 1 | above[x + 1] << 2 | above[x] << 3 | here[x] << 4 |
                              below[x] << 5 | below[x + 1] << 6 | below[x + 2] << 7];
            out[x] = stays;
        }
    }
}

// How often neighbouring beginnings of edges in a row lie 0 … 255 pixels apart.
static void distances(View<const bool, 2> edges, View<Index, 1> counts) {
    for (Index y = 0; y < edges.shape[0]; y++) {
        const auto row = edges[y];
        Index last = -1;
        for (Index x = 1; x < edges.shape[1]; x++) {
            if (!row[x] || row[x - 1]) continue;
            if (last >= 0 && x - last < 256) counts[x - last]++;
            last = x;
        }
    }
}

Table edges = {KERNEL(contrast), KERNEL(along_rows), KERNEL(along_columns), KERNEL(ridges), KERNEL(thin_rows),
               KERNEL(distances), {}};

}  // namespace sauvolanet::LEVEL
