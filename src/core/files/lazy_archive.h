// SPDX-License-Identifier: Apache-2.0
//
// The functions of libarchive that we call; it is loaded when it is needed.
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include "sys/lazy_library.h"

namespace agentfs {

inline LazyLibrary archive_library(AGENTFS_LIBARCHIVE);

AGENTFS_LAZY(archive_library, archive_entry_atime);
AGENTFS_LAZY(archive_library, archive_entry_atime_is_set);
AGENTFS_LAZY(archive_library, archive_entry_atime_nsec);
AGENTFS_LAZY(archive_library, archive_entry_copy_hardlink);
AGENTFS_LAZY(archive_library, archive_entry_copy_pathname);
AGENTFS_LAZY(archive_library, archive_entry_copy_symlink);
AGENTFS_LAZY(archive_library, archive_entry_filetype);
AGENTFS_LAZY(archive_library, archive_entry_free);
AGENTFS_LAZY(archive_library, archive_entry_gid);
AGENTFS_LAZY(archive_library, archive_entry_hardlink);
AGENTFS_LAZY(archive_library, archive_entry_mode);
AGENTFS_LAZY(archive_library, archive_entry_mtime);
AGENTFS_LAZY(archive_library, archive_entry_mtime_is_set);
AGENTFS_LAZY(archive_library, archive_entry_mtime_nsec);
AGENTFS_LAZY(archive_library, archive_entry_new2);
AGENTFS_LAZY(archive_library, archive_entry_pathname);
AGENTFS_LAZY(archive_library, archive_entry_rdevmajor);
AGENTFS_LAZY(archive_library, archive_entry_rdevminor);
AGENTFS_LAZY(archive_library, archive_entry_set_atime);
AGENTFS_LAZY(archive_library, archive_entry_set_filetype);
AGENTFS_LAZY(archive_library, archive_entry_set_gid);
AGENTFS_LAZY(archive_library, archive_entry_set_mode);
AGENTFS_LAZY(archive_library, archive_entry_set_mtime);
AGENTFS_LAZY(archive_library, archive_entry_set_rdevmajor);
AGENTFS_LAZY(archive_library, archive_entry_set_rdevminor);
AGENTFS_LAZY(archive_library, archive_entry_set_size);
AGENTFS_LAZY(archive_library, archive_entry_set_uid);
AGENTFS_LAZY(archive_library, archive_entry_size);
AGENTFS_LAZY(archive_library, archive_entry_sparse_add_entry);
AGENTFS_LAZY(archive_library, archive_entry_symlink);
AGENTFS_LAZY(archive_library, archive_entry_uid);
AGENTFS_LAZY(archive_library, archive_entry_xattr_add_entry);
AGENTFS_LAZY(archive_library, archive_entry_xattr_next);
AGENTFS_LAZY(archive_library, archive_entry_xattr_reset);
AGENTFS_LAZY(archive_library, archive_error_string);
AGENTFS_LAZY(archive_library, archive_read_data_block);
AGENTFS_LAZY(archive_library, archive_read_free);
AGENTFS_LAZY(archive_library, archive_read_new);
AGENTFS_LAZY(archive_library, archive_read_next_header);
AGENTFS_LAZY(archive_library, archive_read_open);
AGENTFS_LAZY(archive_library, archive_read_support_format_tar);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wignored-attributes"
AGENTFS_LAZY(archive_library, archive_set_error);
#pragma GCC diagnostic pop
AGENTFS_LAZY(archive_library, archive_write_close);
AGENTFS_LAZY(archive_library, archive_write_data);
AGENTFS_LAZY(archive_library, archive_write_free);
AGENTFS_LAZY(archive_library, archive_write_header);
AGENTFS_LAZY(archive_library, archive_write_new);
AGENTFS_LAZY(archive_library, archive_write_open);
AGENTFS_LAZY(archive_library, archive_write_set_format_pax);
AGENTFS_LAZY(archive_library, archive_write_set_options);

}  // namespace agentfs
