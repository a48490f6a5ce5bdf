// What commands do, called as functions: no program, no flags.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "exhume/compare.h"
#include "exhume/error.h"
#include "exhume/files.h"
#include "exhume/inspect.h"
#include "exhume/verify.h"
#include "refusal.h"
#include "session/certificate_file.h"
#include "session/documents.h"
#include "session/generate.h"
#include "session/machines/site_sums.h"
#include "session/overwrite.h"
#include "session/page.h"
#include "session/recover.h"

namespace exhume::session_test {
namespace {

namespace fs = std::filesystem;

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) / (std::string("exhume_session_") + test->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~SessionTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // Samples of a small network in the folder "made".
  [[nodiscard]] OpenedSamples made(Index samples = 2000) {
    GenerateOptions options;
    options.inputs = 4;
    options.hidden = 3;
    options.outputs = 3;
    options.samples = samples;
    write_generated(generate(options), path("made"), false);
    return open_sample_files({path("made/x.npy"), path("made/y.npy")}, {});
  }

  [[nodiscard]] Recovered recovered(const OpenedSamples& samples, RecoverJob job = {}) {
    job.delivery.folder = path("result");
    return RecoverSession(std::move(job), {}).run(samples, {});
  }

 private:
  fs::path folder_;
};

TEST_F(SessionTest, WhatIsDeliveredIsVerifiedAndWhatIsChangedIsNot) {
  const Recovered found = recovered(made());
  ASSERT_EQ(found.result.certificate.status, Status::kCertified) << found.result.certificate.reason;
  EXPECT_EQ(to_text(found.delivered.document), read_small_file(path("result/certificate.json")));

  const VerifyResult good = verify({.model = path("result")});
  EXPECT_TRUE(good.verified);
  EXPECT_EQ(good.status, "certified");
  ASSERT_TRUE(good.rows);
  EXPECT_EQ(good.rows->rows, 2000);
  EXPECT_EQ(to_document(good)["verified"], true);

  EXPECT_EQ(compare(path("made/network.safetensors"), path("result/network.safetensors")).verdict,
            CompareVerdict::kSameNetwork);

  std::ofstream(path("result/report.html"), std::ios::app) << " ";
  const VerifyResult changed = verify({.model = path("result")});
  EXPECT_FALSE(changed.agrees);
  EXPECT_EQ(write_page({.folder = path("result")}), path("result/report.html"));
  EXPECT_TRUE(verify({.model = path("result")}).verified);
}

TEST_F(SessionTest, ACertificateReadBackIsTheOneThatWasWritten) {
  const Recovered found = recovered(made());
  const Document read = read_document_in(path("result"));
  const Certificate &stated = read.certificate, &written = found.result.certificate;
  EXPECT_TRUE(read.sealed);
  EXPECT_EQ(read.kind, "network");
  EXPECT_EQ(stated.status, written.status);
  EXPECT_EQ(stated.route, written.route);
  EXPECT_EQ(stated.rows, written.rows);
  EXPECT_EQ(stated.held_out, written.held_out);
  EXPECT_EQ(stated.held_out_period, written.held_out_period);
  EXPECT_EQ(stated.assumptions.size(), written.assumptions.size());
  EXPECT_EQ(stated.options, written.options);
  ASSERT_EQ(stated.written.size(), 2u);
  EXPECT_EQ(stated.written[0].path, "network.safetensors");
}

TEST_F(SessionTest, ForeignFilesAreNotLost) {
  const OpenedSamples samples = made();
  fs::create_directories(path("result"));
  std::ofstream(path("result/network.safetensors")) << "mine";
  expect_refused<WouldOverwrite>([&] { (void)recovered(samples); }, {"network.safetensors", "would be lost"});
  RecoverJob job;
  job.delivery.overwrite = true;
  (void)recovered(samples, job);
  EXPECT_TRUE(verify({.model = path("result")}).verified);
}

TEST_F(SessionTest, SumsOfSitesPolishANetwork) {
  const OpenedSamples samples = made();
  Network rough = open_network(path("made/network.safetensors"));
  rough.b()(0) += 1e-3;
  save_network(path("rough.safetensors"), rough);
  const SiteFile before = write_sums(path("rough.safetensors"), samples.samples, path("one"), false);
  EXPECT_GT(before.relative_mse, 1e-9);
  expect_refused<WouldOverwrite>(
      [&] { (void)write_sums(path("rough.safetensors"), samples.samples, path("one"), false); },
      {"one.sums"});
  (void)write_step(path("rough.safetensors"), {before.path}, path("next.safetensors"), 1e-4, false);
  const SiteFile after = write_sums(path("next.safetensors"), samples.samples, path("two"), false);
  EXPECT_LT(after.relative_mse, 1e-2 * before.relative_mse);
  expect_refused<std::invalid_argument>([&] { save_network(path("next.txt"), rough); }, {"next.txt"});
}

TEST_F(SessionTest, OptionsOfGenerateThatDoNotGoTogetherAreRefusedByName) {
  GenerateOptions options;
  options.samples = 10;
  options.inputs = 2;
  options.outputs = 1;
  expect_refused<std::invalid_argument>([&] { (void)generate(options); }, {"hidden is required"});
  options.hidden = 2;
  options.layers = {2, 2};
  expect_refused<std::invalid_argument>([&] { (void)generate(options); }, {"layers and hidden"});
  options.hidden.reset();
  options.leak = 0.1;
  expect_refused<std::invalid_argument>([&] { (void)generate(options); }, {"leak", "layers"});
}

TEST_F(SessionTest, InspectNamesColumns) {
  const RowMatrix x = RowMatrix::Random(300, 2);
  RowMatrix counted(300, 3);
  counted.leftCols(2) = x;
  for (Index i = 0; i < counted.rows(); ++i) counted(i, 2) = static_cast<double>(i);
  const Outlook found =
      inspect(memory_samples(counted, x.col(0).cwiseMax(0)), {"age", "size", "number"}, {"cost"});
  bool named = false;
  for (const std::string& words : found.advice) named = named || words.find("'number'") != std::string::npos;
  EXPECT_TRUE(named);
}

TEST_F(SessionTest, ARunThatIsToGoOnNeedsACheckpoint) {
  const OpenedSamples samples = made();
  RecoverJob job;
  job.checkpoint.resume = true;
  expect_refused<std::invalid_argument>([&] { (void)recovered(samples, job); }, {"checkpoint"});
  job.checkpoint.folder = path("kept");
  std::vector<std::string> notes;
  job.delivery.folder = path("result");
  (void)RecoverSession(job, {}).run(samples, [&](const std::string& words) { notes.push_back(words); });
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0], "there is no checkpoint to go on from: starting anew");
  EXPECT_FALSE(fs::exists(path("kept")));
}

}  // namespace
}  // namespace exhume::session_test
