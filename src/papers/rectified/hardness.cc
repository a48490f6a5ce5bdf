#include "exhume/papers/rectified.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "exhume/error.h"
#include "linalg/linear_program.h"

namespace exhume {
namespace {

constexpr size_t kLiterals = 6;

std::vector<int> complement(std::vector<int> clause) {
  for (int& literal : clause) literal = -literal;
  return clause;
}

std::vector<int> sorted(std::vector<int> clause) {
  std::sort(clause.begin(), clause.end());
  return clause;
}

bool contains(const Cnf& formula, const std::vector<int>& clause) {
  return std::any_of(formula.clauses.begin(), formula.clauses.end(),
                     [&](const std::vector<int>& other) { return sorted(other) == sorted(clause); });
}

bool satisfies(const Cnf& formula, const std::vector<bool>& truth) {
  return std::all_of(formula.clauses.begin(), formula.clauses.end(), [&](const std::vector<int>& clause) {
    return std::any_of(clause.begin(), clause.end(), [&](int literal) {
      return truth[static_cast<size_t>(std::abs(literal) - 1)] == (literal > 0);
    });
  });
}

// Who is active on a row of Q.
enum class Active { kFirst, kSecond, kBoth };

// The linear program of a prefix of choices; unknowns are (x, y).
std::optional<Vector> point_of(const Separability& instance, const std::vector<Active>& choices) {
  const Index d = instance.x.cols(), r = instance.inactive, s = static_cast<Index>(choices.size());
  LinearProgram program;
  program.M = Matrix::Zero(2 * r + 3 * s, 2 * d);
  program.low = Vector::Constant(program.M.rows(), -kUnbounded);
  program.high = Vector::Constant(program.M.rows(), kUnbounded);
  Index row = 0;
  const auto add = [&](Index sample, double on_first, double on_second, double low, double high) {
    program.M.row(row).head(d) = on_first * instance.x.row(sample);
    program.M.row(row).tail(d) = on_second * instance.x.row(sample);
    program.low(row) = low;
    program.high(row) = high;
    ++row;
  };
  for (Index i = 0; i < r; ++i) {
    add(i, 1, 0, -kUnbounded, 0);
    add(i, 0, 1, -kUnbounded, 0);
  }
  for (Index q = 0; q < s; ++q) {
    const Active active = choices[static_cast<size_t>(q)];
    const double first = active != Active::kSecond ? 1 : 0, second = active != Active::kFirst ? 1 : 0;
    add(r + q, first, second, 1, 1);
    add(r + q, 1, 0, first > 0 ? 0 : -kUnbounded, first > 0 ? kUnbounded : 0);
    add(r + q, 0, 1, second > 0 ? 0 : -kUnbounded, second > 0 ? kUnbounded : 0);
  }
  program.bound_low = Vector::Constant(2 * d, -1e3);
  program.bound_high = Vector::Constant(2 * d, 1e3);
  program.objective = Vector::Zero(2 * d);
  return solve(program);
}

std::optional<Vector> descend(const Separability& instance, std::vector<Active>& choices,
                              const Control& control) {
  control.check();
  auto point = point_of(instance, choices);
  if (!point) return std::nullopt;
  if (static_cast<Index>(choices.size()) == instance.x.rows() - instance.inactive) return point;
  for (const Active active : {Active::kFirst, Active::kSecond, Active::kBoth}) {
    choices.push_back(active);
    if (auto found = descend(instance, choices, control)) return found;
    choices.pop_back();
  }
  return std::nullopt;
}

}  // namespace

Cnf parse_dimacs(std::string_view text) {
  Cnf formula;
  Index promised = -1, number = 0;
  std::vector<int> clause;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word[0] == 'c') continue;
    if (word == "p") {
      std::string kind;
      if (promised >= 0 || !(words >> kind >> formula.variables >> promised) || kind != "cnf" ||
          formula.variables < 1 || promised < 0) {
        throw DataError(
            fmt::format("line {}: expected one header 'p cnf VARIABLES CLAUSES', found '{}'", number, line));
      }
      continue;
    }
    do {
      char* end = nullptr;
      const long literal = std::strtol(word.c_str(), &end, 10);
      if (promised < 0 || *end != 0 || std::abs(literal) > formula.variables) {
        throw DataError(fmt::format("line {}: '{}' is no literal of {} variables after a header", number,
                                    word, formula.variables));
      }
      if (literal != 0) {
        clause.push_back(static_cast<int>(literal));
      } else {
        formula.clauses.push_back(std::exchange(clause, {}));
      }
    } while (words >> word);
  }
  if (promised < 0) throw DataError("the text has no header 'p cnf VARIABLES CLAUSES'");
  if (!clause.empty()) throw DataError(fmt::format("the last clause is not ended by 0 (line {})", number));
  if (static_cast<Index>(formula.clauses.size()) != promised) {
    throw DataError(
        fmt::format("the header promises {} clauses, but there are {}", promised, formula.clauses.size()));
  }
  return formula;
}

