// Loops of the metrics: distance maps and the DIBCO weight maps; the truth, and what they mean, is in score/loops.py.
//
// Masks are true on ink unless a comment says otherwise; outside the page there is no ink. Components are given by their
// horizontal runs (row, first column, past the last), by where each begins among them, and by their boxes (top, bottom,
// left, right, inclusive).

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "bind.h"

namespace sauvolanet::LEVEL {

using Mask = View<const bool, 2>;
using Depth = View<const std::uint8_t, 2>;
using Runs = View<const Index, 2>;
using Begins = View<const Index, 1>;

namespace {

constexpr std::int32_t FAR = 1 << 30;  // a distance without a goal
constexpr int OUT = 250;               // depth of paper that no stroke reaches, the mark of the DIBCO tool

inline std::uint8_t longer(std::uint8_t steps) { return std::min<std::uint8_t>(steps, 254) + 1; }

// A page-sized array of the kernel's own, without gaps.
template <class T> struct Page {
    std::unique_ptr<T[]> room;
    View<T, 2> view;

    Page(Index height, Index width)
        : room(new T[static_cast<std::size_t>(height * width)]()), view{room.get(), {height, width}, {width, 1}} {}

    View<const T, 2> read() const { return {view.data, {view.shape[0], view.shape[1]}, {view.stride[0], 1}}; }
};

template <class Do> void for_pixels(Runs runs, Index from, Index to, Do &&visit) {
    for (Index i = from; i < to; i++) {
        const Index *run = runs[i].data;
        for (Index x = run[1]; x < run[2]; x++) visit(run[0], x);
    }
}

// near[x] = the least of three steps of a row (with one number of padding on either side), and one more.
void step_from(const std::uint8_t *row, Index width, std::uint8_t *__restrict near) {
    for (Index x = 0; x < width; x++) near[x] = longer(std::min(std::min(row[x], row[x + 1]), row[x + 2]));
}

// Steps from each pixel to the next true one, itself included, rightwards and downwards. 255 means that the next 255
// pixels are false: go there and look again.
struct Jumps {
    Page<std::uint8_t> right, down;

    template <class Is> Jumps(Index height, Index width, Is &&is) : right(height, width), down(height, width) {
        std::vector<std::uint8_t> below(width, 255);
        for (Index y = height - 1; y >= 0; y--) {
            std::uint8_t *to_right = right.view[y].data, *to_below = down.view[y].data, after = 255;
            for (Index x = width - 1; x >= 0; x--) {
                const bool here = is(y, x);
                to_right[x] = after = here ? 0 : longer(after);
                to_below[x] = here ? 0 : longer(below[x]);
            }
            std::copy_n(to_below, width, below.data());
        }
    }

