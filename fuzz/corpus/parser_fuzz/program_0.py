import a.b as c, d
from .e import (f, g as h,)
class A(B, metaclass=C):  # 1
    """doc"""
    x: int = 3; y: list[str] | None = None
    # 2

    @property
    def f(self, a, /, b: int = 1, *c, d=2, **e) -> dict[str, int]:
        return {**a, 'b': c, "d": [e for f, g in h if i]}
  # 3
    async def g(self): await self.f(*a, k=lambda x, *y: x if y else -x ** 2)
