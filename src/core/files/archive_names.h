// SPDX-License-Identifier: Apache-2.0
//
// What both ends of an archive agree on.
#pragma once

#include <locale.h>

#include <string>
#include <string_view>

namespace agentfs {

// tar knows no sockets: an empty file with this "xattr", whose name no real one can have.
inline constexpr std::string_view kSocketMark = "agentfs.socket";

// The name of an xattr as it stands in a pax header: what cannot be part of a keyword is "%3D"
// there. (libarchive writes it so, as GNU tar does, but gives it back as it stands.)
std::string DecodeXattrName(std::string_view name);

// Whether a symbolic link `name` of a tree leads out of it, by the names alone: nothing is
// followed.
bool LeadsOutside(std::string_view name, std::string_view target);

// libarchive converts names by the thread's locale, whatever the process has set. While this lives,
// the thread has the one given here. Names come through as the bytes that they are when they are
//   written under kWriteLocale: UTF-8 as it is, other bytes marked as such (hdrcharset=BINARY);
//   read under kReadLocale, with libarchive's warning that it cannot convert them. (Under UTF-8 it
//   would compose decomposed characters.)
class ThreadLocale {
 public:
  explicit ThreadLocale(const char* name);
  ~ThreadLocale();
  ThreadLocale(const ThreadLocale&) = delete;
  ThreadLocale& operator=(const ThreadLocale&) = delete;

 private:
  locale_t locale_;
  locale_t before_;
};
inline constexpr const char* kWriteLocale = "C.UTF-8";
inline constexpr const char* kReadLocale = "C";

// Whether a warning of libarchive is only about such a conversion.
bool IsConversionWarning(const char* text);

}  // namespace agentfs
