#include <cctype>
#include <limits>
#include <optional>
#include <utility>

#include "kernels/base/closest_name.h"
#include "kernels/mask/predicate/evaluate.h"
#include "kernels/mask/predicate/expression.h"

namespace sparkbench {
namespace {

constexpr std::string_view kAllowed =
    "; allowed: numbers, q, k, h, seqlen_q, seqlen_k, abs(), parentheses and C's operators "
    "! ~ - * / % + << >> < <= > >= == != & ^ | && ||";
constexpr int kMostNesting = 64;

constexpr ExpressionOp kNamed[] = {ExpressionOp::kRow, ExpressionOp::kKey, ExpressionOp::kHead,
                                   ExpressionOp::kSeqlenQ, ExpressionOp::kSeqlenK};
constexpr std::string_view kAbs = "abs";

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return '0' <= c && c <= '9'; }

int digit_of(char c) {
  if (is_digit(c)) return c - '0';
  if ('a' <= c && c <= 'f') return c - 'a' + 10;
  if ('A' <= c && c <= 'F') return c - 'A' + 10;
  return 99;
}

/// Precedence climbing, over the text as it stands.
class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view text) : text_(text) {}

  Expression parse() && {
    skip_spaces();
    if (at_ == text_.size()) refuse(at_, "there is no expression");
    parse_operators(1);
    if (at_ < text_.size()) refuse_rest();
    return std::move(expression_);
  }

 private:
  /// A node, and whether parentheses or the like separate it from its neighbours.
  struct Operand {
    int node;
    int precedence;     // kUnaryPrecedence where it stands by itself
    std::size_t begin;  // in the text
    int waiting;        // values at once while it is evaluated
  };

  [[noreturn]] void refuse(std::size_t position, const std::string& why,
                           std::string_view allowed = kAllowed) const {
    throw ExpressionError(why + ", at character " + std::to_string(position + 1) + " of '" +
                              std::string(text_) + "'" + std::string(allowed),
                          position);
  }

  [[noreturn]] void refuse_rest() const {
    const char c = text_[at_];
    if (c == ')') refuse(at_, "')' closes nothing", "");
    if (c == '=') refuse(at_, "'=' compares nothing, did you mean '=='?");
    if (c == '?') refuse(at_, "'?' is no operator here", "; allowed instead: a && b || !a && c");
    if (is_letter(c) || is_digit(c) || c == '(') refuse(at_, "an operator is missing");
    refuse(at_, quoted(c) + " is no operator");
  }

  static std::string quoted(std::string_view text) {
    return std::string(1, '\'').append(text).append(1, '\'');
  }
  static std::string quoted(char c) { return quoted(std::string_view(&c, 1)); }

  void skip_spaces() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  int add(const ExpressionNode& node, std::size_t position) {
    if (static_cast<int>(expression_.nodes.size()) == kMostExpressionNodes) {
      refuse(
          position, "the expression is longer than it may be",
          "; allowed: " + std::to_string(kMostExpressionNodes) + " numbers, names and operators");
    }
    expression_.nodes.push_back(node);
    return expression_.root();
  }

  const OperatorRow* next_operator() const {
    for (const OperatorRow& row : binary_operators()) {
      if (text_.substr(at_).starts_with(row.text)) return &row;
    }
    return nullptr;
  }

  Operand parse_operators(int least) {
    Operand left = parse_operand();
    for (const OperatorRow* row = next_operator(); row != nullptr && row->precedence >= least;
         row = next_operator()) {
      const std::size_t position = at_;
      at_ += row->text.size();
      skip_spaces();
      const Operand right = parse_operators(row->precedence + 1);
      check_operands(*row, left, right, position);
      const int waiting = std::max(left.waiting, right.waiting + 1);
      if (waiting > kMostWaitingValues) {
        refuse(position, "the expression is nested deeper than it may be",
               "; allowed: " + std::to_string(kMostWaitingValues) +
                   " values that wait for what is right of them");
      }
      left = {add({row->op, left.node, right.node}, position), row->precedence, left.begin,
              waiting};
    }
    return left;
  }

  /// Refuses texts that C accepts and hardly anyone means.
  void check_operands(const OperatorRow& row, const Operand& left, const Operand& right,
                      std::size_t position) const {
    const auto compares = [](int precedence) {
      return precedence == kComparisonPrecedence || precedence == kEqualityPrecedence;
    };
    const bool is_bitwise =
        kBitOrPrecedence <= row.precedence && row.precedence <= kBitAndPrecedence;
    if (compares(row.precedence) && (compares(left.precedence) || compares(right.precedence))) {
      refuse(position, quoted(row.text) + " compares what a comparison said",
             "; allowed: a < b && b < c, and (a < b) == (c < d)");
    }
    if (is_bitwise && (compares(left.precedence) || compares(right.precedence))) {
      refuse(position, quoted(row.text) + " binds less than a comparison",
             "; allowed: parentheses, as in (k & 1) == 0");
    }
    const bool divides = row.op == ExpressionOp::kQuotient || row.op == ExpressionOp::kRemainder;
    if (divides && is_constant(right.node) && value_of_part(right.node) == 0) {
      refuse(right.begin, quoted(row.text) + " has the divisor 0",
             "; allowed: constants that are not 0");
    }
  }

  bool is_constant(int index) const {
    const ExpressionNode& node = expression_.node(index);
    if (node.left < 0) return node.op == ExpressionOp::kNumber;
    return is_constant(node.left) && (node.right < 0 || is_constant(node.right));
  }

  Whole value_of_part(int index) const {
    Expression part;
    part.nodes.assign(expression_.nodes.begin(), expression_.nodes.begin() + index + 1);
    return value_of(part, {});
  }

  Operand parse_operand() {
    const std::size_t begin = at_;
    if (at_ == text_.size()) refuse(at_, "an operand is missing");
    const char c = text_[at_];
    if (const std::optional<ExpressionOp> unary = unary_of(c)) {
      enter(begin);
      ++at_;
      skip_spaces();
      const Operand of = parse_operand();
      --nesting_;
      return {add({*unary, of.node}, begin), kUnaryPrecedence, begin, of.waiting};
    }
    if (c == '(') {
      ++at_;
      const Operand inside = parse_inside(begin);
      return {inside.node, kUnaryPrecedence, begin, inside.waiting};
    }
    if (is_digit(c)) return parse_number();
    if (is_letter(c)) return parse_name();
    if (c == '+') refuse(at_, "'+' has nothing on its left");
    refuse(at_, "an operand is missing before " + quoted(c));
  }

  static std::optional<ExpressionOp> unary_of(char c) {
    if (c == '!') return ExpressionOp::kNot;
    if (c == '~') return ExpressionOp::kComplement;
    if (c == '-') return ExpressionOp::kNegative;
    return std::nullopt;
  }

  void enter(std::size_t position) {
    if (++nesting_ > kMostNesting) {
      refuse(position, "the expression is nested deeper than it may be",
             "; allowed: " + std::to_string(kMostNesting) + " levels");
    }
  }

  /// Parses after a '(' at `begin`.
  Operand parse_inside(std::size_t begin) {
    enter(begin);
    skip_spaces();
    const Operand inside = parse_operators(1);
    if (at_ == text_.size()) refuse(begin, "'(' is not closed", "");
    if (text_[at_] != ')') refuse_rest();
    ++at_;
    skip_spaces();
    --nesting_;
    return inside;
  }

  Operand parse_number() {
    const std::size_t begin = at_;
    const bool is_hex = text_.substr(at_).starts_with("0x") || text_.substr(at_).starts_with("0X");
    const Whole base = is_hex ? 16 : 10;
    if (is_hex) at_ += 2;
    const std::size_t first = at_;
    Whole value = 0;
    for (; at_ < text_.size() && digit_of(text_[at_]) < base; ++at_) {
      const Whole digit = digit_of(text_[at_]);
      if (value > (std::numeric_limits<Whole>::max() - digit) / base) {
        refuse(begin, "a number is beyond 9223372036854775807", "");
      }
      value = value * base + digit;
    }
    if (at_ == first) refuse(begin, "'0x' has no digits", "");
    if (!is_hex && at_ - first > 1 && text_[first] == '0') {
      refuse(begin, "a number begins with 0, which C would read in eights",
             "; allowed: 0x... and decimal numbers");
    }
    if (at_ < text_.size() &&
        (is_letter(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '.')) {
      refuse(at_, "a number runs into " + quoted(text_[at_]),
             "; allowed: whole numbers without a unit, as 65536");
    }
    skip_spaces();
    return {add({ExpressionOp::kNumber, -1, -1, value}, begin), kUnaryPrecedence, begin, 1};
  }

  Operand parse_name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    skip_spaces();
    if (name == kAbs) {
      if (at_ == text_.size() || text_[at_] != '(') refuse(at_, "'abs' has no '(' behind it");
      ++at_;
      const Operand inside = parse_inside(at_ - 1);
      return {add({ExpressionOp::kSize, inside.node}, begin), kUnaryPrecedence, begin,
              inside.waiting};
    }
    for (const ExpressionOp op : kNamed) {
      if (name == name_of(op)) return {add({op}, begin), kUnaryPrecedence, begin, 1};
    }
    refuse(begin, quoted(name) + " is no name" + did_you_mean(meant_name(name)));
  }

  static std::string meant_name(std::string_view typed) {
    constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
        {"i", "q"},     {"row", "q"},  {"q_idx", "q"},  {"query", "q"}, {"j", "k"},
        {"col", "k"},   {"kv", "k"},   {"kv_idx", "k"}, {"key", "k"},   {"column", "k"},
        {"k_idx", "k"}, {"head", "h"}, {"and", "&&"},   {"or", "||"},   {"not", "!"}};
    for (const auto& [other, name] : kOthers) {
      if (typed == other) return std::string(name);
    }
    std::vector<std::string> known = {std::string(kAbs)};
    for (const ExpressionOp op : kNamed) {
      // One letter is near to any other.
      if (name_of(op).size() > 1 || typed.size() == 1) known.emplace_back(name_of(op));
    }
    if (typed.size() == 1) {
      const char small = static_cast<char>(std::tolower(static_cast<unsigned char>(typed[0])));
      return small == 'q' || small == 'k' || small == 'h' ? std::string(1, small) : "";
    }
    return closest_name(typed, known);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int nesting_ = 0;
  Expression expression_;
};

}  // namespace

Expression parse_expression(std::string_view text) { return ExpressionParser(text).parse(); }

}  // namespace sparkbench
