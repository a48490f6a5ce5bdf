#include "exhume/certificate.h"

#include <iterator>
#include <utility>

namespace exhume {

const char* to_string(Status status) {
  switch (status) {
    case Status::kCertified:
      return "certified";
    case Status::kEstimated:
      return "estimated";
    case Status::kUncertified:
      return "uncertified";
    case Status::kRefused:
      return "refused";
  }
  return "";
}

bool Checks::require(std::string name, double value, double threshold, bool holds, std::string otherwise) {
  for (const Assumption& known : list_) {
    if (known.required && known.name == name) return known.holds;
  }
  list_.push_back({std::move(name), value, threshold, holds, true});
  if (!holds && all_hold_) reason_ = std::move(otherwise);
  all_hold_ = all_hold_ && holds;
  return holds;
}

void Checks::require_first(std::string name, double value, double threshold, std::string otherwise) {
  list_.push_back({std::move(name), value, threshold, false, true});
  reason_ = std::move(otherwise);
  all_hold_ = false;
}

bool Checks::note(std::string name, double value, double threshold, bool holds) {
  list_.push_back({std::move(name), value, threshold, holds, false});
  return holds;
}

void Checks::conclude(Certificate& certificate, std::string praise, Status best) && {
  certificate.status = all_hold() ? best : Status::kUncertified;
  certificate.reason = all_hold() ? std::move(praise) : std::move(reason_);
  certificate.assumptions.insert(certificate.assumptions.end(), std::make_move_iterator(list_.begin()),
                                 std::make_move_iterator(list_.end()));
}

void Checks::add_to(Certificate& certificate) && {
  const Status before = certificate.status;
  std::string reason = certificate.reason;
  std::move(*this).conclude(certificate, reason, before);
  if (stands(before)) return;
  certificate.status = before;
  certificate.reason = std::move(reason);
}

}  // namespace exhume
