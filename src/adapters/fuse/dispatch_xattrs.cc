// SPDX-License-Identifier: Apache-2.0
#include <sys/xattr.h>

#include <cstring>
#include <string>

#include "adapters/fuse/dispatcher.h"
#include "adapters/fuse/wire.h"

namespace agentfs::fuse {
namespace {

// The arguments of SETXATTR are shorter unless FUSE_SETXATTR_EXT was agreed on.
constexpr size_t kShortSetXattr = 8;

constexpr std::string_view kAccessList = "system.posix_acl_access";

}  // namespace

// `asked` 0: only the size. The list of names and the value are asked for alike.
static Result<size_t> AnswerBytes(Exchange& exchange, std::string_view bytes, size_t asked) {
  if (asked == 0) {
    fuse_getxattr_out out{};
    out.size = static_cast<uint32_t>(bytes.size());
    std::memcpy(exchange.space().data(), &out, sizeof out);
    return sizeof out;
  }
  if (bytes.size() > asked || bytes.size() > exchange.space().size()) return Error(ERANGE);
  std::memcpy(exchange.space().data(), bytes.data(), bytes.size());
  return bytes.size();
}

Dispatcher::Answer Dispatcher::GetXattr(Request& request) {
  const auto in = request.Arguments<fuse_getxattr_in>();
  std::span<const char> payload = request.exchange.Payload(sizeof in);
  const std::string_view name = TakeName(payload);
  AGENTFS_ASSIGN(const std::string value,
                 request.fs().GetXattr(CallerOf(request), request.node(), name));
  return AnswerBytes(request.exchange, value, in.size);
}

Dispatcher::Answer Dispatcher::SetXattr(Request& request) {
  const auto in = request.Arguments<fuse_setxattr_in>();
  const bool extended = capabilities_.Has(Feature::kSetxattrExt);
  std::span<const char> payload = request.exchange.Payload(extended ? sizeof in : kShortSetXattr);
  const std::string_view name = TakeName(payload);
  if (in.size > payload.size()) return Error(EINVAL);
  const XattrMode mode = (in.flags & XATTR_CREATE) != 0    ? XattrMode::kCreate
                         : (in.flags & XATTR_REPLACE) != 0 ? XattrMode::kReplace
                                                           : XattrMode::kSet;
  const Caller caller = CallerOf(request);
  // New and there already: never so, and the value tells which of the two it is not.
  if (mode == XattrMode::kCreate && (in.flags & XATTR_REPLACE) != 0) {
    AGENTFS_TRY(request.fs().GetXattr(caller, request.node(), name));
    return Error(EEXIST);
  }
  AGENTFS_TRY(request.fs().SetXattr(caller, request.node(), name,
                                    std::string_view(payload.data(), in.size), mode));
  // The kernel says it with default lists too, which are none of the directory's own mode.
  if (extended && (in.setxattr_flags & FUSE_SETXATTR_ACL_KILL_SGID) != 0 && name == kAccessList) {
    AGENTFS_ASSIGN(const Attr attr, request.fs().GetAttr(request.node()));
    AttrChange change;
    change.mode = attr.mode & 05777;
    AGENTFS_TRY(request.fs().SetAttr(caller, request.node(), change));
  }
  return size_t{0};
}

Dispatcher::Answer Dispatcher::ListXattrs(Request& request) {
  const auto in = request.Arguments<fuse_getxattr_in>();
  AGENTFS_ASSIGN(const auto names, request.fs().ListXattrs(CallerOf(request), request.node()));
  std::string list;
  for (const std::string& name : names) list.append(name).push_back('\0');
  return AnswerBytes(request.exchange, list, in.size);
}

Dispatcher::Answer Dispatcher::RemoveXattr(Request& request) {
  std::span<const char> payload = request.exchange.Payload(0);
  AGENTFS_TRY(request.fs().RemoveXattr(CallerOf(request), request.node(), TakeName(payload)));
  return size_t{0};
}

}  // namespace agentfs::fuse
