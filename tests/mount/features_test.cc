// SPDX-License-Identifier: Apache-2.0
//
// What the kernel does not offer must cost speed only: the same work with each feature left out.
#include <sys/xattr.h>

#include "mount_test.h"

namespace agentfs::posix {
namespace {

using fuse::Feature;
using fuse::Features;

// What to do without; kInitExt stands for all.
class FeaturesTest : public MountTest, public testing::WithParamInterface<Feature> {
 protected:
  void StartWithout(Feature feature) {
    MountRigOptions options;
    fuse::Wanted& wanted = options.serve.wanted;
    wanted.features = feature == Feature::kInitExt ? Features() : wanted.features.Without(feature);
    Start(Base::kYes, std::move(options));
  }
};

TEST_P(FeaturesTest, WorkIsTheSameWithout) {
  WriteHostFile(base("b"), Pattern(200'000));
  StartWithout(GetParam());
  EXPECT_FALSE(rig().mount().capabilities().Has(GetParam()));
  Write("f", Pattern(3'000'000, 2));
  EXPECT_EQ(Read("f"), Pattern(3'000'000, 2));
  EXPECT_EQ(Read("b"), Pattern(200'000));
  {
    const File reader(path("b"), O_RDONLY);
    const File writer(path("b"), O_WRONLY);
    ASSERT_EQ(::pwrite(writer.fd(), "here", 4, 150'000), 4);
    EXPECT_EQ(reader.ReadAll().substr(150'000, 4), "here");
  }
  EXPECT_EQ(Run("umask 027; mkdir d; touch d/f; stat -c %a d d/f"), "750\n640\n");
  EXPECT_EQ(Run("ls d; touch d/g; ls d; rm d/f; ls d"), "f\nf\ng\ng\n");
  EXPECT_EQ(Run("echo longer > t; echo x > t; cat t; ln -s t l; cat l; mv t u; cat u"),
            "x\nx\nx\n");
  ASSERT_EQ(::setxattr(path("u").c_str(), "user.a", "value", 5, 0), 0) << ErrnoName(errno);
  char value[8];
  EXPECT_EQ(::getxattr(path("u").c_str(), "user.a", value, sizeof value), 5);
  // A write by an ordinary user takes the set-user-id bit away.
  Run("echo x > s; chown 1001 s; chmod 4755 s; setpriv --reuid=1001 --clear-groups "
      "sh -c 'echo more >> s'");
  EXPECT_EQ(Run("stat -c %a s"), "755\n");
  EXPECT_EQ(Run("mkdir open; chmod 777 open; cd open; setpriv --reuid=1001 --regid=1001 "
                "--clear-groups sh -c 'umask 022; touch mine'; stat -c '%u %g %a' mine"),
            "1001 1001 644\n");
}

INSTANTIATE_TEST_SUITE_P(Each, FeaturesTest,
                         testing::Values(Feature::kAsyncRead, Feature::kDontMask,
                                         Feature::kReaddirplus, Feature::kReaddirplusAuto,
                                         Feature::kNoOpen, Feature::kParallelDirectories,
                                         Feature::kPosixAcl, Feature::kMaxPages,
                                         Feature::kCacheSymlinks, Feature::kNoOpendir,
                                         Feature::kHandleKillpriv2, Feature::kSetxattrExt,
                                         Feature::kInitExt, Feature::kOverIoUring),
                         [](const auto& info) {
                           std::string name(fuse::NameOf(info.param));
                           std::erase_if(name, [](char c) { return !std::isalnum(c); });
                           return name;
                         });

}  // namespace
}  // namespace agentfs::posix
