# SPDX-License-Identifier: Apache-2.0
"""Prints everything that a directory tree shows, one JSON object a file, sorted by path."""
import hashlib
import json
import os
import stat
import sys


def content(path):
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except PermissionError:
        return "unreadable"


def attributes(path):
    try:
        return {name: os.getxattr(path, name, follow_symlinks=False).hex()
                for name in sorted(os.listxattr(path, follow_symlinks=False))}
    except OSError as error:
        return error.errno


def describe(root, path):
    st = os.lstat(path)
    entry = {"path": os.path.relpath(path, root), "mode": oct(st.st_mode), "links": st.st_nlink,
             "owner": f"{st.st_uid}:{st.st_gid}", "inode": st.st_ino, "changed": st.st_ctime_ns,
             "modified": st.st_mtime_ns, "xattrs": attributes(path)}
    if stat.S_ISREG(st.st_mode):
        entry |= {"size": st.st_size, "content": content(path)}
    elif stat.S_ISLNK(st.st_mode):
        entry |= {"target": os.readlink(path)}
    return entry


def main(root):
    paths = [root]
    for directory, directories, files in os.walk(root):
        if directory == root and ".agentfs" in directories:
            directories.remove(".agentfs")
        paths += [os.path.join(directory, name) for name in directories + files]
    for path in sorted(paths):
        print(json.dumps(describe(root, path)))


main(sys.argv[1])
