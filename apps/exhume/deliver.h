// A result, written where --out says and shown: the exit code of a command that certifies.
#pragma once

#include <string>
#include <vector>

#include "command.h"
#include "session/delivery.h"

namespace exhume::cli {

// Names of columns and which of them are outputs, for a terminal; none where there are no names and the files
// tell.
[[nodiscard]] std::vector<Fact> column_facts(const std::vector<std::string>& inputs,
                                             const std::vector<std::string>& outputs,
                                             const std::vector<Index>& target);

// What all commands that certify say of their delivery. Of several processes only the first writes.
[[nodiscard]] DeliveryOptions delivery_options(const Session& session, const std::string& folder,
                                               std::vector<std::string> more_names = {});

void show_result(const Session& session, const Delivered& delivered, const std::string& verdict,
                 std::vector<Fact> facts, const std::string& folder);

// `more` goes to make_document.
template <class AnyResult, class... More>
int deliver(const Session& session, Delivery& delivery, AnyResult& result, const OpenedSamples& samples,
            const std::string& folder, const More&... more) {
  if (session.leads()) {
    const Delivered delivered = delivery.finish(result, samples, session.control, more...);
    show_result(session, delivered, verdict(result), facts(result), folder);
  }
  return stands(result.certificate.status) ? kOk : kNotCertified;
}

}  // namespace exhume::cli
