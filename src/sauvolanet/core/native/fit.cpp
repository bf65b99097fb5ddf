// One pass over sampled pixels: value, gradient and curvature of the smoothed hinge loss; the truth is fit.hinge_numpy.

#include <algorithm>

#include "bind.h"

namespace sauvolanet::LEVEL {

using Values = View<const float, 1>;

// out[0 … 5] = the loss, its derivatives by a and b, and the second ones (aa, ab, bb).
static void hinge(Values gray, Values mean, Values product, View<const bool, 1> ink, Values weight, double a, double b,
                  double alpha, double soft, View<double, 1> out) {
    double sums[6] = {};
    for (Index i = 0; i < gray.shape[0]; i++) {
        const double side = ink[i] ? -alpha : alpha;
        const double lack = 1 - side * (gray[i] - a * mean[i] - b * product[i]);
        if (lack <= 0) continue;
        const bool corner = lack < soft;
        const double value = corner ? lack * lack / (2 * soft) : lack - soft / 2;
        const double slope = corner ? lack / soft : 1, curve = corner ? 1 / soft : 0;
        const double da = side * mean[i], db = side * product[i], w = weight[i];
        sums[0] += w * value;
        sums[1] += w * slope * da;
        sums[2] += w * slope * db;
        sums[3] += w * curve * da * da;
        sums[4] += w * curve * da * db;
        sums[5] += w * curve * db * db;
    }
    std::copy_n(sums, 6, out.data);
}

Table fit = {KERNEL(hinge), {}};

}  // namespace sauvolanet::LEVEL
