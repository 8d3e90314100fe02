// The iteration on a GPU. What engine/kernels.py says in Numba, in the same gauge w_{i|j} = A_ij z_{i|j}:
//
//     g_i      = sum_j w_{i|j}
//     x_i      = argmin_x f_i(x) + g_i'x + (rho_i/2) ||x||^2
//     w_{j|i} <- (1 - theta) w_{j|i} - theta (w_{i|j} + 2 c x_i)
//
// Rows have L columns: one per draw and entry of x. A thread has one row and one column, unless its kernel says
// otherwise, and the threads of a warp lie side by side in memory. Sums run over the neighbours in their order and
// nothing is contracted (--fmad=false), so that bits are those of the CPU wherever its arithmetic is the same. No
// kernel waits for another block, and none adds floating-point numbers atomically: the same run gives the same bits.
// A null pointer stands for what there is none of: weights (all 1), pads, a choice of nodes (all of them).

typedef unsigned int index_t;           // of nodes and half-edges: below 2^32
typedef unsigned long long word;
typedef long long count_t;

#define NEVER 0xffffffffu
#define UNIT 1.1102230246251565e-16  // 2^-53

enum { QUADRATIC, HUBER, ABSOLUTE, BOX, DENSE };  // as in steps.py

__device__ __forceinline__ count_t here() { return (count_t)blockIdx.x * blockDim.x + threadIdx.x; }

__device__ __forceinline__ double weight(const double* weights, index_t h) { return weights ? weights[h] : 1.0; }

// Random choices: the twins of numerics/counter_random.py

__device__ __forceinline__ word mix(word v) {
    v = (v ^ (v >> 30)) * 0xBF58476D1CE4E5B9ULL;
    v = (v ^ (v >> 27)) * 0x94D049BB133111EBULL;
    return v ^ (v >> 31);
}

__device__ __forceinline__ word hash_of(word key, word k) { return mix(key + k * 0x9E3779B97F4A7C15ULL); }

__device__ __forceinline__ word bits(word key_k, word at) { return mix(key_k + at * 0xD1342543DE82EF95ULL) >> 11; }

// One entry of one node's step; p, r and rho are what steps.py says. All families but DENSE go entry by entry.

__device__ __forceinline__ double step(int kind, double p, double r, double rho, double g) {
    if (kind == QUADRATIC) return -(p + g) / rho;
    if (kind == HUBER) {
        double offset = -(g + rho * p) / (1.0 + rho);
        return fabs(offset) <= r ? (p - g) / (1.0 + rho) : -(g + copysign(r, offset)) / rho;
    }
    if (kind == ABSOLUTE) {
        double pull = -(g + rho * p);
        return fabs(pull) <= 1.0 ? p : -(g + copysign(1.0, pull)) / rho;
    }
    double v = -g / rho;
    if (isnan(v)) return v;  // fmin and fmax would lose it
    return fmin(fmax(v, p), r);
}

struct Costs {
    int kind, d;
    const double *p, *r, *rho, *inverse, *lean;
};

__device__ __forceinline__ double stepped(const Costs& f, count_t i, count_t l, int L, const double* g) {
    const double* lean = f.lean ? f.lean + i * L : nullptr;
    int t = l % f.d;
    if (f.kind != DENSE) {
        double total = lean ? g[l] + lean[l] : g[l];
        count_t entry = i * f.d + t;
        return step(f.kind, f.p[entry], f.r ? f.r[entry] : 0.0, f.rho[i], total);
    }
    const double* row = f.inverse + (i * f.d + t) * f.d;
    count_t first = l - t;
    double total = 0.0;
    for (int s = 0; s < f.d; ++s)
        total += row[s] * (f.p[i * f.d + s] + (lean ? g[first + s] + lean[first + s] : g[first + s]));
    return -total;
}

#define COSTS int kind, int d, const double *p_, const double *r_, const double *rho_, const double *inverse_, \
              const double *lean_
#define THE_COSTS Costs{kind, d, p_, r_, rho_, inverse_, lean_}

// x of all nodes, or of those active, from their sums g
extern "C" __global__ void steps(count_t n, int L, COSTS, const unsigned char* active, const double* g, double* x) {
    count_t at = here();
    if (at >= n * L) return;
    count_t i = at / L;
    if (active && !active[i]) return;
    x[at] = stepped(THE_COSTS, i, at - i * L, L, g + i * L);
}

// out = W v
extern "C" __global__ void adjacency(count_t n, int L, const index_t* indptr, const index_t* indices,
                                     const double* weights, const double* v, double* out) {
    count_t at = here();
    if (at >= n * L) return;
    count_t i = at / L, l = at - i * L;
    double total = 0.0;
    for (index_t h = indptr[i]; h < indptr[i + 1]; ++h) total += weight(weights, h) * v[(count_t)indices[h] * L + l];
    out[at] = total;
}

