// How light the paper is, place by place, what is made of it, and how wide strokes are; the truth is in page/reading.py
// and, of the cells of a view, in net/view.py.

#include <algorithm>
#include <cstring>
#include <vector>

#include "bind.h"

namespace sauvolanet::LEVEL {

// Rows y0 … y1 − 1 of cells: of every step-th pixel of every step-th row of a cell the one that nth are not larger than.
// Beyond the page its last row and column go on.
static void cell_levels(View<const std::uint8_t, 2> gray, Index side, Index step, Index nth, Index y0, Index y1,
                        View<float, 2> levels) {
    constexpr Index chunk = 64;  // so many are counted in bytes
    const Index height = gray.shape[0], width = gray.shape[1], along = (side + step - 1) / step;
    std::vector<std::uint8_t> samples((along * along + chunk - 1) / chunk * chunk, 255);
    for (Index i = y0; i < y1; i++)
        for (Index j = 0; j < levels.shape[1]; j++) {
            std::uint8_t *to = samples.data();
            for (Index y = i * side; y < (i + 1) * side; y += step) {
                const auto row = gray[std::min(y, height - 1)];
                const Index first = j * side, last = first + side;
                if (step == 1 && last <= width) {
                    std::memcpy(to, row.data + first, static_cast<std::size_t>(side));
                    to += side;
                } else
                    for (Index x = first; x < last; x += step) *to++ = row[std::min(x, width - 1)];
            }
            int found = 0;  // bit by bit, the highest first
            for (int bit = 128; bit; bit >>= 1) {
                const auto tried = static_cast<std::uint8_t>(found | bit);
                Index below = 0;
                for (std::size_t begin = 0; begin < samples.size(); begin += chunk) {
                    std::uint8_t part = 0;
                    for (Index k = 0; k < chunk; k++) part += samples[begin + k] < tried;
                    below += part;
                }
                if (below <= nth) found = tried;
            }
            levels(i, j) = static_cast<float>(found);
        }
}

// work(y, ratio) for every row; ratio(x) is the local level over white, linear between the centres of cells.
// levels : of cells, over white. above, left : the cell whose centre lies before a row or column; lower, further : how near
// that is to the next one.
template <class Work>
static void lit_rows(View<const float, 2> levels, View<const Index, 1> above, View<const float, 1> lower,
                     View<const Index, 1> left, View<const float, 1> further, Work work) {
    const Index width = left.shape[0];
    std::vector<float> room(static_cast<std::size_t>(4 * width));  // levels around each column, of two rows of cells
    float *corners[2][2];
    for (int i = 0; i < 4; i++) corners[i / 2][i % 2] = room.data() + i * width;
    for (Index y = 0; y < above.shape[0]; y++) {
        if (y == 0 || above[y] != above[y - 1])
            for (int down = 0; down < 2; down++) {
                const auto cells = levels[above[y] + down];
                for (Index x = 0; x < width; x++)
                    for (int right = 0; right < 2; right++) corners[down][right][x] = cells[left[x] + right];
            }
        const float *a = corners[0][0], *b = corners[0][1], *c = corners[1][0], *d = corners[1][1];
        const float low = lower[y];
        work(y, [=](Index x) {
            const float here = a[x] + (c[x] - a[x]) * low, next = b[x] + (d[x] - b[x]) * low;
            return (next - here) * further.data[x] + here;
        });
    }
}

// The ratio of every pixel.
static void light(View<const float, 2> levels, View<const Index, 1> above, View<const float, 1> lower,
                  View<const Index, 1> left, View<const float, 1> further, View<float, 2> out) {
    lit_rows(levels, above, lower, left, further, [&](Index y, auto ratio) {
        float *__restrict to = out[y].data;
        for (Index x = 0; x < out.shape[1]; x++) to[x] = ratio(x);
    });
}

// The gray with all its paper at one level.
static void even(View<const std::uint8_t, 2> gray, View<const float, 2> levels, View<const Index, 1> above,
                 View<const float, 1> lower, View<const Index, 1> left, View<const float, 1> further,
                 View<std::uint8_t, 2> out) {
    lit_rows(levels, above, lower, left, further, [&](Index y, auto ratio) {
        const std::uint8_t *from = gray[y].data;
        std::uint8_t *__restrict to = out[y].data;
        for (Index x = 0; x < out.shape[1]; x++) {
            const float lit = static_cast<float>(from[x]) / ratio(x) + 0.5f;
            to[x] = static_cast<std::uint8_t>(static_cast<std::int32_t>(lit < 255.0f ? lit : 255.0f));
        }
    });
}

// The surface in the page's light, in place.
static void relight(View<const float, 2> levels, View<const Index, 1> above, View<const float, 1> lower,
                    View<const Index, 1> left, View<const float, 1> further, View<float, 2> surface) {
    lit_rows(levels, above, lower, left, further, [&](Index y, auto ratio) {
        float *__restrict to = surface[y].data;
        for (Index x = 0; x < surface.shape[1]; x++) to[x] *= ratio(x);
    });
}

// Of every so manieth square block of pixels in each direction: the pixels darker than level, and the edges between these
// and others. counts : (rows, columns, 2).
static void strokes(View<const std::uint8_t, 2> gray, Index level, Index side, Index every, View<Index, 3> counts) {
    std::vector<std::uint8_t> room(static_cast<std::size_t>(2 * side));
    for (Index i = 0; i < counts.shape[0]; i++)
        for (Index j = 0; j < counts.shape[1]; j++) {
            std::int32_t area = 0, edges = 0;
            for (Index y = 0; y < side; y++) {
                const std::uint8_t *from = gray[i * every * side + y].part(j * every * side, j * every * side + side).data;
                std::uint8_t *dark = room.data() + y % 2 * side, *above = room.data() + (y + 1) % 2 * side;
                for (Index x = 0; x < side; x++) dark[x] = from[x] < level;
                for (Index x = 0; x < side; x++) area += dark[x];
                for (Index x = 1; x < side; x++) edges += dark[x] != dark[x - 1];
                if (y)
                    for (Index x = 0; x < side; x++) edges += dark[x] != above[x];
            }
            counts(i, j, 0) = area;
            counts(i, j, 1) = edges;
        }
}

// Rows y0 … y1 − 1 of the cells of a view: of every step-th pixel of every step-th row the number, the sums of gray and of
// its square, and the number and the sum of gray of those darker than cut.
static void cell_sums(View<const std::uint8_t, 2> gray, Index cut, Index side, Index step, Index y0, Index y1,
                      View<float, 3> sums) {
    for (Index i = y0; i < y1; i++)
        for (Index j = 0; j < sums.shape[1]; j++) {
            const Index left = j * side, right = std::min(left + side, gray.shape[1]);
            std::int64_t found[5] = {};
            for (Index y = i * side; y < std::min((i + 1) * side, gray.shape[0]); y += step) {
                const std::uint8_t *row = gray[y].data;
                std::int32_t sum = 0, squares = 0, dark = 0, dark_sum = 0;
                for (Index x = left; x < right; x += step) {
                    const std::int32_t value = row[x], is_dark = value < cut;
                    sum += value;
                    squares += value * value;
                    dark += is_dark;
                    dark_sum += is_dark * value;
                }
                const std::int32_t parts[5] = {static_cast<std::int32_t>((right - left + step - 1) / step), sum, squares,
                                               dark, dark_sum};
                for (int k = 0; k < 5; k++) found[k] += parts[k];
            }
            for (int k = 0; k < 5; k++) sums(i, j, k) = static_cast<float>(found[k]);
        }
}

Table light_table = {KERNEL(cell_levels), KERNEL(light),     KERNEL(even), KERNEL(relight),
                     KERNEL(strokes),     KERNEL(cell_sums), {}};

}  // namespace sauvolanet::LEVEL
