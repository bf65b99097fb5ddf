"""Loops of the metrics, distance maps and the DIBCO weight maps, in plain Python: the definition of the compiled ones.

They have the compiled ones' names and arguments and take their place where those were not built: slow, same results.
Masks are bool, True = ink unless a docstring says otherwise; outside the page there is no ink. Components are given by
their horizontal runs (row, first column, past the last), by where each begins among them, and by their boxes (top,
bottom, left, right, inclusive).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.arrays import Ink

Bytes = npt.NDArray[np.uint8]
Whole = npt.NDArray[np.int32]
Indices = npt.NDArray[np.int64]

FAR = 1 << 30  # a distance without a goal
OUT = 250  # depth of paper that no stroke reaches, the mark of the DIBCO tool


def chessboard(seeds: Ink, result: Bytes) -> None:
    """Chessboard distance to the nearest True pixel; 255 means 255 or more, or none."""
    height, width = seeds.shape
    distance = np.full((height + 2, width + 2), 255, np.uint8)
    for y in range(1, height + 1):
        above, here = distance[y - 1], distance[y]
        for x in range(1, width + 1):
            if seeds[y - 1, x - 1]:
                here[x] = 0
            else:
                least = min(min(above[x - 1], above[x]), min(above[x + 1], here[x - 1]))
                here[x] = min(least, 254) + 1
    for y in range(height, 0, -1):
        below, here = distance[y + 1], distance[y]
        for x in range(width, 0, -1):
            least = min(min(below[x - 1], below[x]), min(below[x + 1], here[x + 1]))
            here[x] = min(here[x], min(least, 254) + 1)
    result[:] = distance[1:-1, 1:-1]


def column_distance(seeds: Ink) -> Whole:
    """Distance to the nearest True pixel of the same column, int32; FAR without one."""
    height, width = seeds.shape
    distance = np.empty((height, width), np.int32)
    for x in range(width):
        distance[0, x] = 0 if seeds[0, x] else FAR
    for y in range(1, height):
        for x in range(width):
            distance[y, x] = 0 if seeds[y, x] else min(distance[y - 1, x] + 1, FAR)
    for y in range(height - 2, -1, -1):
        for x in range(width):
            distance[y, x] = min(distance[y, x], distance[y + 1, x] + 1)
    return distance


def distance_sums(seeds: Ink, wanted: Ink, sums: npt.NDArray[np.float64]) -> None:
    """Sums of the exact Euclidean distance to the nearest True seed, over all pixels and over the wanted ones.

    Row by row, the lower envelope of the parabolas (x − i)² + g(i)², g the distance within column i
    (Felzenszwalb and Huttenlocher 2012, doi:10.4086/toc.2012.v008a019).
    """
    height, width = seeds.shape
    columns = column_distance(seeds)
    apex = np.empty(width, np.int64)
    begins = np.empty(width + 1, np.float64)
    everywhere = 0.0
    there = 0.0
    for y in range(height):
        last = -1
        for x in range(width):
            g = np.float64(columns[y, x])
            if g >= FAR:
                continue
            start = -np.inf
            while last >= 0:
                i = apex[last]
                h = np.float64(columns[y, i])
                start = (g * g + x * x - h * h - i * i) / (2.0 * (x - i))
                if start > begins[last]:
                    break
                last -= 1
                start = -np.inf
            last += 1
            apex[last] = x
            begins[last] = start
        begins[last + 1] = np.inf
        k = 0
        for x in range(width):
            while begins[k + 1] < x:
                k += 1
            i = apex[k]
            h = np.float64(columns[y, i])
            distance = np.sqrt((x - i) * (x - i) + h * h)
            everywhere += distance
            if wanted[y, x]:
                there += distance
    sums[:] = everywhere, there


def jumps(features: Ink) -> tuple[Bytes, Bytes]:
    """Steps from each pixel to the next True one, itself included, rightwards and downwards, uint8.

    255 means that the next 255 pixels are False: go there and look again.
    """
    height, width = features.shape
    right = np.full((height, width), 255, np.uint8)
    down = np.full((height, width), 255, np.uint8)
    for y in range(height - 1, -1, -1):
        for x in range(width - 1, -1, -1):
            if features[y, x]:
                right[y, x] = down[y, x] = 0
            else:
                if x + 1 < width:
                    right[y, x] = min(right[y, x + 1], 254) + 1
                if y + 1 < height:
                    down[y, x] = min(down[y + 1, x], 254) + 1
    return right, down


def nearest(right: Bytes, down: Bytes, box: Indices, y: int, x: int, radius: int, found: Indices) -> int:
    """Flat positions of all features on the first square ring around (y, x), cut by the box, that holds any.

    radius : where to begin, at most the chessboard distance to the nearest feature. Returns their number.
    """
    width = right.shape[1]
    radius = int(radius)
    while True:
        top, bottom = max(y - radius, box[0]), min(y + radius, box[1])
        left, end = max(x - radius, box[2]), min(x + radius, box[3])
        count = 0
        for row in (top, bottom):
            at = left
            while at <= end:
                step = np.int64(right[row, at])
                at += step
                if step < 255 and at <= end:
                    found[count] = row * width + at
                    count += 1
                    at += 1
        for column in (left, end):
            at = top + 1
            while at < bottom:
                step = np.int64(down[at, column])
                at += step
                if step < 255 and at < bottom:
                    found[count] = at * width + column
                    count += 1
                    at += 1
        if count or (top == box[0] and bottom == box[1] and left == box[2] and end == box[3]):
            return count
        radius += 1


def label_image(runs: Indices, begins: Indices, labels: Whole) -> None:
    """The component of each pixel, −1 outside."""
    labels[:] = -1
    for c in range(begins.size - 1):
        for y, first, last in runs[begins[c] : begins[c + 1]]:
            labels[y, first:last] = c


def seed_components(lines: Ink, runs: Indices, begins: Indices) -> None:
    """Give every component without a line pixel one: its rounded centroid, or its first pixel if that lies outside."""
    for c in range(begins.size - 1):
        own = runs[begins[c] : begins[c + 1]]
        count, total_y, total_x = 0, 0, 0
        has = False
        for y, first, last in own:
            count += last - first
            total_y += y * (last - first)
            total_x += (first + last - 1) * (last - first) // 2
            has = has or bool(lines[y, first:last].any())
        if not has:
            centre_y, centre_x = int(total_y / count + 0.5), int(total_x / count + 0.5)
            inside = False
            for y, first, last in own:
                inside = inside or (y == centre_y and first <= centre_x < last)
            if inside:
                lines[centre_y, centre_x] = True
            else:
                lines[own[0, 0], own[0, 1]] = True


def ridge(depth: Bytes, lines: Ink, runs: Indices) -> None:
    """Raise the depth of line pixels that equal all four neighbours (a flat ridge is one pixel deeper)."""
    height, width = depth.shape
    for y, first, last in runs:
        for x in range(first, last):
            d = depth[y, x]
            if (
                lines[y, x]
                and 0 < d < OUT
                and depth[max(y - 1, 0), x] == d
                and depth[min(y + 1, height - 1), x] == d
                and depth[y, max(x - 1, 0)] == d
                and depth[y, min(x + 1, width - 1)] == d
            ):
                depth[y, x] = d + 1


def end_points(factor: Bytes, lines: Ink, runs: Indices) -> None:
    """A line's last pixel takes its only neighbour's factor plus one.

    The factor of a neighbour to the lower right is read in column 1: the DIBCO tool does so, and its weights count.
    """
    height, width = lines.shape
    for y, first, last in runs:
        for x in range(first, last):
            if not lines[y, x]:
                continue
            up, down, left, right = max(y - 1, 0), min(y + 1, height - 1), max(x - 1, 0), min(x + 1, width - 1)
            count, value = 0, 0
            for row, column, read in (
                (up, x, x), (down, x, x), (y, left, left), (y, right, right),
                (up, left, left), (down, right, right - x), (down, left, left), (up, right, right),
            ):  # fmt: skip
                if lines[row, column]:
                    count += 1
                    value = factor[row, read]
            if count == 1 and value > 0:
                factor[y, x] = value + 1


def medial(depth: Bytes, lines: Ink, inner_lines: Ink, runs: Indices, begins: Indices, boxes: Indices, factor: Bytes,
           scale: Whole) -> None:  # fmt: skip
    """The factor of each line pixel, and the scale of each pixel with a depth of 1 … 249, 0 elsewhere.

    depth : raised on flat ridges here. Each pixel looks at the line pixels nearest to it in its component's
    box; it sets their factor to their depth, plus one if it lies at least as far away (the last to look decides),
    and takes the largest depth · factor as its scale. A scale unlike its four neighbours' becomes its left one's.
    """
    height, width = depth.shape
    ridge(depth, lines, runs)
    flat = depth.reshape(-1)
    away = np.empty_like(depth)
    chessboard(lines, away)
    right, down = jumps(lines)
    found = np.empty(4 * (height + width), np.int64)
    factor[:] = lines  # at most OUT + 1
    factors = factor.reshape(-1)
    scale[:] = 0  # between the two passes: −1 − the only line pixel a pixel looks at
    for c in range(begins.size - 1):
        for y, first, last in runs[begins[c] : begins[c + 1]]:
            for x in range(first, last):
                if 0 < depth[y, x] < OUT:
                    reach = 1 if inner_lines[y, x] else away[y, x]
                    count = nearest(right, down, boxes[c], y, x, away[y, x], found)
                    for i in range(count):
                        d = np.int32(flat[found[i]])
                        factors[found[i]] = d + 1 if reach >= d else d
                    if count == 1:
                        scale[y, x] = -1 - found[0]
    end_points(factor, lines, runs)
    for c in range(begins.size - 1):
        for y, first, last in runs[begins[c] : begins[c + 1]]:
            for x in range(first, last):
                if scale[y, x] < 0:
                    only = -1 - scale[y, x]
                    scale[y, x] = np.int32(flat[only]) * np.int32(factors[only])
                elif 0 < depth[y, x] < OUT:
                    for i in range(nearest(right, down, boxes[c], y, x, away[y, x], found)):
                        scale[y, x] = max(scale[y, x], np.int32(flat[found[i]]) * np.int32(factors[found[i]]))
    for y, first, last in runs:
        for x in range(first, last):
            if 0 < depth[y, x] < OUT:
                here = scale[y, x]
                above, below = scale[max(y - 1, 0), x], scale[min(y + 1, height - 1), x]
                before, after = scale[y, max(x - 1, 0)], scale[y, min(x + 1, width - 1)]
                odd = here != above and here != below and here != before and here != after
                if odd and above and below and before and after:
                    scale[y, x] = before


def stroke_widths(factor: Bytes, lines: Ink, runs: Indices, begins: Indices, widths: Whole) -> None:
    """Twice the mean factor of each component's line, the mean rounded down."""
    for c in range(begins.size - 1):
        total, count = 0, 0
        for y, first, last in runs[begins[c] : begins[c + 1]]:
            for x in range(first, last):
                if lines[y, x]:
                    total += int(factor[y, x])
                    count += 1
        widths[c] = min(total // count * 2, 255)


def precision_scale(away: Bytes, gap: Whole, from_edge: Bytes, at_edge: Whole, widths: Whole, runs: Indices,
                    begins: Indices, boxes: Indices, scale: Whole) -> None:  # fmt: skip
    """What the distance of each paper pixel is divided by, 0 where its weight is 0.

    The stroke width of the nearest ink (the widest of those equally near), or the gap's width where that is smaller
    and a pixel equally near to two components lies within what is left of the stroke width.
    away : distance of paper to ink, OUT where no stroke reaches. at_edge : component of contour pixels, −1 elsewhere.
    """
    height, width = away.shape
    right, down = jumps(at_edge >= 0)
    found = np.empty(4 * (height + width), np.int64)
    component = at_edge.reshape(-1)
    widest = min(widths.max(), OUT - 1)
    scale[:] = 0
    meets = np.zeros((height, width), np.bool_)
    for c in range(begins.size - 1):
        for y, first, last in runs[begins[c] : begins[c + 1]]:
            for x in range(first, last):
                if 0 < away[y, x] <= widest:
                    several = False
                    reach = 0
                    for i in range(nearest(right, down, boxes[c], y, x, from_edge[y, x], found)):
                        reach = max(reach, widths[component[found[i]]])
                        several = several or component[found[i]] != component[found[0]]
                    if away[y, x] <= reach:
                        scale[y, x] = reach
                        meets[y, x] = several and gap[y, x] > 0
    to_meeting = np.empty_like(away)
    chessboard(meets, to_meeting)
    for y, first, last in runs:
        for x in range(first, last):
            rest = scale[y, x] - np.int32(away[y, x])
            if scale[y, x] and rest > 0 and to_meeting[y, x] <= rest:
                scale[y, x] = min(scale[y, x], gap[y, x])
