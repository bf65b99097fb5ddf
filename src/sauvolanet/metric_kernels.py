"""Compiled loops of the metrics: thinning, distance maps and the DIBCO weight maps; what they mean is in metrics.py.

Where numba is absent, or ``SAUVOLANET_NO_NUMBA`` is set, the same loops run as plain Python: slow, same results.
Masks are bool, True = ink unless a docstring says otherwise; outside the page there is no ink.
"""

from __future__ import annotations

import os

import numpy as np

try:
    if os.environ.get("SAUVOLANET_NO_NUMBA"):
        raise ImportError
    from numba import njit
except ImportError:

    def njit(**_):
        return lambda function: function


FAR = 1 << 30


@njit(nogil=True, cache=True)
def neighbours(mask, at, stride):
    """The eight neighbours of one pixel of a padded, flat mask as bits, east first, then counterclockwise."""
    return (
        mask[at + 1]
        | mask[at - stride + 1] << 1
        | mask[at - stride] << 2
        | mask[at - stride - 1] << 3
        | mask[at - 1] << 4
        | mask[at + stride - 1] << 5
        | mask[at + stride] << 6
        | mask[at + stride + 1] << 7
    )


@njit(nogil=True, cache=True)
def thin(mask, stride, tables):
    """Thin a padded, flat uint8 mask in place: the tables in turn, each deleting in parallel, until nothing changes.

    Only pixels beside a hole can go, so each round visits the pixels whose neighbourhood is not full.
    """
    queued = np.zeros(mask.size, np.bool_)
    front = np.empty(mask.size, np.int32)
    size = 0
    for at in range(stride, mask.size - stride):
        if mask[at] and neighbours(mask, at, stride) != 255:
            front[size] = at
            size += 1
            queued[at] = True
    around = np.array([1, 1 - stride, -stride, -stride - 1, -1, stride - 1, stride, stride + 1], np.int32)
    gone = np.empty(mask.size, np.int32)
    changed = True
    while changed:
        changed = False
        for table in tables:
            deleted = 0
            kept = 0
            for i in range(size):
                at = front[i]
                if table[neighbours(mask, at, stride)]:
                    gone[deleted] = at
                    deleted += 1
                else:
                    front[kept] = at
                    kept += 1
            size = kept
            for i in range(deleted):
                mask[gone[i]] = 0
            for i in range(deleted):
                for step in around:
                    at = gone[i] + step
                    if mask[at] and not queued[at]:
                        queued[at] = True
                        front[size] = at
                        size += 1
            changed = changed or deleted > 0


@njit(nogil=True, cache=True)
def thin_in_order(mask, stride, table):
    """Delete by one table in raster order, each deletion seen by the pixels after it, until nothing changes."""
    ink = np.flatnonzero(mask)
    changed = True
    while changed:
        changed = False
        kept = 0
        for at in ink:
            if table[neighbours(mask, at, stride)]:
                mask[at] = 0
                changed = True
            else:
                ink[kept] = at
                kept += 1
        ink = ink[:kept]


@njit(nogil=True, cache=True)
def chessboard(seeds):
    """Chessboard distance to the nearest True pixel, int32; FAR without one."""
    height, width = seeds.shape
    distance = np.empty((height, width), np.int32)
    for y in range(height):
        for x in range(width):
            best = FAR
            if seeds[y, x]:
                best = 0
            else:
                if x > 0:
                    best = min(best, distance[y, x - 1] + 1)
                if y > 0:
                    for i in range(max(x - 1, 0), min(x + 2, width)):
                        best = min(best, distance[y - 1, i] + 1)
            distance[y, x] = min(best, FAR)
    for y in range(height - 1, -1, -1):
        for x in range(width - 1, -1, -1):
            best = distance[y, x]
            if best > 1:
                if x + 1 < width:
                    best = min(best, distance[y, x + 1] + 1)
                if y + 1 < height:
                    for i in range(max(x - 1, 0), min(x + 2, width)):
                        best = min(best, distance[y + 1, i] + 1)
                distance[y, x] = best
    return distance


