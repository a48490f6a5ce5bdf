// The checks of a verdict: every one is recorded, the first required one that fails gives the reason.
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "exhume/certificate.h"

namespace exhume::checks_test {
namespace {

TEST(Checks, AllThatIsRequiredHolds) {
  Checks checks;
  EXPECT_TRUE(checks.require("first", 1, 2, true, "first failed"));
  EXPECT_TRUE(checks.require("second", 3, 4, true, "second failed"));
  EXPECT_TRUE(checks.all_hold());
  Certificate certificate;
  std::move(checks).conclude(certificate, "everything holds");
  EXPECT_EQ(certificate.status, Status::kCertified);
  EXPECT_EQ(certificate.reason, "everything holds");
}

TEST(Checks, TheFirstThatFailsGivesTheReason) {
  Checks checks;
  EXPECT_TRUE(checks.require("one", 0, 1, true, "one failed"));
  EXPECT_FALSE(checks.require("two", 2, 1, false, "two failed"));
  EXPECT_FALSE(checks.all_hold());
  EXPECT_TRUE(checks.require("three", 0, 1, true, "three failed"));
  EXPECT_FALSE(checks.require("four", 2, 1, false, "four failed"));
  EXPECT_FALSE(checks.all_hold()) << "a check that holds does not make good for one that failed";
  Certificate certificate;
  certificate.status = Status::kCertified;
  certificate.reason = "an earlier one";
  std::move(checks).conclude(certificate, "praise");
  EXPECT_EQ(certificate.status, Status::kUncertified);
  EXPECT_EQ(certificate.reason, "two failed");
}

TEST(Checks, NotesDecideNothing) {
  Checks checks;
  EXPECT_FALSE(checks.note("a note", 5, 1, false));
  EXPECT_TRUE(checks.note("another", 0, 1, true));
  EXPECT_TRUE(checks.all_hold());
  Certificate certificate;
  std::move(checks).conclude(certificate, "praise");
  EXPECT_EQ(certificate.status, Status::kCertified);
  EXPECT_EQ(certificate.reason, "praise");
}

TEST(Checks, AreRecordedInOrderBehindThoseThatAreThere) {
  Certificate certificate;
  certificate.assumptions.push_back({"looked at before", 7, 8, true, false});
  Checks checks;
  (void)checks.note("noted", 1.5, 2.5, false);
  (void)checks.require("required", 3.5, 4.5, true, "no");
  (void)checks.require("failed", std::numeric_limits<double>::infinity(), 5.5, false, "yes");
  std::move(checks).conclude(certificate, "praise");
  ASSERT_EQ(certificate.assumptions.size(), 4U);
  const Assumption expected[] = {{"looked at before", 7, 8, true, false},
                                 {"noted", 1.5, 2.5, false, false},
                                 {"required", 3.5, 4.5, true, true},
                                 {"failed", std::numeric_limits<double>::infinity(), 5.5, false, true}};
  for (size_t i = 0; i < 4; ++i) {
    const Assumption& found = certificate.assumptions[i];
    EXPECT_EQ(found.name, expected[i].name);
    EXPECT_EQ(found.value, expected[i].value);
    EXPECT_EQ(found.threshold, expected[i].threshold);
    EXPECT_EQ(found.holds, expected[i].holds);
    EXPECT_EQ(found.required, expected[i].required);
  }
}

TEST(Checks, WithoutAnyTheCertificateIsGiven) {
  Certificate certificate;
  Checks().conclude(certificate, "nothing was asked");
  EXPECT_EQ(certificate.status, Status::kCertified);
  EXPECT_EQ(certificate.reason, "nothing was asked");
  EXPECT_TRUE(certificate.assumptions.empty());
}

TEST(Checks, WhoAsksFirstHasTheSay) {
  Checks checks;
  EXPECT_FALSE(checks.require("rows reproduced", 2, 1, false, "the route's words"));
  EXPECT_FALSE(checks.require("rows reproduced", 2, 1, false, "words for everyone"));
  Certificate certificate;
  std::move(checks).conclude(certificate, "fine");
  EXPECT_EQ(certificate.reason, "the route's words");
  EXPECT_EQ(certificate.assumptions.size(), 1u);
}

// It was once so: whether a check failed is read off the reason, and a reason may be empty.
TEST(Checks, AFailureWithoutWordsIsAFailure) {
  Checks checks;
  EXPECT_FALSE(checks.require("silent", 2, 1, false, ""));
  EXPECT_FALSE(checks.all_hold());
  Certificate certificate;
  std::move(checks).conclude(certificate, "praise");
  EXPECT_EQ(certificate.status, Status::kUncertified);
}

TEST(Status, HasAWordForEveryValue) {
  EXPECT_STREQ(to_string(Status::kCertified), "certified");
  EXPECT_STREQ(to_string(Status::kUncertified), "uncertified");
  EXPECT_STREQ(to_string(Status::kRefused), "refused");
}

}  // namespace
}  // namespace exhume::checks_test
