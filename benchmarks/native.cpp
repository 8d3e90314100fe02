// The engine's three scalar loops in C++, the same algorithm on the same arrays, and the roofs that memory sets.
// Built by native.py with the system compiler. Names and loops follow src/sottovoce/pdmm/engine/kernels.py.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace {

constexpr uint64_t STEP_K = 0x9E3779B97F4A7C15, STEP_INDEX = 0xD1342543DE82EF95;
constexpr uint64_t FACTOR_1 = 0xBF58476D1CE4E5B9, FACTOR_2 = 0x94D049BB133111EB;

inline uint64_t mix(uint64_t v) {
    v = (v ^ (v >> 30)) * FACTOR_1;
    v = (v ^ (v >> 27)) * FACTOR_2;
    return v ^ (v >> 31);
}

// Without a branch: the compiler would make one of `condition ? yes : no`, and chance cannot be predicted.
inline double choose(uint64_t mask, double yes, double no) {
    return std::bit_cast<double>((std::bit_cast<uint64_t>(yes) & mask) | (std::bit_cast<uint64_t>(no) & ~mask));
}

// What a node has to itself where it wakes alone: half a cache line.
struct Node {
    double q, curvature, x;
    uint32_t low, high;
};

inline void prefetch(const void* address) { __builtin_prefetch(address, 0, 2); }

std::vector<uint32_t> by_degree(const uint64_t* indptr, int64_t n, int64_t together) {
    constexpr int64_t DEGREES = 64;
    std::vector<uint32_t> order(n);
    const auto degree = [&](int64_t i) { return std::min(int64_t(indptr[i + 1] - indptr[i]), DEGREES - 1); };
    for (int64_t low = 0; low < n; low += together) {
        const int64_t high = std::min(low + together, n);
        int64_t ends[DEGREES + 1] = {};
        for (int64_t i = low; i < high; ++i) ++ends[degree(i) + 1];
        for (int64_t d = 0; d < DEGREES; ++d) ends[d + 1] += ends[d];
        for (int64_t i = low; i < high; ++i) order[low + ends[degree(i)]++] = uint32_t(i);
    }
    return order;
}

template <bool SORTED>
inline void node_space_once(int64_t n, const uint32_t* order, bool last, const uint64_t* indptr, const uint32_t* indices, double p,
                            double r, const double* g0, const double* h0, double* a, const double* b, double* new_b,
                            double* x, const double* q, const double* curvature, double c, double theta,
                            int64_t ahead) {
    for (int64_t t = 0; t < n; t += 2) {
        const int64_t next = std::min(t + 1, n - 1), later = t + ahead;  // at an odd end twice the same node
        const int64_t i = SORTED ? order[t] : t, j = SORTED ? order[next] : next;
        if (SORTED && later + 1 < n) {
            prefetch(indices + indptr[later]);
            prefetch(indices + indptr[later + 1]);
            if ((later & 7) < 2) {
                prefetch(a + later);
                prefetch(new_b + later);
                prefetch(q + later);
                prefetch(curvature + later);
                if (g0) {
                    prefetch(g0 + later);
                    prefetch(h0 + later);
                }
            }
        }
        const uint32_t *row_i = indices + indptr[i], *row_j = indices + indptr[j];
        const uint64_t degree_i = indptr[i + 1] - indptr[i], degree_j = indptr[j + 1] - indptr[j];
        double g_i = 0, g_j = 0;
        if (degree_i == degree_j) {
            for (uint64_t h = 0; h < degree_i; ++h) {
                g_i -= b[row_i[h]];
                g_j -= b[row_j[h]];
            }
        } else {
            for (uint64_t h = 0; h < degree_i; ++h) g_i -= b[row_i[h]];
            for (uint64_t h = 0; h < degree_j; ++h) g_j -= b[row_j[h]];
        }
        if (g0) {
            g_i += p * g0[i] + r * h0[i];
            g_j += p * g0[j] + r * h0[j];
        }
        const double a_i = a[i], a_j = a[j], b_i = b[i], b_j = b[j];
        const double x_i = -(q[i] + (g_i + double(degree_i) * a_i)) / curvature[i];
        const double x_j = -(q[j] + (g_j + double(degree_j) * a_j)) / curvature[j];
        if (last) {
            x[i] = x_i;
            x[j] = x_j;
        }
        new_b[i] = (1 - theta) * b_i + theta * (a_i + 2 * c * x_i);
        a[i] = (1 - theta) * a_i + theta * b_i;
        new_b[j] = (1 - theta) * b_j + theta * (a_j + 2 * c * x_j);
        a[j] = (1 - theta) * a_j + theta * b_j;
    }
}

template <int LEVEL>
inline void exchange(const uint32_t* edges, int64_t count, double* pairs, int64_t ahead) {
    for (int64_t t = 0; t < count; ++t) {
        if (t + ahead < count) __builtin_prefetch(pairs + 2 * uint64_t(edges[t + ahead]), LEVEL == 1, LEVEL == 1 ? 3 : 2);
        double* pair = pairs + 2 * uint64_t(edges[t]);
        std::swap(pair[0], pair[1]);
    }
}

}  // namespace