@njit(nogil=True, cache=True)
def column_distance(seeds):
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


@njit(nogil=True, cache=True)
def distance_sums(seeds, wanted):
    """Sums of the exact Euclidean distance to the nearest True seed: over all pixels, and over the wanted ones.

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
    return everywhere, there


@njit(nogil=True, cache=True)
def jumps(features):
    """The next True pixel at or right of each pixel of its row, and at or below it in its column; the size if none."""
    height, width = features.shape
    right = np.empty((height, width + 1), np.int32)
    down = np.empty((height + 1, width), np.int32)
    down[height] = height
    for y in range(height - 1, -1, -1):
        right[y, width] = width
        for x in range(width - 1, -1, -1):
            right[y, x] = x if features[y, x] else right[y, x + 1]
            down[y, x] = y if features[y, x] else down[y + 1, x]
    return right, down


@njit(nogil=True, cache=True)
def nearest(right, down, box, y, x, radius, found):
    """Flat positions of all features on the first square ring around (y, x), cut by the box, that holds any.

    radius : where to begin, the chessboard distance to the nearest feature of the page. Returns their number.
    """
    width = down.shape[1]
    while True:
        top, bottom = max(y - radius, box[0]), min(y + radius, box[1])
        left, end = max(x - radius, box[2]), min(x + radius, box[3])
        count = 0
        for row in (top, bottom):
            at = right[row, left]
            while at <= end:
                found[count] = row * width + at
                count += 1
                at = right[row, at + 1]
        for column in (left, end):
            at = down[top + 1, column]
            while at < bottom:
                found[count] = at * width + column
                count += 1
                at = down[at + 1, column]
        if count or (top == box[0] and bottom == box[1] and left == box[2] and end == box[3]):
            return count
        radius += 1


@njit(nogil=True, cache=True)
def seed_components(lines, order, begins):
    """Give every component without a line pixel one: its rounded centroid, or its first pixel if that lies outside."""
    width = lines.shape[1]
    flat = lines.reshape(-1)
    for c in range(begins.size - 1):
        pixels = order[begins[c] : begins[c + 1]]
        total_y, total_x, has = 0, 0, False
        for at in pixels:
            has = has or flat[at]
            total_y += at // width
            total_x += at % width
        if not has:
            centre = int(total_y / pixels.size + 0.5) * width + int(total_x / pixels.size + 0.5)
            place = np.searchsorted(pixels, centre)  # the pixels are in raster order
            inside = place < pixels.size and pixels[place] == centre
            flat[centre if inside else pixels[0]] = True


@njit(nogil=True, cache=True)
def ridge(depth, lines, order):
    """Raise the depth of line pixels that equal all four neighbours (a flat ridge is one pixel deeper)."""
    height, width = depth.shape
    flat = depth.reshape(-1)
    on_line = lines.reshape(-1)
    for at in order:
        d = flat[at]
        if on_line[at] and 0 < d < 250:
            y, x = at // width, at % width
            if (
                depth[max(y - 1, 0), x] == d
                and depth[min(y + 1, height - 1), x] == d
                and depth[y, max(x - 1, 0)] == d
                and depth[y, min(x + 1, width - 1)] == d
            ):
                flat[at] = d + 1


@njit(nogil=True, cache=True)
def end_points(factor, lines, order):
    """A line's last pixel takes its only neighbour's factor plus one.

    The factor of a neighbour to the lower right is read in column 1: the DIBCO tool does so, and its weights count.
    """
    height, width = lines.shape
    for at in order:
        y, x = at // width, at % width
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


@njit(nogil=True, cache=True)
def medial(depth, lines, inner_lines, order, begins, boxes):
    """The factor of each line pixel and the scale of each pixel with a depth of 1 … 249, both int32.

    depth : uint8, raised on flat ridges here. Each pixel looks at the line pixels nearest to it in its component's
    box; it sets their factor to their depth, plus one if it lies at least as far away (the last to look decides),
    and takes the largest depth · factor as its scale. A scale unlike its four neighbours' becomes its left one's.
    """
    height, width = depth.shape
    ridge(depth, lines, order)
    flat = depth.reshape(-1)
    away = chessboard(lines).reshape(-1)
    right, down = jumps(lines)
    found = np.empty(4 * (height + width), np.int64)
    factor = lines.astype(np.int32)
    factors = factor.reshape(-1)
    inner = inner_lines.reshape(-1)
    for c in range(begins.size - 1):
        for k in range(begins[c], begins[c + 1]):
            at = order[k]
            if 0 < flat[at] < 250:
                reach = 1 if inner[at] else away[at]
                for i in range(nearest(right, down, boxes[c], at // width, at % width, away[at], found)):
                    d = np.int32(flat[found[i]])
                    factors[found[i]] = d + 1 if reach >= d else d
    end_points(factor, lines, order)
    scale = np.zeros((height, width), np.int32)
    scales = scale.reshape(-1)
    for c in range(begins.size - 1):
        for k in range(begins[c], begins[c + 1]):
            at = order[k]
            if 0 < flat[at] < 250:
                for i in range(nearest(right, down, boxes[c], at // width, at % width, away[at], found)):
                    scales[at] = max(scales[at], np.int32(flat[found[i]]) * factors[found[i]])
    for at in order:
        if 0 < flat[at] < 250:
            y, x = at // width, at % width
            here = scales[at]
            above, below = scale[max(y - 1, 0), x], scale[min(y + 1, height - 1), x]
            before, after = scale[y, max(x - 1, 0)], scale[y, min(x + 1, width - 1)]
            odd = here != above and here != below and here != before and here != after
            if odd and above and below and before and after:
                scales[at] = before
    return factor, scale


@njit(nogil=True, cache=True)
def stroke_widths(factor, lines, order, begins):
    """Twice the mean factor of each component's line, the mean rounded down."""
    flat, on_line = factor.reshape(-1), lines.reshape(-1)
    widths = np.zeros(begins.size - 1, np.int32)
    for c in range(begins.size - 1):
        total, count = 0, 0
        for k in range(begins[c], begins[c + 1]):
            if on_line[order[k]]:
                total += flat[order[k]]
                count += 1
        widths[c] = min(total // count * 2, 255)
    return widths


@njit(nogil=True, cache=True)
def precision_scale(away, gap, from_edge, at_edge, widths, order, begins, boxes):
    """What the distance of each paper pixel is divided by, int32, 0 where its weight is 0.

    The stroke width of the nearest ink (the widest of those equally near), or the gap's width where that is smaller
    and a pixel equally near to two components lies within what is left of the stroke width.
    away : distance of paper to ink, 250 out of reach. at_edge : component of contour pixels, −1 elsewhere.
    """
    height, width = away.shape
    right, down = jumps(at_edge >= 0)
    found = np.empty(4 * (height + width), np.int64)
    component, distance, near = at_edge.reshape(-1), away.reshape(-1), from_edge.reshape(-1)
    widest = widths.max()
    reach = np.zeros((height, width), np.int32)
    reaches, gaps = reach.reshape(-1), gap.reshape(-1)
    meets = np.zeros((height, width), np.bool_)
    meeting = meets.reshape(-1)
    for c in range(begins.size - 1):
        for k in range(begins[c], begins[c + 1]):
            at = order[k]
            if not 0 < distance[at] <= min(widest, 249):
                continue
            several = False
            count = nearest(right, down, boxes[c], at // width, at % width, near[at], found)
            for i in range(count):
                reaches[at] = max(reaches[at], widths[component[found[i]]])
                several = several or component[found[i]] != component[found[0]]
            if distance[at] > reaches[at]:
                reaches[at] = 0
            meeting[at] = several and reaches[at] and gaps[at]
    to_meeting = chessboard(meets).reshape(-1)
    for at in order:
        rest = reaches[at] - np.int32(distance[at])
        if reaches[at] and rest > 0 and to_meeting[at] <= rest:
            reaches[at] = min(reaches[at], gaps[at])
    return reach