// Synchronous, in node space: z(k) = p z(0) + q P z(0) + K C a + P K C b, K the weights

// One iteration for one column and entry-wise steps; x may be null
extern "C" __global__ void node_space_scalar(
    count_t n, const index_t* __restrict__ indptr, const index_t* __restrict__ indices,
    const double* __restrict__ weights, const double* __restrict__ D, COSTS, double c, double theta, double p, double q,
    const double* __restrict__ g0, const double* __restrict__ h0, double* __restrict__ a, const double* __restrict__ b,
    double* __restrict__ new_b, double* __restrict__ x) {
    count_t i = here();
    if (i >= n) return;
    index_t low = indptr[i], high = indptr[i + 1];
    double g = 0.0, a_i = a[i], b_i = b[i];
    for (index_t h = low; h < high; ++h) g -= weight(weights, h) * b[indices[h]];
    if (g0) g += p * g0[i] + q * h0[i];
    g += (weights ? D[i] : (double)(high - low)) * a_i;
    if (lean_) g += lean_[i];
    double x_i = step(kind, p_[i], r_ ? r_[i] : 0.0, rho_[i], g);
    if (x) x[i] = x_i;
    new_b[i] = (1 - theta) * b_i + theta * (a_i + 2 * c * x_i);
    a[i] = (1 - theta) * a_i + theta * b_i;
}

// C'z of node space
extern "C" __global__ void node_space_sums(count_t n, int L, const index_t* indptr, const index_t* indices,
                                           const double* weights, const double* D, double p, double q,
                                           const double* g0, const double* h0, const double* a, const double* b,
                                           double* g) {
    count_t at = here();
    if (at >= n * L) return;
    count_t i = at / L, l = at - i * L;
    index_t low = indptr[i], high = indptr[i + 1];
    double total = 0.0;
    for (index_t h = low; h < high; ++h) total -= weight(weights, h) * b[(count_t)indices[h] * L + l];
    if (g0) total += p * g0[at] + q * h0[at];
    g[at] = total + (weights ? D[i] : (double)(high - low)) * a[at];
}

extern "C" __global__ void node_space_mix(count_t size, double c, double theta, const double* x, double* a,
                                          const double* b, double* new_b) {
    count_t at = here();
    if (at >= size) return;
    double a_i = a[at], b_i = b[at];
    new_b[at] = (1 - theta) * b_i + theta * (a_i + 2 * c * x[at]);
    a[at] = (1 - theta) * a_i + theta * b_i;
}

// The mean of a and b over some nodes, a thread for each column; in order, as on the CPU
extern "C" __global__ void middles(count_t n, int L, count_t apart, const double* a, const double* b, double* middle) {
    count_t l = here(), count = (n + apart - 1) / apart;
    if (l >= L) return;
    double total = 0.0;
#pragma unroll 16
    for (count_t k = 0; k < count; ++k) total += a[k * apart * L + l] + b[k * apart * L + l];
    middle[l] = total / (2 * count);
}

// a and b less their middle, which K C a + P K C b does not see
extern "C" __global__ void recentre(count_t size, int L, const double* middle, double* a, double* b) {
    count_t at = here();
    if (at >= size) return;
    double m = middle[at % L];
    a[at] -= m;
    b[at] -= m;
}

// A_ij z_{i|j} without its pads, by half-edge in memory order
extern "C" __global__ void node_space_z(count_t n, int L, const index_t* indptr, const index_t* indices,
                                        const double* weights, const double* a, const double* b, double* w) {
    count_t at = here();
    if (at >= n * L) return;
    count_t i = at / L, l = at - i * L;
    for (index_t h = indptr[i]; h < indptr[i + 1]; ++h)
        w[(count_t)h * L + l] = weight(weights, h) * (a[at] - b[(count_t)indices[h] * L + l]);
}

// On half-edges: pairs[2e], pairs[2e + 1] are the two values of edge e

// own = C'z and other = C'Pz; other may be null
extern "C" __global__ void row_sums(count_t n, int L, const index_t* indptr, const index_t* slots, const double* pairs,
                                    double* own, double* other) {
    count_t at = here();
    if (at >= n * L) return;
    count_t i = at / L, l = at - i * L;
    double total = 0.0, total_other = 0.0;
    for (index_t h = indptr[i]; h < indptr[i + 1]; ++h) {
        total += pairs[(count_t)slots[h] * L + l];
        if (other) total_other -= pairs[(count_t)(slots[h] ^ 1u) * L + l];
    }
    own[at] = total;
    if (other) other[at] = total_other;
}

