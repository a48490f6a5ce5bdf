// How a command that certifies ends: its result is written where --out says and shown on the terminal.
#pragma once

#include <string>
#include <vector>

#include "command.h"
#include "session/delivery.h"

namespace exhume::cli {

// Facts for the terminal: the names of the input and output columns, or, of one table without names, the
// numbers of its output columns. None where the files themselves say which is which.
[[nodiscard]] std::vector<Fact> column_facts(const std::vector<std::string>& inputs,
                                             const std::vector<std::string>& outputs,
                                             const std::vector<Index>& target);

// The options that all commands that certify deliver with. Of several processes only the first one writes.
[[nodiscard]] DeliveryOptions delivery_options(const Session& session, const std::string& folder,
                                               std::vector<std::string> more_names = {});

void show_result(const Session& session, const Delivered& delivered, const std::string& verdict,
                 std::vector<Fact> facts, const std::string& folder);

// Writes the result, shows it, and returns the exit code. `more`: further arguments of make_document.
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
