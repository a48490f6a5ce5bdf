// The page from a certificate (report/report.h): well-formed whatever the certificate says, and without
// numbers that no browser can draw.
#include "report/report.h"

#include "../tests/markup.h"
#include "certify/certificate_json.h"
#include "target.h"

namespace exhume::fuzz {
namespace {

void report(std::string_view bytes) {
  const std::string text(bytes);
  std::string page;
  if (!accepted([&] { page = to_html(text); })) return;
  const std::string fault = markup_fault(page);
  expect(fault.empty(), fault);
  expect(page.find("<script") == std::string::npos, "a script got into the page");
}

const Registration registration("report", report);

}  // namespace
}  // namespace exhume::fuzz
