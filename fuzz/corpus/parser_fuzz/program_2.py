if a: pass
elif b:
    global c, d
    e = f, *g = h[i](j)(k).l = m, n
    # 1
else: # 2
    return (yield), await o, yield_
match p:
    case [1, *q] | {"r": s, **t}: u
    case V(w=-1, x=y.z) as a if b: c
    case _: print(d, *e, sep='') # 3
type X[T: int, *Ts] = a | b[c]
