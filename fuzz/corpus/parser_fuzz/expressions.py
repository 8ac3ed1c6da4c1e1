f(a)
f()
f(a,)
f(a for a in b)
f(a, (b for b in c))
f((a for a in b))
f(*a, **b)
f(*a.b)
f(*a[0], *b(c), *(d), *"x", *a + b, *a or b, *[1])
f(*a if b else c)
f(a=1, print=2, match=3, type=4, exec=5)
f(a := 1)
f((*a, b))
f(**a or b)
f(lambda: a, lambda x: b)
f(a)(b)[c].d
f(not a, -b)
a[1]
a[1:2]
a[:]
a[::]
a[1:2:3]
a[:, 1]
a[a, b]
a[a,]
a[*b]
a[*b, c]
a[a:b, c]
a[()]
a[a:=1]
a[lambda: b]
a[lambda: b:c]
a[..., None]
a[not b:c]
[*a, b]
[*a.b, *c(d), *e[f], *(a, b), *(a), *"x", *a | b, *not_a]
{*a, b}
{*a.b}
{**a, 'b': c}
{a: b, c: d,}
{a: b for a in c}
{a for a in c}
{**a}
{}
{a}
{a: lambda: b}
(*a, b)
(*a.b, c)
(*a,)
(*a(b), c)
(yield)
(yield a)
(yield a, b)
(a)
()
(a,)
(a, b)
(a, b,)
(a for b in c if d if e for f in g)
[a for b in c]
[a for b, c in d]
[a for b, in d]
[a for (b, c) in d]
[a for b in c if d]
[a async for b in c]
[a for b in (c if d else e)]
[a for b in c or d]
[a if b else c for d in e]
[a for *b, c in d]
[a for b.c in d]
[(yield)]
[a := b, c]
lambda: a
lambda a: b
lambda a, b=1, *c, d, **e: f
lambda *, a: b
lambda a, /: b
lambda *a: b, c
lambda: (yield)
lambda: a if b else c
lambda: lambda: a
x = lambda: a
x = lambda a: a, b
lambda a,: b
not a
not not a
not a in b
not a == b
a in b
a not in b
a is not b
a is b
a < b < c
a < b == c != d
a or b or c
a or b and c
a and b or c
not a and b
not a or b
a if b else c if d else e
(a if b else c) if d else e
a + b + c
a + b * c
a * b + c
a ** b ** c
-a ** b
a ** -b
a ** -b ** c
a ** await b
await a ** b
await a.b(c)
-await a
- - a
~a
+a
a | b & c ^ d
a & b | c
a ^ b | c
a | b ^ c
a ^ b & c
a & b ^ c
a << b >> c
a + b << c
a @ b
a // b % c
-a + b
-a.b
-a * b
a * -b
a * -b + c
a - -b
a - -b * c
a < b | c
a | b < c
not a | b
a.b.c
a.print
a.match
a.b().c
1 .real
1..real
"a".b
"a" "b"
"a" "b".c
a if not b else c
lambda x=lambda: a: b
lambda x: x if y else z
x if y else lambda: z
a = b or not c
