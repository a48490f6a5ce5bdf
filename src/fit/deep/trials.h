// What a search has tried: students trained, polished, judged on rows that were not fitted, and the best of
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "fit/deep/found.h"
#include "fit/deep/rounding.h"
#include "fit/polish.h"
#include "fit/student.h"

namespace exhume {

inline constexpr double kTrained = 1e-4;  // relative error of a student that is worth a polish
inline constexpr Index kLeastWidth = 8;   // of a student's layer
inline constexpr double kTwins = 0.9999;  // correlation of features above which units are merged
inline constexpr int kFirstPolish = 8, kSecondPolish = 12, kPatientPolish = 30;  // rounds at most
inline constexpr double kFirstSteps = 60'000;                                    // of the first student
inline constexpr double kLonger = 1.5, kMostSteps = 4e5;  // factor when one led nowhere, and where that ends

// What a student is to learn.
struct Lesson {
  std::vector<Index> widths;
  double steps = kFirstSteps;
  std::uint64_t number = 0;  // of the student: another number, another start
  // First units of the lowest layers, up to scale and sign, that it does not have to learn; all of them, or
  // there are some beside them.
  std::vector<Matrix> known;
  bool fixed = false;  // nor the polish to mend
};

class Trials {
 public:
  // A student that knew no layer and did not end in an exact network: as trained, or as polished.
  using Rough = std::function<void(const Polished&, bool polished)>;

  Trials(const SampleSource& standard, const DeepSearchOptions& options, const Control& control);

  // Trains a student and polishes what it found; returns the student's error.
  double attempt(const Lesson& lesson);
  // Trains a student without a polish of what it found.
  Student train_and_consider(const Lesson& lesson);
  // Polishes a student that knew the layers below the last.
  ToRounding polish_on_known(const Student& student);
  // Polishes a start that is the `trained` part of an attempt of its own, and considers what comes of it.
  Polished attempt_from(const Polished& start, int rounds);
  // Trains without a polish.
  [[nodiscard]] Student train_student(const Lesson& lesson, bool hard_rows);
  // Takes what was fitted in noise for the answer.
  void settle(DeepFound in_noise);
  void on_rough(Rough rough) { rough_ = std::move(rough); }

  [[nodiscard]] const DeepSearchOptions& options() const { return options_; }
  [[nodiscard]] const Control& control() const { return control_; }
  [[nodiscard]] DeepData& rows() { return data_; }
  [[nodiscard]] const DeepData& rows() const { return data_; }
  [[nodiscard]] const DeepData& unseen() const { return check_; }
  [[nodiscard]] const DeepFound& best() const { return found_; }
  [[nodiscard]] std::size_t students() const { return attempts_.size(); }
  // The best is exact on rows that were not fitted too; or it is all that noise leaves.
  [[nodiscard]] bool exact() const { return confirmed_; }
  [[nodiscard]] bool ended() const { return confirmed_ || found_.noise; }
  // Of the first student's layers: with few rows, as many units as these can tell apart.
  [[nodiscard]] Index first_width() const;
  [[nodiscard]] DeepFound result(bool out_of_time);

 private:
  void polish_student(Form form, double trained, const Lesson& lesson);
  ToRounding polish_and_consider(const Form& start, int rounds, bool from_nothing);
  void consider(const Polished& polished, const std::vector<Index>& left = {}, bool minimal = false);
  bool learns_from_unseen(Polished& polished);
  [[nodiscard]] double unseen_error(const DeepFound& found) const;
  [[nodiscard]] double most_flops() const;
  [[nodiscard]] double flops(const Form& form) const;

  const DeepSearchOptions& options_;
  const Control& control_;
  DeepData data_;   // polished on
  DeepData check_;  // looked at
  StudentData single_;
  Rough rough_;
  std::vector<DeepAttempt> attempts_;
  DeepFound found_;
  double error_ = 0;        // of found_, on check_
  bool confirmed_ = false;  // found_ is exact there too
};

// A layer that is given may be so to few digits: the form with all layers free.
[[nodiscard]] Form free_all_layers(Form form);

}  // namespace exhume