extern "C" {

// Synchronous, node space; `recentre` iterations between two corrections of the drift of a and b, by the mean of about
// `middle_of` nodes. From `sort_from`
// nodes on they are visited by degree within groups of `together`.
void node_space(int64_t count, int64_t first, int64_t n, const uint64_t* indptr, const uint32_t* indices, double p,
                double r, const double* g0, const double* h0, double* a, double* b, double* new_b, double* x,
                const double* q, const double* curvature, double c, double theta, int64_t recentre, int64_t middle_of, int64_t sort_from,
                int64_t together, int64_t ahead) {
    const std::vector<uint32_t> order = n >= sort_from ? by_degree(indptr, n, together) : std::vector<uint32_t>();
    for (int64_t k = first; k < first + count; ++k) {
        const bool last = k == first + count - 1;
        if (order.empty())
            node_space_once<false>(n, nullptr, last, indptr, indices, p, r, g0, h0, a, b, new_b, x, q, curvature, c,
                                   theta, 0);
        else
            node_space_once<true>(n, order.data(), last, indptr, indices, p, r, g0, h0, a, b, new_b, x, q, curvature, c,
                                  theta, ahead);
        std::swap(b, new_b);
        const double new_p = (1 - theta) * p + theta * r;
        r = (1 - theta) * r + theta * p;
        p = new_p;
        if ((k + 1) % recentre == 0) {
            const int64_t apart = n / middle_of > 1 ? n / middle_of : 1;
            double total = 0;
            int64_t count = 0;
            for (int64_t i = 0; i < n; i += apart, ++count) total += a[i] + b[i];
            const double middle = total / (2 * double(count));
            for (int64_t i = 0; i < n; ++i) {
                a[i] -= middle;
                b[i] -= middle;
            }
        }
    }
}

// Asynchronous, edge-major, with prefetch where the network is large; the distances are the caller's.
void asynchronous(const uint32_t* sequence, int64_t count, Node* nodes, const uint32_t* slots, double* pairs, double c,
                  double theta, int64_t large, int64_t ahead_nodes, int64_t ahead_rows, int64_t ahead_values) {
    constexpr uint32_t TOGETHER = 16;
    const int64_t last = count - 1;
    for (int64_t t = 0; t < count; ++t) {
        if (large) {
            prefetch(nodes + sequence[std::min(t + ahead_nodes, last)]);
            const Node& row = nodes[sequence[std::min(t + ahead_rows, last)]];
            prefetch(slots + row.low);
            prefetch(slots + row.high - 1);
            const Node& later = nodes[sequence[std::min(t + ahead_values, last)]];
            for (uint32_t h = later.low; h < later.high; h += TOGETHER)
                for (uint32_t more = 0; more < TOGETHER; ++more)
                    prefetch(pairs + slots[std::min(h + more, later.high - 1)]);
        }
        Node& node = nodes[sequence[t]];
        double g = 0;
        for (uint32_t h = node.low; h < node.high; ++h) g += pairs[slots[h]];
        node.x = -(node.q + g) / node.curvature;
        const double push = 2 * c * node.x;
        for (uint32_t h = node.low; h < node.high; ++h) {
            const uint32_t s = slots[h];
            pairs[s ^ 1] = (1 - theta) * pairs[s ^ 1] - theta * (pairs[s] + push);
        }
    }
}

// Every node computes, every message arrives with probability threshold / 2^53.
void edge_bernoulli(int64_t count, uint64_t key, int64_t first, uint64_t threshold, int64_t n, const uint64_t* indptr,
                    const uint32_t* indices, double* pairs, double* g, double* x, const double* q,
                    const double* curvature, double c, double theta) {
    constexpr uint64_t BLOCK = 1024;
    uint64_t arrives[BLOCK];
    std::vector<uint64_t> upper(n);
    for (int64_t i = 0; i < n; ++i) {
        upper[i] = indptr[i];
        for (uint64_t h = indptr[i]; h < indptr[i + 1]; ++h) upper[i] += indices[h] < i;
    }
    for (int64_t k = first; k < first + count; ++k) {
        const uint64_t key_k = mix(key + uint64_t(k) * STEP_K);
        for (int64_t i = 0; i < n; ++i) {
            x[i] = -(q[i] + g[i]) / curvature[i];
            g[i] = 0;
        }
        uint64_t e = 0, at = BLOCK;
        for (int64_t i = 0; i < n; ++i) {
            double g_i = g[i];
            const double push_i = 2 * c * x[i];
            for (uint64_t h = upper[i]; h < indptr[i + 1];) {
                if (at == BLOCK) {
                    uint64_t v = key_k + e * STEP_INDEX;
                    for (uint64_t s = 0; s < BLOCK; ++s, v += STEP_INDEX)
                        arrives[s] = -uint64_t((mix(v) >> 11) < threshold);
                    at = 0;
                }
                const uint64_t stop = std::min(indptr[i + 1], h + (BLOCK - at) / 2);
                for (; h < stop; ++h, e += 2, at += 2) {
                    const uint32_t j = indices[h];
                    double w_ij = pairs[e], w_ji = pairs[e + 1];
                    const double new_ij = (1 - theta) * w_ij - theta * (w_ji + 2 * c * x[j]);
                    const double new_ji = (1 - theta) * w_ji - theta * (w_ij + push_i);
                    w_ij = choose(arrives[at], new_ij, w_ij);
                    w_ji = choose(arrives[at + 1], new_ji, w_ji);
                    pairs[e] = w_ij;
                    pairs[e + 1] = w_ji;
                    g_i += w_ij;
                    g[j] += w_ji;
                }
            }
            g[i] = g_i;
        }
    }
}

// The roof: each 16-byte pair of the list is read, and written back with its two numbers exchanged. No arithmetic,
// nothing else is touched but the list, which streams; `ahead` entries of it are prefetched into cache `level`.
void read_modify_write(const uint32_t* edges, int64_t count, double* pairs, int64_t ahead, int64_t level) {
    if (level == 1)
        exchange<1>(edges, count, pairs, ahead);
    else
        exchange<2>(edges, count, pairs, ahead);
}

}  // extern "C"
