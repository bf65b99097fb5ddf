// Networks in 8 bits: layers of bytes. What the numbers mean, and the truth of each kernel, is in net/eight.py.

#include "bind.h"
#include "eight.h"

namespace sauvolanet::LEVEL {

// Rows y0 … y1 − 1 of the convolution of x (H + more, W + more, inputs), more = (size − 1) · dilation, into `bytes` or
// `floats` (H, W, outputs), whichever is not None; w : see `pack` in net/eight.py. size : 1 or 3.
//
// The pixels of x are neighbours, inputs are a multiple of 4 and outputs of 8.
static void convolve8(View<const Byte, 3> x, View<const Weight, 1> w, View<const std::int32_t, 1> start,
                      View<const float, 1> gain, View<const float, 1> bias, View<Byte, 3> bytes, View<float, 3> floats,
                      Index y0, Index y1, Index size, Index dilation) {
    const Bytewise layer(w, start, gain, bias, size, dilation);
    const Index rows[] = {0, dilation * x.stride[0], 2 * dilation * x.stride[0]};
    for (Index y = y0; y < y1; y++)
        if (bytes.data) layer.row(x[y].data, rows, bytes.shape[1], bytes[y].data, bytes.stride[1]);
        else layer.row(x[y].data, rows, floats.shape[1], floats[y].data, floats.stride[1]);
}

// x (H, W, C) as bytes into out: x · gain + zero, rounded, 0 … 127. C is a multiple of 4; pixels are neighbours in both.
static void quantise(View<const float, 3> x, View<const float, 1> gain, View<const float, 1> zero, View<Byte, 3> out) {
    const Index channels = x.shape[2], count = x.shape[1] * channels;
    constexpr int most = 64;  // channels that the table has room for; after `period` numbers the channels are the same again
    float table[2][most * WIDE];
    const Index period = channels <= most ? channels * WIDE : 0;
    for (Index i = 0; i < period; i++) table[0][i] = gain[i % channels], table[1][i] = zero[i % channels];
    for (Index i = 0; i < x.shape[0]; i++) {
        const float *from = x[i].data;
        Byte *to = out[i].data;
        Index at = 0;
        for (; period && at + period <= count; at += period)
            for (Index c = 0; c < period; c += WIDE)
                store_bytes<WIDE>(to + at + c, load<WIDE>(from + at + c) * load<WIDE>(table[0] + c) + load<WIDE>(table[1] + c));
        for (Index c = 0; at < count; at += 4, c = (c + 4) % channels)
            store_bytes<4>(to + at, load<4>(from + at) * load<4>(gain.data + c) + load<4>(zero.data + c));
    }
}

static void pool8(View<const Byte, 3> x, View<Byte, 3> out, Index y0, Index y1) { largest_of_four(x, out, y0, y1); }

// One row of N channels: skip · scale + small, each cell of small taken twice, as bytes: · gain + zero, rounded.
template <int N>
static void add_row(View<const Byte, 2> skip, const float *scale, View<const float, 2> small, const float *gain,
                    const float *zero, View<Byte, 2> out, Index c) {
    const Lanes<N> scales = load<N>(scale + c), gains = load<N>(gain + c), zeros = load<N>(zero + c);
    const Byte *from = skip.data + c;
    const float *more = small.data + c;
    Byte *to = out.data + c;
    for (Index j = 0; j < small.shape[0]; j++, more += small.stride[0])
        for (int i = 0; i < 2; i++, from += skip.stride[0], to += out.stride[0]) {
            Bytes<N> bytes;
            std::memcpy(&bytes, from, sizeof bytes);
            store_bytes<N>(to, (from_bytes<N>(bytes) * scales + load<N>(more)) * gains + zeros);
        }
}

// skip · scale + small, rows y0 … y1 − 1 of small taken twice in both directions, as bytes. Channels are a multiple of eight.
static void add_enlarged8(View<const Byte, 3> skip, View<const float, 1> scale, View<const float, 3> small,
                          View<const float, 1> gain, View<const float, 1> zero, View<Byte, 3> out, Index y0, Index y1) {
    constexpr int many = WIDE < 16 ? 8 : 16;
    for (Index y = 2 * y0; y < 2 * y1; y++) {
        Index c = 0;
        for (; c + many <= skip.shape[2]; c += many)
            add_row<many>(skip[y], scale.data, small[y / 2], gain.data, zero.data, out[y], c);
        if (c < skip.shape[2]) add_row<8>(skip[y], scale.data, small[y / 2], gain.data, zero.data, out[y], c);
    }
}

Table eight = {KERNEL(convolve8), KERNEL(quantise), KERNEL(pool8), KERNEL(add_enlarged8), {}};

}  // namespace sauvolanet::LEVEL
