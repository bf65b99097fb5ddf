// Minimal cut of a page-sized grid, after Boykov and Kolmogorov; the truth is PyMaxflow (howe.cuts_maxflow).
//
// Two trees grow from the terminals along arcs with capacity left; where they meet, flow is pushed, and nodes cut off from
// their tree look for another parent. Nodes are pixels, with one pixel of padding on every side, which has no arcs.
// Direction d is right, left, down, up; d ^ 1 is the way back.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bind.h"

namespace sauvolanet::LEVEL {

namespace {

enum : std::uint8_t { FREE, SOURCE, SINK };         // trees; howe.py knows that SINK is 2
enum : std::uint8_t { TERMINAL = 4, ORPHAN = 5 };  // values of parent beside the four directions

using Node = std::int32_t;

// Nodes in the order they came; each is in it at most once, so it never holds more than there are.
class Ring {
    std::vector<Node> nodes;
    std::size_t head = 0, length = 0;

  public:
    explicit Ring(std::size_t size) : nodes(size) {}
    bool empty() const { return length == 0; }
    void push(Node node) {
        const std::size_t at = head + length++;
        nodes[at < nodes.size() ? at : at - nodes.size()] = node;
    }
    Node pop() {
        const Node node = nodes[head];
        head = head + 1 < nodes.size() ? head + 1 : 0;
        length--;
        return node;
    }
};

class Graph {
    std::int32_t *terminal;       // what is left of the arc from the source (positive) or to the sink (negative)
    std::int32_t (*capacity)[4];  // what is left of the arcs to the four neighbours
    Node size;
    Node off[4];
    std::uint8_t *tree;
    std::vector<std::uint8_t> parent, queued;
    std::vector<std::int32_t> stamp, distance;  // steps to the terminal, as known at that time
    Ring queue, orphans;                        // nodes whose arcs are to be looked at; nodes that lost their parent
    std::int32_t now = 0;

    void look_at(Node i) {
        if (queued[i]) return;
        queued[i] = 1;
        queue.push(i);
    }

    void cut_off(Node i) {
        parent[i] = ORPHAN;
        orphans.push(i);
    }

    void adopt(Node child, Node from, int d) {
        parent[child] = static_cast<std::uint8_t>(d ^ 1);
        stamp[child] = stamp[from];
        distance[child] = distance[from] + 1;
    }

    std::int32_t &flow_to(Node child, int d) {  // the arc from the parent in direction d to the child, or from it
        return tree[child] == SOURCE ? capacity[child + off[d]][d ^ 1] : capacity[child][d];
    }

    // Push the most that fits along the path over the arc i → d, from the source to the sink.
    void augment(Node i, int d) {
        const Node far = i + off[d];
        std::int32_t most = capacity[i][d];
        Node s = i, t = far;
        for (; parent[s] != TERMINAL; s += off[parent[s]])
            most = std::min(most, capacity[s + off[parent[s]]][parent[s] ^ 1]);
        most = std::min(most, terminal[s]);
        for (; parent[t] != TERMINAL; t += off[parent[t]]) most = std::min(most, capacity[t][parent[t]]);
        most = std::min(most, -terminal[t]);

        capacity[i][d] -= most;
        capacity[far][d ^ 1] += most;
        for (s = i; parent[s] != TERMINAL;) {
            const int back = parent[s];
            const Node p = s + off[back];
            capacity[p][back ^ 1] -= most;
            capacity[s][back] += most;
            if (capacity[p][back ^ 1] == 0) cut_off(s);
            s = p;
        }
        terminal[s] -= most;
        if (terminal[s] == 0) cut_off(s);
        for (t = far; parent[t] != TERMINAL;) {
            const int on = parent[t];
            const Node p = t + off[on];
            capacity[t][on] -= most;
            capacity[p][on ^ 1] += most;
            if (capacity[t][on] == 0) cut_off(t);
            t = p;
        }
        terminal[t] += most;
        if (terminal[t] == 0) cut_off(t);
    }

    // Steps from a node to its terminal, or −1 where the way ends at an orphan; marks the way.
    std::int32_t steps_from(Node j) {
        std::int32_t steps = 0;
        for (Node k = j;; k += off[parent[k]]) {
            if (stamp[k] == now) {
                steps += distance[k];
                break;
            }
            steps++;
            if (parent[k] == TERMINAL) {
                stamp[k] = now;
                distance[k] = 1;
                break;
            }
            if (parent[k] == ORPHAN) return -1;
        }
        for (std::int32_t left = steps; stamp[j] != now; j += off[parent[j]]) {
            stamp[j] = now;
            distance[j] = left--;
        }
        return steps;
    }

