// exhume report: the page again, from the certificate alone.
#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/json.h"
#include "certificate_file.h"
#include "command.h"
#include "exhume/error.h"
#include "io/digest.h"
#include "io/open.h"
#include "io/output_folder.h"
#include "report/view.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

namespace fs = std::filesystem;

class Report final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand("report", "Make report.html again from certificate.json alone");
    app->add_option("folder", folder_, "A folder that a command wrote with --out")->required();
    app->add_option("--truth", truth_, "The network behind the samples: the page compares");
    app->add_option("--shape", shape_,
                    "Rows and columns of the inputs, such as 8x8: the page shows units as images");
    app->footer(
        "With --truth or --shape the page says more than the certificate does. It is written as view.html, "
        "and\n"
        "report.html stays what it is.\n\n"
        "Examples:\n"
        "  exhume report result\n"
        "  exhume report result --truth demo/network.safetensors");
    return app;
  }

  int run(const Session& session) override {
    const bool more = !truth_.empty() || !shape_.empty();
    const fs::path certificate = fs::path(folder_) / "certificate.json",
                   target = fs::path(folder_) / (more ? "view.html" : "report.html");
    settle_folder(folder_);
    const std::string json = read_certificate(certificate);
    std::string html;
    try {
      html = to_html(more ? viewed(json) : json);
    } catch (const DataError& error) {
      throw DataError(fmt::format("{}: {}", certificate.string(), error.what()));
    }
    write_file(target, html);
    if (session.json) {
      put(to_text(Json{{"files", {target.string()}}}) + "\n");
    } else if (!session.quiet) {
      put(fmt::format("{}\n", target.string()));
    }
    return kOk;
  }

 private:
  // The certificate with what the options say.
  [[nodiscard]] std::string viewed(std::string json) const {
    const char* const names[] = {"network.safetensors", "rectified.safetensors"};
    const auto name = std::find_if(std::begin(names), std::end(names),
                                   [&](const char* file) { return fs::exists(fs::path(folder_) / file); });
    if (name == std::end(names))
      throw DataError(fmt::format("{} holds no network to compare or to draw", folder_));
    const StoredModel found = open_model(fs::path(folder_) / *name);
    if (!shape_.empty()) json = with_shape(json, found, parse_shape(shape_));
    if (!truth_.empty())
      json = with_truth(json, found, open_model(truth_), {"truth", truth_, sha256_file(truth_)});
    return json;
  }

  std::string folder_, truth_, shape_;
};

}  // namespace

std::unique_ptr<Command> report_command() { return std::make_unique<Report>(); }

}  // namespace exhume::cli
