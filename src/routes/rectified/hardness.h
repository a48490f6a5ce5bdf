// Where recovery is hard or impossible, as generators of instances (paper rectified, Section 3 and Lemma 16).
//
// ReLU-separability. From a 6-CNF on n variables: vectors q in R^(n+2), to be labelled 0 (set P) or 1 (set Q)
// by f(q.x) + f(q.y), f = max(., 0), for two unknown vectors x and y:
//
//     set   vectors q                                                   what they say
//     Q     +-e_i, i <= n                                               x_i = -y_i = +-1: variable i
//     Q     e_j, -2 e_j (j = n+1, n+2), e_{n+1} + e_{n+2}               x_{n+1} + x_{n+2} = 1/2, so for y
//     P     -(signed literals) - 10 e_{n+1} - 10 e_{n+2}, each clause   sum of literals >= -5: not all false
//
// Both x and y, which are opposite on the variables, obey the clauses, so the formula must be closed under
// complementing all variables. Then the instance is solvable exactly where the formula is satisfiable, and
// recovering the two units x and y from these samples is NP-hard: the outputs have rank 1, fewer
// than units.
//
// Erratum: the paper calls a formula reversible if it and its complement are both satisfiable or both not,
// which always holds. What the reduction uses is closure: the complement of every clause is a clause too.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "exhume/control.h"
#include "exhume/network.h"

namespace exhume {

// Clauses of non-zero literals: +v for variable v (from 1), -v for its negation.
struct Cnf {
  Index variables = 0;
  std::vector<std::vector<int>> clauses;
};

// DIMACS text: comment lines "c ...", one header "p cnf VARIABLES CLAUSES", literals ended by 0. Throws
// DataError naming the line.
[[nodiscard]] Cnf parse_dimacs(std::string_view text);

// Is the complement of every clause a clause too? And the formula made so by adding them.
[[nodiscard]] bool reversible(const Cnf& formula);
[[nodiscard]] Cnf with_complements(const Cnf& formula);

struct Separability {
  RowMatrix x;         // P, then Q, one vector per row: n + 2 columns (n + 3 with a free second layer)
  RowMatrix y;         // 0 on P, 1 on Q
  Index inactive = 0;  // rows of P
};

// Throws std::invalid_argument unless every clause has six literals and the formula is reversible. With
// `free_top` the second layer is unknown too: one more coordinate and two rows +-e force its entries to be
// positive (Theorem 2).
[[nodiscard]] Separability relu_separability(const Cnf& formula, bool free_top = false);

// By trying all 2^n assignments, n <= 24.
[[nodiscard]] std::optional<std::vector<bool>> satisfying_assignment(const Cnf& formula);

// Two vectors (rows) that solve the instance, without knowledge of the formula: for every row of Q the three
// ways in which f(q.x) + f(q.y) = 1 may come about, branch by branch, linear programs deciding. Exponential:
// for tiny instances.
[[nodiscard]] std::optional<Matrix> solve_separability(const Separability& instance, const Control& control);

// Lemma 16: two networks in the plane that agree wherever |x_1| > 2 |a x_2|, so no fewer than about 1/a
// samples tell them apart,
//
//     f(x) = (max(x_1 + s x_2, 0) + max(x_1 - s x_2, 0)) / 2     with s = a and s = 2a, rows of unit norm
struct IndistinguishablePair {
  Network first, second;
};
[[nodiscard]] IndistinguishablePair indistinguishable_pair(double a);

}  // namespace exhume
