#include "sample_arguments.h"

#include <algorithm>

namespace exhume::cli {

void SampleArguments::declare(CLI::App& app, const std::string& text, int least) {
  CLI::Option* option = add_file(app, "samples", paths_, text)->expected(least, 2);
  if (least > 0) option->required();
}

void SampleArguments::declare_target(CLI::App& app) {
  target_option_ = app.add_option(
      "--target", target_,
      "Of one table: the columns that are outputs, y or y1,y2, by name or, without a header, by number "
      "from 1 [the last]");
}

SampleFiles SampleArguments::files() const {
  SampleFiles files{paths_, {}, input_ ? input_->path() : ""};
  if (target_option_ != nullptr && target_option_->count() > 0) files.target = parse_target(target_);
  return files;
}

void SampleArguments::check() const { check_sample_files(files()); }

OpenedSamples SampleArguments::open(const Control& control) {
  if (std::find(paths_.begin(), paths_.end(), "-") != paths_.end() && !input_) input_.emplace(control);
  return open_sample_files(files(), control);
}

}  // namespace exhume::cli
