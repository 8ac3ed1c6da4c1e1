"""A model that reads its device in every kind of condition. A comment names the operand that reads.

It is no test module, because pytest rewrites the assertions of those.
"""

from torch import nn


class Conditions(nn.Module):
    def forward(self, x, y=None):
        seen = []
        if x.sum() > 0 and y is not None:  # x.sum() > 0
            pass
        if y is not None or x.max() > 1:  # x.max() > 1
            pass
        if not (y is None and x.any()):  # x.any()
            pass
        if y is None and (
            x is not None and x.min() < 0  # x.min() < 0
        ):
            pass
        while y is None and not x.isnan().any():  # x.isnan().any()
            break
        assert y is None or x.all(), "words"  # nothing
        assert y is not None or (x == x).all()  # (x == x).all()
        seen.append(1 if y is None and x[0, 0] else 2)  # x[0, 0]
        flag = x.mean() > 0 and y is None  # x.mean() > 0
        other = y or x.prod() > 0 or y  # x.prod() > 0
        seen += [row for row in x if row is not None and row.sum() > 9]  # row.sum() > 9
        seen.append(not x.sum())  # x.sum()
        text = f"é {y} {x.amax()} {x.amin():.2f}"  # x.amax() | x.amin()
        number = int(x.sum()) + float(x.max())  # int(x.sum()) | float(x.max())
        listed = x.tolist() if y is None else x.sum().item()  # x.tolist()
        picked = "abc"[x.argmin() * 0]  # "abc"[x.argmin() * 0]
        if 0 < x.std() < 9:  # 0 < x.std() < 9
            pass
        if (n := x.sum() > 0) and y is None:  # n
            pass
        return x, seen, flag, other, text, number, listed, picked, n