// Asynchronous, by wavefronts: nodes that share no edge commute, so all may wake that come before their neighbours

// The nodes that wake at first, first + 1, ... where all are equally likely
extern "C" __global__ void wakes(count_t count, word key, word first, double n, const index_t* number, index_t* nodes) {
    count_t t = here();
    if (t < count) nodes[t] = number[(index_t)((double)bits(hash_of(key, first + t), 0) * UNIT * n)];
}

// The same where rates differ: the uniform numbers, to be looked up
extern "C" __global__ void uniforms(count_t count, word key, word first, double* u) {
    count_t t = here();
    if (t < count) u[t] = (double)bits(hash_of(key, first + t), 0) * UNIT;
}

// Node i wakes next at times[at[i]], within those up to ends[i]. Ready are nodes that come before all their neighbours.
extern "C" __global__ void find_ready(count_t n, const index_t* indptr, const index_t* indices, const index_t* next,
                                      index_t* ready, index_t* found) {
    count_t i = here();
    if (i >= n) return;
    index_t mine = next[i];
    if (mine == NEVER) return;
    for (index_t h = indptr[i]; h < indptr[i + 1]; ++h)
        if (next[indices[h]] < mine) return;
    ready[atomicAdd(found, 1u)] = (index_t)i;
}

extern "C" __global__ void first_times(count_t n, const index_t* at, const index_t* ends, const index_t* times,
                                       index_t* next) {
    count_t i = here();
    if (i < n) next[i] = at[i] < ends[i] ? times[at[i]] : NEVER;
}

__device__ __forceinline__ void be_done(count_t i, index_t* at, const index_t* ends, const index_t* times,
                                        index_t* next) {
    index_t later = ++at[i];
    next[i] = later < ends[i] ? times[later] : NEVER;
}

__device__ __forceinline__ void send(count_t i, count_t l, int L, const index_t* indptr, const index_t* slots,
                                     const double* weights, double c, double theta, double x_i, double* pairs) {
    for (index_t h = indptr[i]; h < indptr[i + 1]; ++h) {
        double twice = 2 * c * weight(weights, h);
        double held = pairs[(count_t)slots[h] * L + l];
        double* written = pairs + (count_t)(slots[h] ^ 1u) * L + l;
        *written = (1 - theta) * *written - theta * (held + twice * x_i);
    }
}

#define QUEUE const index_t *ready, const index_t *found, index_t *at, const index_t *ends, const index_t *times, \
              index_t *next

// The ready nodes wake: entry-wise steps
extern "C" __global__ void wake(int L, const index_t* indptr, const index_t* slots, const double* weights, COSTS,
                                double c, double theta, double* pairs, double* x, QUEUE) {
    count_t all = (count_t)*found * L, stride = (count_t)gridDim.x * blockDim.x;
    for (count_t k = here(); k < all; k += stride) {
        count_t i = ready[k / L], l = k % L;
        double g = 0.0;
        for (index_t h = indptr[i]; h < indptr[i + 1]; ++h) g += pairs[(count_t)slots[h] * L + l];
        if (lean_) g += lean_[i * L + l];
        count_t entry = i * d + l % d;
        double x_i = step(kind, p_[entry], r_ ? r_[entry] : 0.0, rho_[i], g);
        x[i * L + l] = x_i;
        send(i, l, L, indptr, slots, weights, c, theta, x_i, pairs);
        if (l == 0) be_done(i, at, ends, times, next);
    }
}

// The same in three launches, where a step needs all entries of a node
extern "C" __global__ void wake_sums(int L, const index_t* indptr, const index_t* slots, const double* pairs, double* g,
                                     const index_t* ready, const index_t* found) {
    count_t all = (count_t)*found * L, stride = (count_t)gridDim.x * blockDim.x;
    for (count_t k = here(); k < all; k += stride) {
        count_t i = ready[k / L], l = k % L;
        double total = 0.0;
        for (index_t h = indptr[i]; h < indptr[i + 1]; ++h) total += pairs[(count_t)slots[h] * L + l];
        g[i * L + l] = total;
    }
}

extern "C" __global__ void wake_steps(int L, COSTS, const double* g, double* x, const index_t* ready,
                                      const index_t* found) {
    count_t all = (count_t)*found * L, stride = (count_t)gridDim.x * blockDim.x;
    for (count_t k = here(); k < all; k += stride) {
        count_t i = ready[k / L], l = k % L;
        x[i * L + l] = stepped(THE_COSTS, i, l, L, g + i * L);
    }
}

