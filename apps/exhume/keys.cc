// exhume keys: a pair of keys, to sign certificates and to check who did.
#include <fmt/format.h>

#include "base/json.h"
#include "command.h"
#include "io/signature.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

class Keys final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand("keys", "Make a pair of keys for signing certificates");
    app->add_option("--out,-o", name_, "Write NAME.key (private) and NAME.pub (public)")
        ->required()
        ->type_name("NAME");
    app->footer(R"(Ed25519, as OpenSSL writes it. Keep NAME.key to yourself; give NAME.pub to whoever checks
your results.

Examples:
  exhume keys --out mine
  exhume recover x.npy y.npy --out result --sign mine.key
  exhume verify result --key mine.pub)");
    return app;
  }

  int run(const Session& session) override {
    write_new_keys(name_);
    session.show({{"private", name_ + ".key"}, {"public", name_ + ".pub"}}, [&] {
      return fmt::format("Wrote {0}.key (private: sign with it) and {0}.pub (public: check with it).\n",
                         printable(name_));
    });
    return kOk;
  }

 private:
  std::string name_;
};

}  // namespace

std::unique_ptr<Command> keys_command() { return std::make_unique<Keys>(); }

}  // namespace exhume::cli
