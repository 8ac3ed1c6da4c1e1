try:
    with open(a) as b, (c): d[1:2, ::3] += f(x for x in y)
except (E, F) as e:
    raise G(f"{e!r:>{w}} {{}} {a["b"]=}") from None
else:
    for (i, j), *k in l: continue
    else: break
finally:
    while not (a := b) or c not in d is not e < f:
        del a.b, c[0]; assert x, 'y' \
            "z"
