// SPDX-License-Identifier: Apache-2.0
#include "policy/arguments.h"

#include <algorithm>
#include <array>

namespace agentfs::policy {
namespace {

using shell::Word;

// Abbreviations shorter than "--ab" are not worth a guess.
constexpr size_t kShortestAbbreviation = 4;

class Reader {
 public:
  Reader(const ProgramFacts& facts, std::span<const Word> words)
      : facts_(facts),
        words_(words),
        has_rest_(facts.inner != Inner::kNothing || facts.interpreter != Interpreter::kNone) {}

  Arguments Read() {
    if (facts_.letters_first && !words_.empty() && !words_[0].text.starts_with("-")) {
      Letters("-" + words_[0].text);
      // It may be an operand as well; letting it count as one does no harm.
    }
    while (at_ < words_.size() && !stopped_) Next();
    return std::move(out_);
  }

 private:
  void Next() {
    const Word& word = words_[at_];
    const bool dash = !ended_ && word.text.size() > 1 && word.text[0] == '-';
    const bool plus = !ended_ && word.text.starts_with("+");
    if (plus && facts_.interpreter == Interpreter::kShell) return TurnOff(word);
    if (!dash) return Operand(word);
    ++at_;
    if (word.text == "--") {
      ended_ = true;
    } else if (word.text.starts_with("--") || facts_.long_options || IsKnown(word.text)) {
      Whole(word);
    } else {
      Letters(word.text, word.literal);
    }
  }

  // bash +e, bash +o pipefail.
  void TurnOff(const Word& word) {
    ++at_;
    if (Takes("-" + word.text.substr(1))) ++at_;
  }

  void Operand(const Word& word) {
    const bool is_rest = has_rest_ && out_.operands.size() >= static_cast<size_t>(facts_.skip) &&
                         !IsAssignment(word) && !IsToolchain(word);
    if (is_rest) return Stop(at_);
    out_.operands.push_back(&word);
    ++at_;
  }

  bool IsAssignment(const Word& word) const {
    return facts_.assignments && word.text.find('=') != std::string::npos;
  }
  // cargo +nightly build.
  bool IsToolchain(const Word& word) const {
    return facts_.inner == Inner::kSubcommand && word.text.starts_with("+");
  }

  void Stop(size_t at) {
    out_.rest = words_.subspan(std::min(at, words_.size()));
    stopped_ = true;
  }

  // An option in a word of its own.
  void Whole(const Word& word) {
    Option option;
    const size_t equals = word.text.find('=');
    option.name = word.text.substr(0, equals);
    if (equals != std::string::npos) {
      option.has_value = true;
      option.value = word.text.substr(equals + 1);
      option.literal = word.literal;
    }
    Add(std::move(option));
  }

  // -abc; the rest of the word after an option with a value is the value.
  void Letters(std::string_view text, bool literal = true) {
    for (size_t i = 1; i < text.size(); ++i) {
      Option option;
      option.name = {'-', text[i]};
      const bool has_value = Takes(option.name) || IsFlag(option.name, facts_.modules);
      if (has_value && i + 1 < text.size()) {
        option.has_value = true;
        option.value = text.substr(i + 1);
        option.literal = literal;
        i = text.size();
      }
      Add(std::move(option));
    }
  }

  void Add(Option option) {
    if (IsFlag(option.name, facts_.commands)) option.command = TakeCommand();
    const bool module = IsFlag(option.name, facts_.modules);
    if (!option.has_value && (module || Takes(option.name)) && at_ < words_.size()) {
      option.has_value = true;
      option.value = words_[at_].text;
      option.literal = words_[at_].literal;
      ++at_;
    }
    if (module) {
      out_.module.emplace();
      out_.module->text = option.value;
      out_.module->literal = option.literal && option.has_value;
      Stop(at_);
    }
    out_.options.push_back(std::move(option));
  }

  // The words up to ';' or '+'.
  std::span<const Word> TakeCommand() {
    const size_t begin = at_;
    while (at_ < words_.size() && words_[at_].text != ";" && words_[at_].text != "+") ++at_;
    const auto command = words_.subspan(begin, at_ - begin);
    at_ = std::min(at_ + 1, words_.size());
    return command;
  }

  bool Takes(std::string_view name) const {
    if (IsFlag(name, facts_.takes) || IsFlag(name, facts_.written) || IsFlag(name, facts_.text) ||
        IsFlag(name, facts_.code)) {
      return true;
    }
    return std::any_of(facts_.guards.begin(), facts_.guards.end(),
                       [&](const Guard& guard) { return guard.option == name; });
  }

  // Whether a word with one dash is one option and not several letters.
  bool IsKnown(std::string_view text) const {
    const auto has = [&](const Flags& flags) {
      return std::find(flags.begin(), flags.end(), text) != flags.end();
    };
    const auto affects = [&](const FlagEffect& effect) { return has(effect.flags); };
    return has(facts_.takes) || has(facts_.written) || has(facts_.text) || has(facts_.code) ||
           has(facts_.reading) || has(facts_.instead) || has(facts_.text_operand) ||
           std::any_of(facts_.effects.begin(), facts_.effects.end(), affects) ||
           std::any_of(facts_.without.begin(), facts_.without.end(), affects);
  }

  const ProgramFacts& facts_;
  const std::span<const Word> words_;
  const bool has_rest_;
  Arguments out_;
  size_t at_ = 0;
  bool ended_ = false, stopped_ = false;
};

}  // namespace

bool IsFlag(std::string_view written, std::string_view flag) {
  if (written == flag) return true;
  return written.size() >= kShortestAbbreviation && written.starts_with("--") &&
         flag.starts_with(written);
}

bool IsFlag(std::string_view written, const Flags& flags) {
  return std::any_of(flags.begin(), flags.end(),
                     [&](std::string_view flag) { return IsFlag(written, flag); });
}

bool Arguments::Has(const Flags& flags) const {
  const auto is_option = [&](const Option& option) { return IsFlag(option.name, flags); };
  if (std::any_of(options.begin(), options.end(), is_option)) return true;
  // Some are words: `git config get`.
  return std::any_of(operands.begin(), operands.end(), [&](const Word* word) {
    return !word->text.starts_with("-") &&
           std::find(flags.begin(), flags.end(), word->text) != flags.end();
  });
}

Arguments ReadArguments(const ProgramFacts& facts, std::span<const Word> words) {
  return Reader(facts, words).Read();
}

}  // namespace agentfs::policy