    // Another parent for an orphan, the nearest to the terminal; without one it is free, and its children are orphans.
    void place(Node orphan) {
        const std::uint8_t mine = tree[orphan];
        int best = -1;
        std::int32_t nearest = INT32_MAX;
        for (int d = 0; d < 4; d++) {
            const Node j = orphan + off[d];
            if (tree[j] != mine || flow_to(orphan, d) <= 0) continue;
            const std::int32_t steps = steps_from(j);
            if (0 <= steps && steps < nearest) {
                best = d;
                nearest = steps;
            }
        }
        if (best >= 0) {
            parent[orphan] = static_cast<std::uint8_t>(best);
            stamp[orphan] = now;
            distance[orphan] = nearest + 1;
            return;
        }
        for (int d = 0; d < 4; d++) {
            const Node j = orphan + off[d];
            if (tree[j] != mine) continue;
            if (flow_to(orphan, d) > 0) look_at(j);
            if (parent[j] == (d ^ 1)) cut_off(j);
        }
        tree[orphan] = FREE;
    }

    // Let the tree grow from node i; true if it met the other tree, over the arc from node meet in direction way.
    bool grow(Node i, Node &meet, int &way) {
        const std::uint8_t mine = tree[i];
        for (int d = 0; d < 4; d++) {
            const Node j = i + off[d];
            if ((mine == SOURCE ? capacity[i][d] : capacity[j][d ^ 1]) <= 0) continue;
            if (tree[j] == FREE) {
                tree[j] = mine;
                adopt(j, i, d);
                look_at(j);
            } else if (tree[j] != mine) {
                meet = mine == SOURCE ? i : j;
                way = mine == SOURCE ? d : d ^ 1;
                return true;
            } else if (stamp[j] <= stamp[i] && distance[j] > distance[i]) {  // a shorter way to the terminal
                adopt(j, i, d);
            }
        }
        return false;
    }

  public:
    Graph(View<std::int32_t, 2> terminals, View<std::int32_t, 3> capacities, View<std::uint8_t, 2> trees)
        : terminal(terminals.data), capacity(reinterpret_cast<std::int32_t(*)[4]>(capacities.data)),
          size(static_cast<Node>(terminals.shape[0] * terminals.shape[1])), tree(trees.data), parent(size),
          queued(size), stamp(size), distance(size), queue(size), orphans(size) {
        const auto width = static_cast<Node>(terminals.shape[1]);
        const Node ways[4] = {1, -1, width, -width};
        std::copy(ways, ways + 4, off);
    }

    // Push what neighbours with opposite terminals can exchange at once; most flow is that short.
    void cancel() {
        for (Node i = off[2]; i < size - off[2]; i++) {
            for (const int d : {0, 2}) {
                const Node j = i + off[d];
                std::int32_t &there = capacity[i][d], &back = capacity[j][d ^ 1];
                if (terminal[i] > 0 && terminal[j] < 0 && there > 0) {
                    const std::int32_t most = std::min({terminal[i], -terminal[j], there});
                    there -= most, back += most, terminal[i] -= most, terminal[j] += most;
                } else if (terminal[i] < 0 && terminal[j] > 0 && back > 0) {
                    const std::int32_t most = std::min({-terminal[i], terminal[j], back});
                    back -= most, there += most, terminal[i] += most, terminal[j] -= most;
                }
            }
        }
    }

    void push_all() {
        for (Node i = 0; i < size; i++) {
            tree[i] = terminal[i] > 0 ? SOURCE : terminal[i] < 0 ? SINK : FREE;
            if (tree[i] == FREE) continue;
            parent[i] = TERMINAL;
            distance[i] = 1;
            look_at(i);
        }
        for (Node current = -1;;) {
            Node i = current;
            if (i < 0 || tree[i] == FREE) {
                if (queue.empty()) return;
                i = queue.pop();
                queued[i] = 0;
            }
            current = -1;
            if (tree[i] == FREE) continue;
            Node meet = 0;
            int way = 0;
            const bool met = grow(i, meet, way);
            now++;
            if (!met) continue;
            current = i;
            augment(meet, way);
            while (!orphans.empty()) place(orphans.pop());
        }
    }
};

}  // namespace

// Push the maximal flow through the residual graph in place; the tree of each node: 2, the sink's, is the ink side.
// None of the arrays has gaps.
static void cut(View<std::int32_t, 2> terminals, View<std::int32_t, 3> capacities, View<std::uint8_t, 2> tree) {
    Graph graph(terminals, capacities, tree);
    graph.cancel();
    graph.cancel();
    graph.push_all();
}

Table cuts = {KERNEL(cut), {}};

}  // namespace sauvolanet::LEVEL
