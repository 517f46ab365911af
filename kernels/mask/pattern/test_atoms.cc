#include "kernels/mask/pattern/test_atoms.h"

namespace sparkbench {
namespace {

/// Whether a row at position p sees key k.
using AtPlace = std::function<bool(int p, int k)>;
struct Words {
  std::string text;
  AtPlace sees;
};

std::string with(const char* name, std::initializer_list<int> numbers) {
  std::string text = name;
  for (const int number : numbers) text.append(":").append(std::to_string(number));
  return text;
}

Words drawn_mask(Random& random, int seqlen_q, int seqlen_k) {
  const int a = draw(random, 0, seqlen_k + 2), b = draw(random, 0, seqlen_k + 2);
  const MaskSpec masks[] = {MaskSpec::full(), MaskSpec::causal(), MaskSpec::window(a + 1),
                            MaskSpec::band(a, b), MaskSpec::prefix(a)};
  const MaskSpec mask = masks[draw(random, 0, 4)];
  return {name_of(mask), [=](int p, int k) {
            return sees_by_definition(mask, seqlen_q, seqlen_k, p - seqlen_k + seqlen_q, k);
          }};
}

Words drawn_documents_atom(Random& random, int seqlen_k) {
  std::vector<int> lengths(static_cast<std::size_t>(draw(random, 1, 5)));
  std::string text = "documents";
  for (int& length : lengths) {
    length = draw(random, 1, seqlen_k);
    text.append(":").append(std::to_string(length));
  }
  if (lengths.size() == 1) lengths = drawn_documents(lengths[0], seqlen_k);
  return {text, [=](int p, int k) {
            const int document = document_of(lengths, p);
            return document >= 0 && document == document_of(lengths, k);
          }};
}

/// A factor of the number, each with a like chance.
int drawn_factor(Random& random, int number) {
  std::vector<int> factors;
  for (int factor = 1; factor <= number; ++factor) {
    if (number % factor == 0) factors.push_back(factor);
  }
  return factors[static_cast<std::size_t>(draw(random, 0, static_cast<int>(factors.size()) - 1))];
}

Words drawn_neighbourhood(Random& random, int seqlen_k) {
  const int inner = drawn_factor(random, seqlen_k);
  const int middle = drawn_factor(random, seqlen_k / inner);
  const int outer = seqlen_k / inner / middle;
  const int a = draw(random, 1, outer), b = draw(random, 1, middle), c = draw(random, 1, inner);
  const auto number = [](int value) { return std::to_string(value); };
  return {"nd:" + number(outer) + "x" + number(middle) + "x" + number(inner) + ":" + number(a) +
              "x" + number(b) + "x" + number(c),
          [=](int p, int k) {
            return is_in_neighbourhood(column_of(p, inner), column_of(k, inner), inner, c) &&
                   is_in_neighbourhood(column_of(line_of(p, inner), middle),
                                       column_of(line_of(k, inner), middle), middle, b) &&
                   is_in_neighbourhood(line_of(p, inner * middle), line_of(k, inner * middle),
                                       outer, a);
          }};
}

Words drawn_words(Random& random, int seqlen_q, int seqlen_k) {
  const int size = draw(random, 1, seqlen_k + 3), count = draw(random, 1, size);
  switch (draw(random, 0, 10)) {
    case 0:
      return {with("blocked", {size}), [=](int p, int k) {
                const int back = line_of(p, size) - line_of(k, size);
                return back == 0 || back == 1;
              }};
    case 1:
      return {with("chunk", {size}),
              [=](int p, int k) { return line_of(p, size) == line_of(k, size); }};
    case 2:
      return {with("strided", {size}), [=](int p, int k) { return (k - p) % size == 0; }};
    case 3: {
      const int apart = draw(random, 1, 9);
      return {with("dilated", {count, apart}), [=](int p, int k) {
                return (k - p) % apart == 0 && std::abs(k - p) <= count * apart;
              }};
    }
    case 4:
      return {with("fixed", {size, count}), [=](int p, int k) {
                const bool is_summary = column_of(k, size) >= size - count;
                return k <= p && (line_of(p, size) == line_of(k, size) || is_summary);
              }};
    case 5:
      return {with("longformer", {size, count}),
              [=](int p, int k) { return std::abs(k - p) <= size || k < count || p < count; }};
    case 6:
      return {with("sink", {count}), [=](int p, int k) { return k < count && k <= p; }};
    case 7:
      return drawn_documents_atom(random, seqlen_k);
    case 8:
      return drawn_neighbourhood(random, seqlen_k);
    case 9: {
      const int apart = draw(random, 1, 9);
      return {"where:abs(q - k) < " + std::to_string(size) + " && (q + k) % " +
                  std::to_string(apart) + " != 1 || k < " + std::to_string(count),
              [=](int p, int k) {
                return (std::abs(p - k) < size && (p + k) % apart != 1) || k < count;
              }};
    }
    default:
      return drawn_mask(random, seqlen_q, seqlen_k);
  }
}

}  // namespace

DrawnAtom drawn_atom(Random& random, int seqlen_q, int seqlen_k) {
  const Words words = drawn_words(random, seqlen_q, seqlen_k);
  const bool is_causal = draw(random, 0, 2) == 0;
  return {(is_causal ? "causal-" : "") + words.text, [=](int row, int key) {
            const int p = row + seqlen_k - seqlen_q;
            return (!is_causal || key <= p) && words.sees(p, key);
          }};
}

}  // namespace sparkbench
