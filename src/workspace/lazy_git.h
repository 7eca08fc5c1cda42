// SPDX-License-Identifier: Apache-2.0
//
// The functions of libgit2 that we call; it is loaded when it is needed.
#pragma once

#include <git2.h>

#include "sys/lazy_library.h"

namespace agentfs {

inline LazyLibrary git_library(AGENTFS_LIBGIT2);

AGENTFS_LAZY(git_library, git_error_last);
AGENTFS_LAZY(git_library, git_index_entrycount);
AGENTFS_LAZY(git_library, git_index_free);
AGENTFS_LAZY(git_library, git_index_get_byindex);
AGENTFS_LAZY(git_library, git_index_open);
AGENTFS_LAZY(git_library, git_libgit2_init);
AGENTFS_LAZY(git_library, git_merge_file);
AGENTFS_LAZY(git_library, git_merge_file_result_free);
AGENTFS_LAZY(git_library, git_patch_free);
AGENTFS_LAZY(git_library, git_patch_from_buffers);
AGENTFS_LAZY(git_library, git_patch_print);

}  // namespace agentfs
