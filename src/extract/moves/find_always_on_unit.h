// Move: a unit that is on at all queries so far. It passes for a skip term, and its kinks are far from all
// lines.
//
//   needs     layers that explain the outputs, with skip terms
//   asks      at some 24 places at which the unit would switch, thirty times as far out as random ones, and
//             20 + 2 (s + 2) queries for its kink
//   time      2^k ways of signs for k <= 12 units of the last hidden layer; a polish per kink
//   changes   the sample; the network, exact, where all queries are answered with that unit
//
// With the units of a layer known as sign-free rows V (k x c, on the features P below it), what lies above
// sees
//
//     U |V P| + R P,      R = U diag(s) V + sum_r a_r v_r^T,      s in {-1, 1}^k
//
// where the sum is over units that are always on. What R leaves when the signs s are taken off are rows v_r.
// With one row above (one output) any signs s leave a row: then some are drawn. Such a unit switches where
// v_r.P is least or most: there f is asked (extract/climb.h).
//
// In the last hidden layer
//
//     y = sum_i c_i |z_i| + L h + e = sum_i 2 c_i max(s_i z_i, 0) + (L - sum_i s_i c_i w_i) h + ...
//
//     z_i = w_i.h + b_i: the known units     h: features of the layer below     s_i: their signs, open
//
// it acts as a linear function of h, so that with one output its row is what L has beyond the known units, up
// to a factor: one row for each way of their signs. A unit that is on everywhere is hardly less than 0 for h
// far out: ways of which that holds best come first. Where it does switch, far out, the direction of the kink
// tells the way.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "extract/hypothesis.h"

namespace exhume {

// U: M x k, R: M x c with the constant last, V: k x c. At most `most` rows on P; none where the known units
// explain R.
[[nodiscard]] std::vector<Vector> one_sided_rows(const Matrix& U, const Matrix& R, const Matrix& V,
                                                 std::uint64_t seed, std::size_t most);

// Lines from where a unit of a layer below others that is always on, as the rows above tell, is most to where
// it is least.
[[nodiscard]] std::vector<Segment> lines_across_one_sided(const LayerSearch& search, std::uint64_t look);

struct AlwaysOnRow {
  Vector row;    // on h, of unit norm
  Vector signs;  // s, of the known units
};
// plain: the known units; F = (|z|, h, 1) at the queries, B: what the outputs are on it. None where the known
// units are all, with several outputs, or where there are too many ways.
[[nodiscard]] std::vector<AlwaysOnRow> always_on_rows(const DeepForm& plain, const Matrix& F,
                                                      const Matrix& B);

// The outputs on the last hidden layer and the features below it, by least absolute deviations.
struct PlainLook {
  Model model;
  std::vector<Index> wrong;            // rows of the sample that this does not answer, worst first
  DeepForm plain;                      // the layers as they are known
  double error = 0;                    // of answers, over their allowance
  std::vector<AlwaysOnRow> always_on;  // of a unit of the last hidden layer that may be on at all queries
};
// None where signs are open, or most answers are wrong.
[[nodiscard]] std::optional<PlainLook> look_with_signs(const LayerSearch& search);

// Places at which such units would be off, so many times as far out as random ones.
[[nodiscard]] RowMatrix where_always_on_switch(LayerSearch& search, const std::vector<AlwaysOnRow>& rows,
                                               std::uint64_t look, double farther = 1);

// The move: all is answered but for terms that pass the last hidden layer by.
bool find_unit_that_switches_far_out(LayerSearch& search);

}  // namespace exhume
