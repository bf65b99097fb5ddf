"""Compiled minimal cut of a page-sized grid, after Boykov and Kolmogorov; the truth is PyMaxflow (`howe.cuts_maxflow`).

Two trees grow from the terminals along arcs with capacity left; where they meet, flow is pushed, and nodes cut off
from their tree look for another parent. Nodes are pixels, with one pixel of padding on every side, which has no arcs.
Direction d is right, left, down, up; d ^ 1 is the way back.
"""

from __future__ import annotations

import numpy as np
from numba import njit

FREE, SOURCE, SINK = 0, 1, 2
TERMINAL, ORPHAN = 4, 5  # values of ``parent`` beside the four directions


@njit(nogil=True, cache=True)
def cancel(tr, cap, off):
    """Push what neighbours with opposite terminals can exchange at once; most flow is that short."""
    for i in range(off[2], len(tr) - off[2]):
        for d in (0, 2):
            j = i + off[d]
            if tr[i] > 0 and tr[j] < 0 and cap[i, d] > 0:
                m = min(tr[i], -tr[j], cap[i, d])
                cap[i, d] -= m
                cap[j, d ^ 1] += m
                tr[i] -= m
                tr[j] += m
            elif tr[i] < 0 and tr[j] > 0 and cap[j, d ^ 1] > 0:
                m = min(-tr[i], tr[j], cap[j, d ^ 1])
                cap[j, d ^ 1] -= m
                cap[i, d] += m
                tr[i] += m
                tr[j] -= m


@njit(nogil=True, cache=True)
def augment(i, d, tr, cap, off, parent, orphans, count):
    """Push the most that fits along the path over the arc i → d; the number of orphans it makes."""
    s, t = i, i + off[d]
    m = cap[s, d]
    while parent[s] != TERMINAL:
        p = s + off[parent[s]]
        m = min(m, cap[p, parent[s] ^ 1])
        s = p
    m = min(m, tr[s])
    while parent[t] != TERMINAL:
        m = min(m, cap[t, parent[t]])
        t += off[parent[t]]
    m = min(m, -tr[t])

    s, t = i, i + off[d]
    cap[s, d] -= m
    cap[t, d ^ 1] += m
    while parent[s] != TERMINAL:
        back = parent[s]
        p = s + off[back]
        cap[p, back ^ 1] -= m
        cap[s, back] += m
        if cap[p, back ^ 1] == 0:
            parent[s] = ORPHAN
            orphans[count] = s
            count += 1
        s = p
    tr[s] -= m
    if tr[s] == 0:
        parent[s] = ORPHAN
        orphans[count] = s
        count += 1
    while parent[t] != TERMINAL:
        on = parent[t]
        p = t + off[on]
        cap[t, on] -= m
        cap[p, on ^ 1] += m
        if cap[t, on] == 0:
            parent[t] = ORPHAN
            orphans[count] = t
            count += 1
        t = p
    tr[t] += m
    if tr[t] == 0:
        parent[t] = ORPHAN
        orphans[count] = t
        count += 1
    return count


@njit(nogil=True, cache=True)
def distance(j, now, off, parent, stamp, dist):
    """Steps from j to its terminal, or −1 where the way ends at an orphan; marks the way."""
    steps = 0
    k = j
    while True:
        if stamp[k] == now:
            steps += dist[k]
            break
        steps += 1
        if parent[k] == TERMINAL:
            stamp[k] = now
            dist[k] = 1
            break
        if parent[k] == ORPHAN:
            return -1
        k += off[parent[k]]
    left = steps
    while stamp[j] != now:
        stamp[j] = now
        dist[j] = left
        left -= 1
        j += off[parent[j]]
    return steps


@njit(nogil=True, cache=True)
def solve(tr, cap, width):
    """Push the maximal flow through the residual graph in place; the tree of each node: SINK is the ink side."""
    n = len(tr)
    off = np.array([1, -1, width, -width])
    cancel(tr, cap, off)
    cancel(tr, cap, off)
    tree = np.zeros(n, np.uint8)
    parent = np.zeros(n, np.uint8)
    stamp = np.zeros(n, np.int32)
    dist = np.zeros(n, np.int32)
    queue = np.empty(n, np.int32)  # a ring of nodes whose arcs are to be looked at
    queued = np.zeros(n, np.uint8)
    orphans = np.empty(n, np.int32)
    head, length = 0, 0
    for i in range(n):
        if tr[i] != 0:
            tree[i] = SOURCE if tr[i] > 0 else SINK
            parent[i] = TERMINAL
            dist[i] = 1
            queue[length] = i
            queued[i] = 1
            length += 1
    now = 0
    current = -1
    while True:
        if current >= 0 and tree[current] != FREE:
            i = current
        else:
            if length == 0:
                break
            i = queue[head]
            head = head + 1 if head + 1 < n else 0
            length -= 1
            queued[i] = 0
            if tree[i] == FREE:
                current = -1
                continue
        current = -1
        mine = tree[i]
        meet, way = -1, 0
        for d in range(4):
            j = i + off[d] if 0 <= i + off[d] < n else i
            if (cap[i, d] if mine == SOURCE else cap[j, d ^ 1]) <= 0:
                continue
            if tree[j] == FREE:
                tree[j] = mine
                parent[j] = d ^ 1
                stamp[j] = stamp[i]
                dist[j] = dist[i] + 1
                if queued[j] == 0:
                    at = head + length
                    queue[at if at < n else at - n] = j
                    queued[j] = 1
                    length += 1
            elif tree[j] != mine:
                if mine == SOURCE:
                    meet, way = i, d
                else:
                    meet, way = j, d ^ 1
                break
            elif stamp[j] <= stamp[i] and dist[j] > dist[i]:  # a shorter way to the terminal
                parent[j] = d ^ 1
                stamp[j] = stamp[i]
                dist[j] = dist[i] + 1
        now += 1
        if meet < 0:
            continue
        current = i
        count = augment(meet, way, tr, cap, off, parent, orphans, 0)
        first, waiting = 0, count
        while waiting > 0:
            o = orphans[first]
            first = first + 1 if first + 1 < n else 0
            waiting -= 1
            mine = tree[o]
            best, nearest = -1, 2147483647
            for d in range(4):
                j = o + off[d]
                if tree[j] == mine and (cap[j, d ^ 1] if mine == SOURCE else cap[o, d]) > 0:
                    steps = distance(j, now, off, parent, stamp, dist)
                    if 0 <= steps < nearest:
                        best, nearest = d, steps
            if best >= 0:
                parent[o] = best
                stamp[o] = now
                dist[o] = nearest + 1
                continue
            for d in range(4):
                j = o + off[d]
                if tree[j] != mine:
                    continue
                if (cap[j, d ^ 1] if mine == SOURCE else cap[o, d]) > 0 and queued[j] == 0:
                    at = head + length
                    queue[at if at < n else at - n] = j
                    queued[j] = 1
                    length += 1
                if parent[j] == d ^ 1:
                    parent[j] = ORPHAN
                    at = first + waiting
                    orphans[at if at < n else at - n] = j
                    waiting += 1
            tree[o] = FREE
    return tree
