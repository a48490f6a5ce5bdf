// Several files into one folder, and a program that is killed at any system call: all old files or all new.
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>

#include "exhume/error.h"
#include "io/commit_journal.h"
#include "io/output_folder.h"
#include "refusal.h"
#include "temp_dir.h"

namespace exhume::io_commit_test {
namespace {

using Files = std::map<std::string, std::string>;  // name and content

Files files_in(const std::filesystem::path& folder) {
  Files files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    files[entry.path().filename().string()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return files;
}

const Files kOld = {{"certificate", "old"}, {"network", "old"}, {"support", "old"}, {"mine", "untouched"}};
const Files kNew = {{"certificate", "new"}, {"network", "new"}, {"mine", "untouched"}};

void commit_new(const std::filesystem::path& folder) {
  OutputFolder out(folder);
  out.add("network", "new");
  out.add("certificate", "new");
  out.replace("support");
  out.commit();
}

enum class Ended { kKilled, kDone, kNotAllowed };

// Runs `task` in a process of its own that is killed at its stop number `when`; a system call stops it twice.
Ended kill_at(int when, const std::function<void()>& task) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(2);
    raise(SIGSTOP);
    task();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  for (int stop = 0; WIFSTOPPED(status) && stop < when; ++stop) {
    ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    waitpid(child, &status, 0);
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status) == 0 ? Ended::kDone : Ended::kNotAllowed;
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return Ended::kKilled;
}

TEST(IoCommit, KilledAtAnySystemCall) {
  int old_kept = 0, new_come = 0;
  for (int when = 1;; ++when) {
    const TempDir dir;
    for (const auto& [name, content] : kOld) dir.put(name, content);
    const Ended ended = kill_at(when, [&] { commit_new(dir.path()); });
    if (ended == Ended::kNotAllowed) GTEST_SKIP() << "no process may be traced here";
    ASSERT_LT(when, 10000);
    settle_folder(dir.path());
    Files found = files_in(dir.path());
    std::erase_if(found, [](const auto& f) { return f.first.ends_with(".part"); });
    ASSERT_TRUE(found == kOld || found == kNew) << "killed at stop " << when;
    (found == kOld ? old_kept : new_come)++;
    commit_new(dir.path());
    ASSERT_EQ(files_in(dir.path()), kNew) << "something was left after a kill at stop " << when;
    if (ended == Ended::kDone) break;
  }
  EXPECT_GT(old_kept, 10);
  EXPECT_GT(new_come, 10) << "no kill fell between the renames";
}

TEST(IoCommit, LeftoversAreRemovedButNotThoseInUse) {
  const TempDir dir;
  dir.put("a.123-0.part", "left");
  dir.put("a.b-0.part", "another's");
  dir.put("b.123-0.part", "of another file");
  AtomicFile first(dir / "a");
  AtomicFile second(dir / "a");
  EXPECT_EQ(dir.entries(), 4u) << "two others' and two temporaries";
  EXPECT_FALSE(std::filesystem::exists(dir / "a.123-0.part"));
  first.write("1");
  first.commit();
  second.write("2");
  second.commit();
  EXPECT_EQ(files_in(dir.path()),
            (Files{{"a", "2"}, {"a.b-0.part", "another's"}, {"b.123-0.part", "of another file"}}));
}

TEST(IoCommit, AJournalThatNamesOtherPlacesIsNotFollowed) {
  const TempDir dir;
  const std::filesystem::path folder = dir / "folder";
  std::filesystem::create_directory(folder);
  dir.put("victim", "here");
  write_journal(folder, {.remove = {"../victim"}, .rename = {}});
  settle_folder(folder);
  EXPECT_EQ(dir.get("victim"), "here");
  write_journal(folder, {.remove = {}, .rename = {{"../victim", "stolen"}}});
  settle_folder(folder);
  EXPECT_EQ(dir.get("victim"), "here");
  commit_new(folder);  // and it does not stand in anyone's way
  EXPECT_EQ(files_in(folder), (Files{{"certificate", "new"}, {"network", "new"}}));
}

TEST(IoCommit, AJournalThatCameWithTheFolderIsNotFollowed) {
  // As an archive brings it: the journal of another folder, beside files of the user with the names in it.
  const TempDir made, dir;
  made.put("notes", "bait");
  made.put("thesis.1-1.part", "another's");
  write_journal(made.path(), {.remove = {"notes"}, .rename = {{"thesis.1-1.part", "thesis"}}});
  for (const auto& [name, content] : files_in(made.path())) dir.put(name, content);
  dir.put("notes", "mine");
  dir.put("thesis", "mine");
  settle_folder(dir.path());
  EXPECT_EQ(dir.get("notes"), "mine");
  EXPECT_EQ(dir.get("thesis"), "mine");
  commit_new(dir.path());
  EXPECT_EQ(dir.get("notes"), "mine");
  EXPECT_EQ(dir.get("thesis"), "mine");
  EXPECT_EQ(dir.get("network"), "new");
}

TEST(IoCommit, TwoAtOnceComeOneAfterTheOther) {
  const TempDir dir;
  const auto child = [&](const std::string& content) {
    const pid_t id = fork();
    if (id == 0) {
      for (int i = 0; i < 100; ++i) {
        OutputFolder out(dir / "out");
        for (const char* name : {"a", "b", "c", "d"}) out.add(name, content);
        out.commit();
      }
      _exit(0);
    }
    return id;
  };
  const pid_t one = child("one"), two = child("two");
  for (const pid_t id : {one, two}) {
    int status = 0;
    waitpid(id, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  const Files found = files_in(dir / "out");
  ASSERT_EQ(found.size(), 4u);
  for (const auto& [name, content] : found) EXPECT_EQ(content, found.begin()->second) << name;
}

}  // namespace
}  // namespace exhume::io_commit_test
