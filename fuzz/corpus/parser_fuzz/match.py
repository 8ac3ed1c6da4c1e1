match x:
  case 1: pass
match x:  # a
  # b
  case 1:  # c
    # d
    pass
    # e
  # f
# g
  case _: pass
match x, y:
  case (1, 2): pass
match (x):
  case a.b: pass
match x,:
  case a | b | None: pass
match x:
  case [a, *b]: pass
  case (a, b): pass
  case (a): pass
  case []: pass
  case (): pass
match x:
  case a, b: pass
  case *a, b: pass
  case a,: pass
match x:
  case {'a': b, **c}: pass
  case {}: pass
  case {a.b: 1, -1: 2, None: c}: pass
match x:
  case A(): pass
  case A(b, c=1): pass
  case a.B(c=D(e)): pass
match x:
  case a as b: pass
  case (a | b) as c: pass
  case A() as b if c: pass
match x:
  case -1: pass
  case -1.5: pass
  case 1+2j: pass
  case -1-2j: pass
match x:
  case 'a': pass
  case 'a' 'b': pass
  case f'a': pass
match x:
  case True | False | None: pass
match x:
  case a if b if c else d: pass
match x:
  case a: pass
  case a if b := c: pass
match x:
  case [1, a as b, [c]]: pass
  case (a as b, c): pass
match x:
  case {'a': b as c, 'd': [e]}: pass
match x:
  case A(b=C() as d): pass
match x:
  case A(b=c | d): pass
match x:
  case [*_]: pass
  case (*_,): pass
  case {**rest}: pass
match x:
  case 'a' | 'b' as c: pass
match x:
  case (1 | 2): pass
  case [1 | 2, 3]: pass
match *a, b:
  case _: pass
match -x:
  case _: pass
match not x:
  case _: pass
match [a, b]:
  case _: pass
match {}:
  case _: pass
match (a, b):
  case _: pass
match f(x):
  case _: pass
match x.y:
  case _: pass
match lambda: x:
  case _: pass
match x := y:
  case _: pass
match await x:
  case _: pass
match 'a':
  case _: pass
match (yield):
  case _: pass
match x:
  case match: pass
  case type: pass
  case case: pass
  case print: pass
match = 1
match.a()
match(x)
match[x]
match, y = 1, 2
case = 1
case(x)
_ = 3
x = _
print
print(a)
print(a, file=b)
print(a).b
print(a) + b
print (a), b
print (a) if b else c
print()
print, a = b
print.a
print = 1
print(a)[0]
print(a) and b
x = print
f(print)
exec(a)
exec(a, b)
exec = a
exec
x.exec(a)
print(*a)
lambda print: 1
def print(a): pass
class match: pass
def f(print, exec=1, match=2, type=3, *print, **type): pass
import print
from print import match as type
from type import print
print: int
match: int = 3
type: int = 3
for print in match: pass
global print, match
x.match = 3
[match for match in match]
f(match for match in match)
type (a, b)
type (a).b
type(a) is b
type(a)(b)
x = type(a)
def f(a: type, b: type[int]) -> type: pass
if a: b;
a; b; c
a;
x = {
# c
'a': 1, # d
}
f(a # c
)
f( # c
a)
f(a, # c
 # d
)
