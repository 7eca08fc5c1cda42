// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "agentfs/filesystem.h"
#include "subject.h"

namespace agentfs::posix {

// A FileSystem with the part of a kernel that stands above one: paths are walked, symbolic links
// followed, and access modes of open files kept here; everything else is the filesystem's.
std::unique_ptr<Subject> MakeViewSubject(std::shared_ptr<FileSystem> fs);

}  // namespace agentfs::posix
