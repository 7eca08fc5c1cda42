// SPDX-License-Identifier: Apache-2.0
#include "agentfs/result.h"

#include <system_error>

namespace agentfs {

std::string Error::message() const {
  return text_ && !text_->message.empty() ? text_->message : std::generic_category().message(code_);
}

Error Error::WithContext(std::string_view what) const {
  return Error(code_, std::string(what) + ": " + message(), std::string(remedy()));
}

}  // namespace agentfs