extern "C" __global__ void wake_sends(int L, const index_t* indptr, const index_t* slots, const double* weights,
                                      double c, double theta, double* pairs, const double* x, QUEUE) {
    count_t all = (count_t)*found * L, stride = (count_t)gridDim.x * blockDim.x;
    for (count_t k = here(); k < all; k += stride) {
        count_t i = ready[k / L], l = k % L;
        send(i, l, L, indptr, slots, weights, c, theta, x[i * L + l], pairs);
        if (l == 0) be_done(i, at, ends, times, next);
    }
}

// Bernoulli: everybody computes from z(k), then a random part is updated

// Which nodes wake; done[0] counts them, and done[1] their messages
extern "C" __global__ void wake_up(count_t n, const index_t* indptr, word key, word k, word threshold,
                                   unsigned char* active, word* done) {
    count_t i = here();
    bool awake = i < n && bits(hash_of(key, k), i) < threshold;
    if (i < n) active[i] = awake;
    unsigned sent = awake ? indptr[i + 1] - indptr[i] : 0u;
    int nodes = __syncthreads_count(awake);
    for (int apart = 16; apart; apart /= 2) sent += __shfl_down_sync(0xffffffffu, sent, apart);
    if (threadIdx.x == 0 && nodes) atomicAdd(done, (word)nodes);
    if (threadIdx.x % 32 == 0 && sent) atomicAdd(done + 1, (word)sent);
}

// The ends low < high of every edge, and what it weighs
extern "C" __global__ void edge_ends(count_t n, const index_t* indptr, const index_t* indices, const index_t* slots,
                                     const double* weights, index_t* low, index_t* high, double* of_edge) {
    count_t i = here();
    if (i >= n) return;
    for (index_t h = indptr[i]; h < indptr[i + 1]; ++h)
        if (slots[h] % 2 == 0) {
            index_t e = slots[h] / 2;
            low[e] = (index_t)i;
            high[e] = indices[h];
            if (of_edge) of_edge[e] = weights[h];
        }
}

// Half-edges whose message arrives are updated: with a coin each, or, where active is given, those of its nodes
extern "C" __global__ void arrive(count_t m, int L, const index_t* low, const index_t* high, const double* of_edge,
                                  word key, word k, word threshold, const unsigned char* active, double c, double theta,
                                  const double* x, double* pairs) {
    count_t at = here();
    if (at >= m * L) return;
    count_t e = at / L, l = at - e * L, i = low[e], j = high[e];
    word key_k = hash_of(key, k);
    bool to_i = active ? active[j] : bits(key_k, 2 * e) < threshold;
    bool to_j = active ? active[i] : bits(key_k, 2 * e + 1) < threshold;
    double twice = 2 * c * (of_edge ? of_edge[e] : 1.0);
    double *own = pairs + 2 * e * L + l, *other = own + L;
    double w_ij = *own, w_ji = *other;
    if (to_i) *own = (1 - theta) * w_ij - theta * (w_ji + twice * x[j * L + l]);
    if (to_j) *other = (1 - theta) * w_ji - theta * (w_ij + twice * x[i * L + l]);
}

// Conjugate gradients for 2 (D + sign W) x = r, all columns side by side (privacy/moments/cuda_projection.py)

extern "C" __global__ void laplacian(count_t n, int L, const index_t* indptr, const index_t* indices, double sign,
                                     const double* v, double* out) {
    count_t at = here();
    if (at >= n * L) return;
    count_t i = at / L, l = at - i * L;
    index_t low = indptr[i], high = indptr[i + 1];
    double total = 0.0;
    for (index_t h = low; h < high; ++h) total += v[(count_t)indices[h] * L + l];
    out[at] = 2 * ((double)(high - low) * v[at] + sign * total);
}

// Sums of u v, or of u v / weight of the row: some rows of one column each, to be added up by column. The number of
// threads is a multiple of L, so that a thread stays in its column.
extern "C" __global__ void inner(count_t threads, count_t size, int L, const double* u, const double* v,
                                 const double* weight, double* parts) {
    count_t me = here();
    if (me >= threads) return;
    double total = 0.0;
    for (count_t at = me; at < size; at += threads) total += weight ? u[at] * v[at] / weight[at / L] : u[at] * v[at];
    parts[me] = total;
}

extern "C" __global__ void cg_move(count_t size, int L, const double* length, const double* direction,
                                   const double* image, double* x, double* residual) {
    count_t at = here();
    if (at >= size) return;
    double far = length[at % L];
    x[at] += far * direction[at];
    residual[at] -= far * image[at];
}

extern "C" __global__ void cg_turn(count_t size, int L, const double* along, const double* diagonal,
                                   const double* residual, double* direction) {
    count_t at = here();
    if (at < size) direction[at] = residual[at] / diagonal[at / L] + along[at % L] * direction[at];
}