    // Flat positions of all features on the first square ring around (y, x), cut by the box, that holds any.
    // radius : where to begin, at most the chessboard distance to the nearest feature. Returns their number.
    Index nearest(const Index *box, Index y, Index x, Index radius, Index *found) const {
        const Index width = right.view.shape[1];
        for (;; radius++) {
            const Index top = std::max(y - radius, box[0]), bottom = std::min(y + radius, box[1]);
            const Index left = std::max(x - radius, box[2]), end = std::min(x + radius, box[3]);
            Index count = 0;
            for (const Index row : {top, bottom}) {
                const std::uint8_t *steps = right.view[row].data;
                for (Index at = left; at <= end;) {
                    const Index step = steps[at];
                    at += step;
                    if (step < 255 && at <= end) found[count++] = row * width + at++;
                }
            }
            for (const Index column : {left, end}) {
                for (Index at = top + 1; at < bottom;) {
                    const Index step = down.view.data[at * width + column];
                    at += step;
                    if (step < 255 && at < bottom) found[count++] = at++ * width + column;
                }
            }
            if (count || (top == box[0] && bottom == box[1] && left == box[2] && end == box[3])) return count;
        }
    }
};

}  // namespace

// Chessboard distance to the nearest true pixel; 255 means 255 or more, or none.
static void chessboard(Mask seeds, View<std::uint8_t, 2> distance) {
    const Index height = seeds.shape[0], width = seeds.shape[1];
    std::vector<std::uint8_t> room(width + 2, 255), near(width);  // the row before, with padding
    for (Index y = 0; y < height; y++) {
        step_from(room.data(), width, near.data());
        std::uint8_t last = 255, *here = distance[y].data;
        for (Index x = 0; x < width; x++) {
            last = std::min(near[x], longer(last));
            here[x] = last = seeds(y, x) ? 0 : last;
        }
        std::copy_n(here, width, room.data() + 1);
    }
    std::fill(room.begin(), room.end(), 255);
    for (Index y = height - 1; y >= 0; y--) {
        step_from(room.data(), width, near.data());
        std::uint8_t last = 255, *here = distance[y].data;
        for (Index x = width - 1; x >= 0; x--) here[x] = last = std::min(std::min(here[x], near[x]), longer(last));
        std::copy_n(here, width, room.data() + 1);
    }
}

// Sums of the exact Euclidean distance to the nearest true seed, over all pixels and over the wanted ones, into two
// numbers.
//
// Row by row, the lower envelope of the parabolas (x − i)² + g(i)², g the distance within column i (Felzenszwalb and
// Huttenlocher 2012, doi:10.4086/toc.2012.v008a019).
static void distance_sums(Mask seeds, Mask wanted, View<double, 1> sums) {
    const Index height = seeds.shape[0], width = seeds.shape[1];
    Page<std::int32_t> page(height, width);
    const View<std::int32_t, 2> columns = page.view;
    for (Index x = 0; x < width; x++) columns(0, x) = seeds(0, x) ? 0 : FAR;
    for (Index y = 1; y < height; y++)
        for (Index x = 0; x < width; x++) columns(y, x) = seeds(y, x) ? 0 : std::min(columns(y - 1, x) + 1, FAR);
    for (Index y = height - 2; y >= 0; y--)
        for (Index x = 0; x < width; x++) columns(y, x) = std::min(columns(y, x), columns(y + 1, x) + 1);

    constexpr double infinite = std::numeric_limits<double>::infinity();
    std::vector<Index> apex(width);
    std::vector<double> begins(width + 1);
    double everywhere = 0, there = 0;
    for (Index y = 0; y < height; y++) {
        const std::int32_t *row = columns[y].data;
        Index last = -1;
        for (Index x = 0; x < width; x++) {
            const double g = row[x];
            if (g >= FAR) continue;
            double start = -infinite;
            while (last >= 0) {
                const Index i = apex[last];
                const double h = row[i];
                start = (g * g + static_cast<double>(x * x) - h * h - static_cast<double>(i * i)) /
                        (2.0 * static_cast<double>(x - i));
                if (start > begins[last]) break;
                last--;
                start = -infinite;
            }
            apex[++last] = x;
            begins[last] = start;
        }
        begins[last + 1] = infinite;
        Index k = 0;
        for (Index x = 0; x < width; x++) {
            while (begins[k + 1] < static_cast<double>(x)) k++;
            const Index i = apex[k];
            const double h = row[i], distance = std::sqrt(static_cast<double>((x - i) * (x - i)) + h * h);
            everywhere += distance;
            if (wanted(y, x)) there += distance;
        }
    }
    sums[0] = everywhere;
    sums[1] = there;
}

// The component of each pixel, −1 outside.
static void label_image(Runs runs, Begins begins, View<std::int32_t, 2> labels) {
    for (Index y = 0; y < labels.shape[0]; y++) std::fill_n(labels[y].data, labels.shape[1], -1);
    for (Index c = 0; c < begins.shape[0] - 1; c++)
        for_pixels(runs, begins[c], begins[c + 1],
                   [&](Index y, Index x) { labels(y, x) = static_cast<std::int32_t>(c); });
}

// Give every component without a line pixel one: its rounded centroid, or its first pixel if that lies outside.
static void seed_components(View<bool, 2> lines, Runs runs, Begins begins) {
    for (Index c = 0; c < begins.shape[0] - 1; c++) {
        Index count = 0, total_y = 0, total_x = 0;
        bool has = false;
        for_pixels(runs, begins[c], begins[c + 1], [&](Index y, Index x) {
            count++, total_y += y, total_x += x;
            has = has || lines(y, x);
        });
        if (has) continue;
        const auto rounded = [&](Index total) {
            return static_cast<Index>(static_cast<double>(total) / static_cast<double>(count) + 0.5);
        };
        const Index centre_y = rounded(total_y), centre_x = rounded(total_x);
        bool inside = false;
        for (Index i = begins[c]; i < begins[c + 1]; i++)
            inside = inside || (runs(i, 0) == centre_y && runs(i, 1) <= centre_x && centre_x < runs(i, 2));
        if (inside)
            lines(centre_y, centre_x) = true;
        else
            lines(runs(begins[c], 0), runs(begins[c], 1)) = true;
    }
}

// Raise the depth of line pixels that equal all four neighbours (a flat ridge is one pixel deeper).
static void ridge(View<std::uint8_t, 2> depth, Mask lines, Runs runs) {
    const Index bottom = depth.shape[0] - 1, right = depth.shape[1] - 1;
    for_pixels(runs, 0, runs.shape[0], [&](Index y, Index x) {
        const std::uint8_t d = depth(y, x);
        if (lines(y, x) && 0 < d && d < OUT && depth(std::max<Index>(y - 1, 0), x) == d &&
            depth(std::min(y + 1, bottom), x) == d && depth(y, std::max<Index>(x - 1, 0)) == d &&
            depth(y, std::min(x + 1, right)) == d)
            depth(y, x) = d + 1;
    });
}

// A line's last pixel takes its only neighbour's factor plus one.
//
// The factor of a neighbour to the lower right is read in column 1: the DIBCO tool does so, and its weights count.
static void end_points(View<std::uint8_t, 2> factor, Mask lines, Runs runs) {
    const Index bottom = lines.shape[0] - 1, end = lines.shape[1] - 1;
    for_pixels(runs, 0, runs.shape[0], [&](Index y, Index x) {
        if (!lines(y, x)) return;
        const Index up = std::max<Index>(y - 1, 0), down = std::min(y + 1, bottom);
        const Index left = std::max<Index>(x - 1, 0), right = std::min(x + 1, end);
        const Index around[8][3] = {{up, x, x},       {down, x, x},           {y, left, left},     {y, right, right},
                                    {up, left, left}, {down, right, right - x}, {down, left, left}, {up, right, right}};
        int count = 0;
        std::uint8_t value = 0;
        for (const auto &[row, column, read] : around)
            if (lines(row, column)) {
                count++;
                value = factor(row, read);
            }
        if (count == 1 && value > 0) factor(y, x) = value + 1;
    });
}

// The factor of each line pixel, and the scale of each pixel with a depth of 1 … 249, 0 elsewhere.
//
// depth : raised on flat ridges here. Each pixel looks at the line pixels nearest to it in its component's box; it sets
// their factor to their depth, plus one if it lies at least as far away (the last to look decides), and takes the largest
// depth · factor as its scale. A scale unlike its four neighbours' becomes its left one's. depth and factor have no gaps.
static void medial(View<std::uint8_t, 2> depth, Mask lines, Mask inner_lines, Runs runs, Begins begins, Runs boxes,
                   View<std::uint8_t, 2> factor, View<std::int32_t, 2> scale) {
    const Index height = depth.shape[0], width = depth.shape[1];
    ridge(depth, lines, runs);
    Page<std::uint8_t> distance(height, width);
    const View<std::uint8_t, 2> away = distance.view;
    chessboard(lines, away);
    const Jumps jumps(height, width, lines);
    std::vector<Index> found(4 * (height + width));
    for (Index y = 0; y < height; y++) {
        std::copy_n(lines[y].data, width, factor[y].data);
        std::fill_n(scale[y].data, width, 0);
    }
    const auto product = [&](Index at) { return std::int32_t{depth.data[at]} * factor.data[at]; };
    const auto has_scale = [&](Index y, Index x) { return 0 < depth(y, x) && depth(y, x) < OUT; };
    // between the two passes: −1 − the only line pixel that a pixel looks at
    for (Index c = 0; c < begins.shape[0] - 1; c++)
        for_pixels(runs, begins[c], begins[c + 1], [&](Index y, Index x) {
            if (!has_scale(y, x)) return;
            const int reach = inner_lines(y, x) ? 1 : away(y, x);
            const Index count = jumps.nearest(boxes[c].data, y, x, away(y, x), found.data());
            for (Index i = 0; i < count; i++) {
                const std::uint8_t d = depth.data[found[i]];
                factor.data[found[i]] = reach >= d ? d + 1 : d;
            }
            if (count == 1) scale(y, x) = static_cast<std::int32_t>(-1 - found[0]);
        });
    end_points(factor, lines, runs);
    for (Index c = 0; c < begins.shape[0] - 1; c++)
        for_pixels(runs, begins[c], begins[c + 1], [&](Index y, Index x) {
            if (scale(y, x) < 0) {
                scale(y, x) = product(-1 - scale(y, x));
            } else if (has_scale(y, x)) {
                const Index count = jumps.nearest(boxes[c].data, y, x, away(y, x), found.data());
                for (Index i = 0; i < count; i++) scale(y, x) = std::max(scale(y, x), product(found[i]));
            }
        });
    for_pixels(runs, 0, runs.shape[0], [&](Index y, Index x) {
        if (!has_scale(y, x)) return;
        const std::int32_t here = scale(y, x);
        const std::int32_t above = scale(std::max<Index>(y - 1, 0), x), below = scale(std::min(y + 1, height - 1), x);
        const std::int32_t before = scale(y, std::max<Index>(x - 1, 0)), after = scale(y, std::min(x + 1, width - 1));
        const bool odd = here != above && here != below && here != before && here != after;
        if (odd && above && below && before && after) scale(y, x) = before;
    });
}

// Twice the mean factor of each component's line, the mean rounded down.
static void stroke_widths(Depth factor, Mask lines, Runs runs, Begins begins, View<std::int32_t, 1> widths) {
    for (Index c = 0; c < begins.shape[0] - 1; c++) {
        Index total = 0, count = 0;
        for_pixels(runs, begins[c], begins[c + 1], [&](Index y, Index x) {
            if (!lines(y, x)) return;
            total += factor(y, x);
            count++;
        });
        widths[c] = static_cast<std::int32_t>(std::min<Index>(total / count * 2, 255));
    }
}

// What the distance of each paper pixel is divided by, 0 where its weight is 0.
//
// The stroke width of the nearest ink (the widest of those equally near), or the gap's width where that is smaller and a
// pixel equally near to two components lies within what is left of the stroke width.
// away : distance of paper to ink, OUT where no stroke reaches. at_edge : component of contour pixels, −1 elsewhere;
// without gaps.
static void precision_scale(Depth away, View<const std::int32_t, 2> gap, Depth from_edge,
                            View<const std::int32_t, 2> at_edge, View<const std::int32_t, 1> widths, Runs runs,
                            Begins begins, Runs boxes, View<std::int32_t, 2> scale) {
    const Index height = away.shape[0], width = away.shape[1];
    const Jumps jumps(height, width, [&](Index y, Index x) { return at_edge(y, x) >= 0; });
    std::vector<Index> found(4 * (height + width));
    const std::int32_t widest = std::min(*std::max_element(widths.data, widths.data + widths.shape[0]), OUT - 1);
    Page<bool> meets(height, width);
    Page<std::uint8_t> to_meeting(height, width);
    for (Index y = 0; y < height; y++) std::fill_n(scale[y].data, width, 0);
    for (Index c = 0; c < begins.shape[0] - 1; c++)
        for_pixels(runs, begins[c], begins[c + 1], [&](Index y, Index x) {
            if (away(y, x) == 0 || away(y, x) > widest) return;
            const Index count = jumps.nearest(boxes[c].data, y, x, from_edge(y, x), found.data());
            bool several = false;
            std::int32_t reach = 0;
            for (Index i = 0; i < count; i++) {
                const std::int32_t component = at_edge.data[found[i]];
                reach = std::max(reach, widths[component]);
                several = several || component != at_edge.data[found[0]];
            }
            if (away(y, x) > reach) return;
            scale(y, x) = reach;
            meets.view(y, x) = several && gap(y, x) > 0;
        });
    chessboard(meets.read(), to_meeting.view);
    for_pixels(runs, 0, runs.shape[0], [&](Index y, Index x) {
        const std::int32_t rest = scale(y, x) - away(y, x);
        if (scale(y, x) && rest > 0 && to_meeting.view(y, x) <= rest) scale(y, x) = std::min(scale(y, x), gap(y, x));
    });
}

Table metrics = {KERNEL(chessboard),    KERNEL(distance_sums), KERNEL(label_image),     KERNEL(seed_components),
                 KERNEL(medial),        KERNEL(stroke_widths), KERNEL(precision_scale), {}};

}  // namespace sauvolanet::LEVEL
