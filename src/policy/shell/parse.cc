// SPDX-License-Identifier: Apache-2.0
#include "policy/shell/parse.h"

#include "policy/shell/parser.h"

namespace agentfs::shell {
namespace {

// Reading a text once takes a step a byte; what was taken for arithmetic is read again.
constexpr size_t kStepsPerByte = 32;
constexpr size_t kFreeSteps = 4096;

}  // namespace

Parser::Level::Level(Parser& parser) : parser_(parser) {
  if (++parser.state_.depth > kMaxDepth) parser.Fail("it is nested too deeply");
}

Parser::Level::~Level() { --parser_.state_.depth; }

void Parser::Advance(size_t count) {
  if (state_.steps_left < count) return Fail("it takes too many steps");
  state_.steps_left -= count;
  position_ = std::min(position_ + count, text_.size());
}

bool Parser::Take(std::string_view what) {
  if (!LooksAt(what)) return false;
  Advance(what.size());
  return !failed();
}

void Parser::Expect(std::string_view what) {
  if (!Take(what)) Fail("'" + std::string(what) + "' is missing");
}

void Parser::Fail(std::string_view why) {
  if (!failed()) {
    state_.failure = std::string(why) + " at byte " + std::to_string(position_);
  }
  position_ = text_.size();
  pending_.clear();
}

void Parser::GoBack(const Mark& mark) {
  if (failed()) return;
  position_ = mark.position;
  pending_ = mark.pending;
}

Result<Script> ParseScript(std::string_view text) {
  if (text.size() > kMaxTextBytes) return Error(EINVAL, "the script is too long");
  if (text.find('\0') != std::string_view::npos) return Error(EINVAL, "the script has a NUL byte");
  ParseState state;
  state.steps_left = kFreeSteps + kStepsPerByte * text.size();
  Script script = Parser(text, state).ParseAll();
  if (!state.failure.empty()) return Error(EINVAL, "no complete script: " + state.failure);
  return script;
}

}  // namespace agentfs::shell
