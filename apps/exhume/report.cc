// exhume report: the page again, from the certificate alone.
#include "exhume/report/report.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/json.h"
#include "certificate_file.h"
#include "command.h"
#include "exhume/base/error.h"
#include "exhume/io/output_folder.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

namespace fs = std::filesystem;

class Report final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand("report", "Make report.html again from certificate.json alone");
    app->add_option("folder", folder_, "A folder that a command wrote with --out")->required();
    app->footer("Examples:\n  exhume report result");
    return app;
  }

  int run(const Session& session) override {
    const fs::path certificate = fs::path(folder_) / "certificate.json",
                   target = fs::path(folder_) / "report.html";
    settle_folder(folder_);
    const std::string json = read_certificate(certificate);
    std::string html;
    try {
      html = to_html(json);
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
  std::string folder_;
};

}  // namespace

std::unique_ptr<Command> report_command() { return std::make_unique<Report>(); }

}  // namespace exhume::cli