bool reversible(const Cnf& formula) {
  return std::all_of(formula.clauses.begin(), formula.clauses.end(),
                     [&](const std::vector<int>& clause) { return contains(formula, complement(clause)); });
}

Cnf with_complements(const Cnf& formula) {
  Cnf out = formula;
  for (const auto& clause : formula.clauses) {
    if (!contains(out, complement(clause))) out.clauses.push_back(complement(clause));
  }
  return out;
}

Separability relu_separability(const Cnf& formula, bool free_top) {
  const Index n = formula.variables, d = n + 2 + (free_top ? 1 : 0),
              r = static_cast<Index>(formula.clauses.size());
  for (size_t i = 0; i < formula.clauses.size(); ++i) {
    if (formula.clauses[i].size() != kLiterals) {
      throw std::invalid_argument(
          fmt::format("clause {} has {} literals, expected {}; repeat literals to fill it up", i + 1,
                      formula.clauses[i].size(), kLiterals));
    }
  }
  if (!reversible(formula)) {
    throw std::invalid_argument(
        "the formula is not closed under complementing all variables; see with_complements");
  }
  const Index s = 2 * n + 5 + (free_top ? 2 : 0);
  Separability out;
  out.inactive = r;
  out.x = RowMatrix::Zero(r + s, d);
  out.y = RowMatrix::Zero(r + s, 1);
  out.y.bottomRows(s).setOnes();
  for (Index i = 0; i < r; ++i) {
    for (const int literal : formula.clauses[static_cast<size_t>(i)])
      out.x(i, std::abs(literal) - 1) -= literal > 0 ? 1 : -1;
    out.x(i, n) = out.x(i, n + 1) = -10;
  }
  Index row = r;
  for (Index i = 0; i < n; ++i) {
    out.x(row++, i) = 1;
    out.x(row++, i) = -1;
  }
  for (Index j = n; j < n + 2; ++j) {
    out.x(row++, j) = 1;
    out.x(row++, j) = -2;
  }
  out.x(row, n) = out.x(row, n + 1) = 1;
  ++row;
  if (free_top) {
    out.x(row++, n + 2) = 1;
    out.x(row++, n + 2) = -1;
  }
  return out;
}

std::optional<std::vector<bool>> satisfying_assignment(const Cnf& formula) {
  if (formula.variables > 24) {
    throw std::invalid_argument(fmt::format(
        "{} variables are too many to try all assignments, expected at most 24", formula.variables));
  }
  std::vector<bool> truth(static_cast<size_t>(formula.variables));
  for (unsigned long bits = 0; bits < (1UL << formula.variables); ++bits) {
    for (size_t v = 0; v < truth.size(); ++v) truth[v] = (bits >> v & 1) != 0;
    if (satisfies(formula, truth)) return truth;
  }
  return std::nullopt;
}

std::optional<Matrix> solve_separability(const Separability& instance, const Control& control) {
  std::vector<Active> choices;
  const auto point = descend(instance, choices, control);
  if (!point) return std::nullopt;
  const Index d = instance.x.cols();
  Matrix V(2, d);
  V << point->head(d).transpose(), point->tail(d).transpose();
  return V;
}

IndistinguishablePair indistinguishable_pair(double a) {
  if (!(a > 0)) throw std::invalid_argument(fmt::format("a is {}, expected above 0", a));
  const auto network = [](double s) {
    const double norm = std::sqrt(1 + s * s);
    Network out;
    out.W().resize(2, 2);
    out.W() << 1 / norm, s / norm, 1 / norm, -s / norm;
    out.b() = Vector::Zero(2);
    out.A() = Matrix::Constant(1, 2, norm / 2);
    out.c() = Vector::Zero(1);
    return out;
  };
  return {network(a), network(2 * a)};
}

}  // namespace exhume
