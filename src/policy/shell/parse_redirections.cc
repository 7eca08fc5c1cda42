// SPDX-License-Identifier: Apache-2.0
//
// Redirections and here-documents.
#include <array>

#include "policy/shell/brace_expansion.h"
#include "policy/shell/parser.h"

namespace agentfs::shell {
namespace {

// Here-documents that one line announces.
constexpr size_t kMaxPending = 64;

struct Operator {
  std::string_view text;
  RedirectionKind kind;
  int fd;  // when none is written
};

// Longer ones first.
constexpr std::array<Operator, 12> kOperators = {{{"&>>", RedirectionKind::kWrite, -1},
                                                  {"<<<", RedirectionKind::kHereString, 0},
                                                  {"<<-", RedirectionKind::kHereDoc, 0},
                                                  {"&>", RedirectionKind::kWrite, -1},
                                                  {"<<", RedirectionKind::kHereDoc, 0},
                                                  {"<&", RedirectionKind::kDuplicate, 0},
                                                  {"<>", RedirectionKind::kWrite, 0},
                                                  {">&", RedirectionKind::kDuplicate, 1},
                                                  {">>", RedirectionKind::kWrite, 1},
                                                  {">|", RedirectionKind::kWrite, 1},
                                                  {"<", RedirectionKind::kRead, 0},
                                                  {">", RedirectionKind::kWrite, 1}}};

// The length of "12" or "{name}" before an operator; 0: none.
size_t DescriptorLength(std::string_view text) {
  size_t end = 0;
  if (text.starts_with("{")) {
    end = 1;
    while (end < text.size() && IsNameByte(text[end])) ++end;
    if (end == 1 || end >= text.size() || text[end] != '}') return 0;
    ++end;
  } else {
    while (end < text.size() && end < 10 && IsDigit(text[end])) ++end;
  }
  return end < text.size() && (text[end] == '<' || text[end] == '>') ? end : 0;
}

// ">&2", "<&-" and ">&3-" name descriptors; ">&file" names a file.
bool IsDescriptor(const Word& word) {
  if (!word.literal) return false;
  std::string_view text = word.text;
  if (text == "-") return true;
  if (text.ends_with("-")) text.remove_suffix(1);
  if (text.empty()) return false;
  for (char c : text) {
    if (!IsDigit(c)) return false;
  }
  return true;
}

}  // namespace

bool Parser::AtRedirection() const {
  if (AtEnd()) return false;
  if (LooksAt("&>")) return true;
  if (Peek() == '<' || Peek() == '>') return Peek(1) != '(';
  return DescriptorLength(text_.substr(position_)) > 0;
}

void Parser::ParseRedirection(Command& command) {
  const size_t length = DescriptorLength(text_.substr(position_));
  const std::string descriptor(text_.substr(position_, length));
  Advance(length);
  Redirection redirection;
  for (const Operator& each : kOperators) {
    if (!LooksAt(each.text)) continue;
    redirection.kind = each.kind;
    redirection.fd = each.fd;
    Advance(each.text.size());
    if (each.kind == RedirectionKind::kHereDoc) {
      ParseDelimiter(redirection, each.text == "<<-");
    } else {
      ParseTarget(redirection);
    }
    break;
  }
  if (!descriptor.empty()) {
    redirection.fd = IsDigit(descriptor[0]) ? std::atoi(descriptor.c_str()) : -1;
  }
  if (!failed()) command.redirections.push_back(std::move(redirection));
}

void Parser::ParseTarget(Redirection& redirection) {
  SkipBlanks();
  WordBuilder built = ReadWord();
  const Word& target = built.word;
  if (target.text.empty() && !target.quoted && target.literal) Fail("a file name is missing");
  if (redirection.kind == RedirectionKind::kDuplicate && !IsDescriptor(target)) {
    redirection.kind = RedirectionKind::kWrite;
  }
  std::vector<Word> words;
  ExpandBraces(std::move(built), words);
  if (words.size() > 1) return Fail("a redirection has several files");
  redirection.target = std::make_shared<Word>(words.empty() ? Word() : std::move(words[0]));
}

void Parser::ParseDelimiter(Redirection& redirection, bool strip_tabs) {
  SkipBlanks();
  const Word delimiter = ParseWord();
  if (delimiter.text.empty() && !delimiter.quoted) return Fail("a delimiter is missing");
  redirection.target = std::make_shared<Word>();
  if (pending_.size() >= kMaxPending) return Fail("too many here-documents");
  if (failed()) return;
  pending_.push_back({redirection.target, delimiter.text, strip_tabs, !delimiter.quoted});
}

// The contents of all here-documents that the line before the cursor has announced.
void Parser::ReadHereDocs() {
  const std::vector<PendingHereDoc> documents = std::move(pending_);
  pending_.clear();
  for (const PendingHereDoc& document : documents) {
    const std::string content = ReadHereDoc(document.delimiter, document.strip_tabs);
    Word word;
    if (document.expands) {
      word = Parser(content, state_).ParseHereContent();
    } else {
      word.text = content;
      word.quoted = true;
    }
    *document.target = std::move(word);
    if (failed()) return Fail("");
  }
}

std::string Parser::ReadHereDoc(const std::string& delimiter, bool strip_tabs) {
  std::string content;
  while (!AtEnd()) {
    const size_t end = std::min(text_.find('\n', position_), text_.size());
    std::string_view line = text_.substr(position_, end - position_);
    Advance(std::min(end + 1, text_.size()) - position_);
    if (strip_tabs) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
    if (line == delimiter) break;
    content.append(line).push_back('\n');
  }
  return content;
}

Word Parser::ParseHereContent() {
  Level level(*this);
  WordBuilder out;
  while (!AtEnd()) ReadQuotedPart(out, Quotes::kHere);
  return std::move(out.word);
}

}  // namespace agentfs::shell
