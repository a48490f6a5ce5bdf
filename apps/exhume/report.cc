// exhume report: the page again, from the certificate alone.
#include "command.h"
#include "report/view.h"
#include "session/page.h"

namespace exhume::cli {
namespace {

class Report final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand("report", "Make report.html again from certificate.json alone");
    add_folder(*app, "folder", options_.folder, "A folder that a command wrote with --out")->required();
    add_file(*app, "--truth", options_.truth,
             "The network that generated the samples: the page compares with it");
    app->add_option("--shape", shape_,
                    "Rows and columns of the inputs, such as 8x8: the page shows units as images");
    app->footer(
        R"(With --truth or --shape the page shows more than the certificate states. It is then written to
view.html, and report.html is left as it is.

Examples:
  exhume report result
  exhume report result --truth demo/network.safetensors)");
    return app;
  }

  int run(const Session& session) override {
    if (!shape_.empty()) options_.input_shape = parse_shape(shape_);
    const std::string page = write_page(options_);
    session.show({{"files", {page}}}, [&] { return page + "\n"; });
    return kOk;
  }

 private:
  PageOptions options_;
  std::string shape_;
};

}  // namespace

std::unique_ptr<Command> report_command() { return std::make_unique<Report>(); }

}  // namespace exhume::cli
