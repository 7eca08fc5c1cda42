// SPDX-License-Identifier: Apache-2.0
//
// Real programs on a mount, over a base that has files already.
#include "mount_test.h"

namespace agentfs::posix {
namespace {

class ProgramsTest : public MountTest {
 protected:
  void SetUp() override {
    MountTest::SetUp();
    if (IsSkipped()) return;
    store_ = StoreKind::kSqlite;
  }
  static bool Has(const std::string& program) {
    return Shell("/", "command -v " + program).status == 0;
  }
  void StartOverSources() {
    Shell(base(""),
          "mkdir src; for i in $(seq 60); do echo \"int f$i(void) { return $i; }\" > "
          "src/f$i.c; done; printf 'all: app\\napp: $(patsubst %%.c,%%.o,$(wildcard "
          "src/*.c)) main.o\\n\\tcc -o $@ $^\\n' > Makefile; "
          "echo 'int f7(void); int main(void) { return f7(); }' > main.c");
    Start(Base::kYes);
  }
};

#define NEEDS(program) \
  if (!Has(program)) GTEST_SKIP() << program << " is not installed here"

const char kIdentity[] =
    "export HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b "
    "GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; git() { command git -c safe.directory='*' "
    "\"$@\"; }; ";

TEST_F(ProgramsTest, Git) {
  NEEDS("git");
  StartOverSources();
  Run(std::string(kIdentity) +
      "set -e; git init -q -b main .; git add .; git commit -qm one; echo x >> main.c; "
      "git commit -qam two; git checkout -qb side HEAD~1; echo y > side.txt; git add .; "
      "git commit -qm three; git rebase -q main; git checkout -q main; git merge -q side; "
      "git worktree add -q wt side; git gc -q; git fsck --strict");
  EXPECT_EQ(Run(std::string(kIdentity) +
                "git status --porcelain | grep -v wt; git log --oneline | wc -l"),
            "3\n");
  Run(std::string(kIdentity) +
      "git clone -q . clone && cd clone && git fsck --strict && "
      "cmp main.c ../main.c");
  Remount();
  Run(std::string(kIdentity) + "git fsck --strict; git status");
}

TEST_F(ProgramsTest, Make) {
  NEEDS("make");
  NEEDS("cc");
  StartOverSources();
  ::unsetenv("MAKELEVEL");  // the tests may have been started by a make
  ::unsetenv("MAKEFLAGS");
  Run("make -s -j4");
  EXPECT_EQ(Shell(path(), "./app").status, 7);
  EXPECT_EQ(Run("make"), "make: Nothing to be done for 'all'.\n");
  Run("touch src/f1.c; make -q; test $? = 1");
  EXPECT_EQ(Shell(base(""), "ls").output, "Makefile\nmain.c\nsrc\n");
}

TEST_F(ProgramsTest, TarAndRsync) {
  NEEDS("tar");
  NEEDS("rsync");
  StartOverSources();
  Run("mkdir out && tar cf - src | tar xf - -C out && diff -r src out/src");
  Run("rsync -a src/ copy/ && diff -r src copy && echo new > src/new.c && rm src/f1.c && "
      "rsync -a --delete src/ copy/ && diff -r src copy");
  EXPECT_EQ(Run("rsync -ai --delete src/ copy/"), "");
  Run("tar cf all.tar --exclude all.tar . && tar df all.tar && ! tar tf all.tar | grep agentfs");
}

TEST_F(ProgramsTest, SqliteWithConcurrentWriters) {
  NEEDS("sqlite3");
  Start(Base::kYes);
  Run("sqlite3 t.db 'pragma journal_mode=wal; create table t(a integer, b text);' >/dev/null; "
      "for w in 1 2 3; do (for i in $(seq 20); do sqlite3 -cmd '.timeout 20000' t.db "
      "\"insert into t values($i, 'writer $w')\" || echo failed; done) & done; wait");
  EXPECT_EQ(Run("sqlite3 t.db 'select count(*), count(distinct b) from t; pragma integrity_check'"),
            "60|3\nok\n");
  Run("sqlite3 r.db 'pragma journal_mode=delete; create table t(a);' >/dev/null; "
      "for i in $(seq 20); do sqlite3 r.db \"begin; insert into t values($i); commit\"; done");
  EXPECT_EQ(Run("sqlite3 r.db 'select sum(a) from t'"), "210\n");
}

TEST_F(ProgramsTest, AtomicSavesOfEditors) {
  WriteHostFile(base("text"), "before\n");
  Start(Base::kYes);
  const File reader(path("text"), O_RDONLY);
  // Write beside it, sync, rename over it; and vim's way, with a backup.
  Run("echo one > .text.tmp && sync .text.tmp && mv .text.tmp text && cat text");
  Run("mv text text~ && echo two > text && chmod --reference=text~ text && rm text~");
  EXPECT_EQ(Read("text"), "two\n");
  EXPECT_EQ(reader.ReadAll(), "before\n");
  EXPECT_EQ(ReadHostFile(base("text")), "before\n");
  if (Has("vim")) {
    Run("vim -u NONE -es -c 'normal Othree' -c 'wq' text </dev/null; true");
    EXPECT_EQ(Read("text"), "three\ntwo\n");
  }
}

TEST_F(ProgramsTest, PythonsMultiprocessing) {
  NEEDS("python3");
  Start(Base::kYes);
  Write("job.py",
        "import multiprocessing, os\n"
        "def work(i):\n"
        "    with open(f'out-{i}', 'w') as f: f.write(str(i) * 1000)\n"
        "    os.rename(f'out-{i}', f'done-{i}')\n"
        "    return len(open(f'done-{i}').read())\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.Pool(4) as pool: print(sum(pool.map(work, range(10))))\n");
  EXPECT_EQ(Run("python3 job.py; ls | grep -c done"), "10000\n10\n");
}

}  // namespace
}  // namespace agentfs::posix
