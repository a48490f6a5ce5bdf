#include "session/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "exhume/error.h"
#include "io/atomic_file.h"
#include "io/digest.h"
#include "io/open.h"
#include "io/output_folder.h"
#include "report/report.h"
#include "report/view.h"
#include "session/certificate_file.h"

namespace exhume {
namespace {

namespace fs = std::filesystem;

void add_views(Document& document, const PageOptions& options) {
  const char* const names[] = {"network.safetensors", "rectified.safetensors"};
  const auto name = std::find_if(std::begin(names), std::end(names), [&](const char* file) {
    return fs::exists(fs::path(options.folder) / file);
  });
  if (name == std::end(names))
    throw DataError(fmt::format("{} holds no network to compare or to draw", options.folder));
  const StoredModel found = open_model(fs::path(options.folder) / *name);
  if (!options.input_shape.empty()) add_shape(document, found, options.input_shape);
  if (!options.truth.empty())
    add_truth(document, found, open_model(options.truth),
              {"truth", options.truth, sha256_file(options.truth)});
}

}  // namespace

std::string write_page(const PageOptions& options) {
  const bool more = !options.truth.empty() || !options.input_shape.empty();
  const fs::path target = fs::path(options.folder) / (more ? "view.html" : kReportFile);
  settle_folder(options.folder);
  Document document = read_document_in(options.folder);
  if (more) add_views(document, options);
  write_file(target, to_html(document));
  return target.string();
}

}  // namespace exhume
