#include "cuda/source/arithmetic.h"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

namespace torchport::cuda {

namespace {

// A statement of a device function.
std::string written(const std::string& statement, const std::string& before = "") {
  RewriteOptions options;
  options.toolkit_folders = {"/toolkit/include/"};
  const std::string text = before + "torchport_device_code void f(int a) { " + statement + " }";
  std::string result = with_defined_arithmetic(text, options);
  CHECK(std::count(result.begin(), result.end(), '\n') ==
        std::count(text.begin(), text.end(), '\n'));
  const std::string head = before + " void f(int a) { ";
  REQUIRE(result.substr(0, head.size()) == head);
  return result.substr(head.size(), result.size() - head.size() - 2);
}

}  // namespace

TEST_CASE("a shift has its marker") {
  CHECK(written("x = a << b;") == "x = a << ::torchport::kShift << b;");
  CHECK(written("x = a >> (b - 1);") == "x = a >> ::torchport::kShift >> (b - 1);");
  CHECK(written("x = a << 1 + b;") == "x = a << ::torchport::kShift << 1 + b;");
  CHECK(written("x = a << 32;") == "x = a << ::torchport::kShift << 32;");
  CHECK(written("x = i < n >> b;") == "x = i < n >> ::torchport::kShift >> b;");
  CHECK(written("x = p->a >> b;") == "x = p->a >> ::torchport::kShift >> b;");
  CHECK(written("x = a << b << c;") ==
        "x = a << ::torchport::kShift << b << ::torchport::kShift << c;");
  CHECK(written("a <<= b;") == "a <<= ::torchport::kShift = b;");
  CHECK(written("a[i] >>= b;") == "a[i] >>= ::torchport::kShift = b;");
  CHECK(written("c <<= 'x';") == "c <<= ::torchport::kShift = 'x';");
}

TEST_CASE("what is no shift by a variable stays") {
  for (const std::string text :
       {"x = a << 31;", "x = a >> 2 & 3;", "a <<= 4;", "s.bits <<= b;", "p->bits >>= b;",
        "std::vector<std::vector<int>> x;", "A<B<int>>(x);", "f<g<h<int>>>(x);",
        "x = e && f<A<int>>(y);", "x.operator<<(y);", "std::cout << a << std::endl;",
        "s << \"text\" << a;", "(s << ... << a);", "x = f<(1 < 2), A<B>>(y);"})
    CHECK(written(text) == text);
}

TEST_CASE("a cast to an integer has its marker") {
  CHECK(written("y = (int)x;") == "y = (int)(::torchport::Cast<int>)x;");
  CHECK(written("y = (unsigned long long)(x * 2);") ==
        "y = (unsigned long long)(::torchport::Cast<unsigned long long>)(x * 2);");
  CHECK(written("y = (float)(int)-x;") == "y = (float)(int)(::torchport::Cast<int>)-x;");
  CHECK(written("y = (long long)(unsigned long)x;") ==
        "y = (long long)(::torchport::Cast<long long>)(unsigned long)"
        "(::torchport::Cast<unsigned long>)x;");
  CHECK(written("return (T)x;") == "return (T)(::torchport::Cast<T>)x;");
  CHECK(written("y = (std::uint8_t)f(x);") ==
        "y = (std::uint8_t)(::torchport::Cast<std::uint8_t>)f(x);");
  CHECK(written("y = static_cast<int>(x);") ==
        "y = static_cast<int>(static_cast<::torchport::Cast<int>>(x));");
  CHECK(written("y = static_cast<T>(x);") ==
        "y = static_cast<T>(static_cast<::torchport::Cast<T>>(x));");
  CHECK(written("y = 1 + int(x * 2);") ==
        "y = 1 + int(static_cast<::torchport::Cast<int>>(x * 2));");
  CHECK(written("y = c ? a : uint(x);") ==
        "y = c ? a : uint(static_cast<::torchport::Cast<uint>>(x));");
}

TEST_CASE("a variable of an integer has its marker") {
  CHECK(written("int i = x;") == "int i = ::torchport::Initial<int>() = x;");
  CHECK(written("const unsigned int i = x, k = y * 2;") ==
        "const unsigned int i = ::torchport::Initial<unsigned int>() = x, "
        "k = ::torchport::Initial<unsigned int>() = y * 2;");
  CHECK(written("for (int i = 0, n = x; i < n; ++i) {}") ==
        "for (int i = 0, n = ::torchport::Initial<int>() = x; i < n; ++i) {}");
}

TEST_CASE("what is no cast of a float to an integer stays") {
  for (const std::string text : {"y = (f)(x);",
                                 "y = (a) - b;",
                                 "y = (int)3;",
                                 "y = (char)'a';",
                                 "y = (int*)p;",
                                 "y = sizeof(int) * 2;",
                                 "if (a) b = 1;",
                                 "while (a) f();",
                                 "y = (void)x;",
                                 "y = (bool)x;",
                                 "y = (float)x;",
                                 "auto l = [](int) { };",
                                 "std::function<void(int)> g;",
                                 "int i = 0;",
                                 "int* p = q;",
                                 "int& r = q;",
                                 "long double d = x;",
                                 "y = static_cast<float*>(p);",
                                 "y = static_cast<int>(7);",
                                 "y = int();",
                                 "y = int{};",
                                 "int(*g)(int);",
                                 "int i{x};",
                                 "y = static_cast<bool>(x);",
                                 "if constexpr (sizeof(T) == 4) { }",
                                 "std::size_t n;",
                                 "auto l = []<int N = 3 * M>() { };",
                                 "using I = int;",
                                 "y = (T(*)(int))p;"})
    CHECK(written(text) == text);
}

TEST_CASE("only bodies of device functions are changed") {
  RewriteOptions options;
  options.toolkit_folders = {"/toolkit/include/"};
  const auto after = [&](const std::string& text) {
    return with_defined_arithmetic(text, options);
  };
  for (const std::string text :
       {"int h(int a) { return a << b; }", "int x = a << b;",
        "# 1 \"/toolkit/include/a.h\"\n torchport_device_code int h() { return a << b; }\n"}) {
    std::string plain = text;
    if (const auto at = plain.find("torchport_device_code"); at != std::string::npos)
      plain.erase(at, 21);
    CHECK(after("torchport_device_code int d;\n" + text) == " int d;\n" + plain);
  }
  CHECK(after("struct A { torchport_device_code A(int n) : x(1 << n), y{n} { } int h() { return a "
              "<< b; } };") ==
        "struct A {  A(int n) : x(1 << ::torchport::kShift << n), y{n} { } int h() { return a << "
        "b; } };");
  CHECK(after("torchport_device_code bool operator==(A a, B b) { return a << b; }") ==
        " bool operator==(A a, B b) { return a << ::torchport::kShift << b; }");
  CHECK(after("void h() { g([=] torchport_device_code (int i) { return i << n; }); x << y; }") ==
        "void h() { g([=]  (int i) { return i << ::torchport::kShift << n; }); x << y; }");
  CHECK(after("torchport_device_code int f(int a = 1 << N);") == " int f(int a = 1 << N);");
}

}  // namespace torchport::cuda
