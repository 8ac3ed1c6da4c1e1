"""Which element gets which drawn number: compared with the rule of CUDA's kernels, in Python."""

import math
from collections.abc import Iterator

import pytest
import torch

pytestmark = pytest.mark.devices("cuda:1")

SEED = 11
H200_SEED = 1234  # of the recording
# The first profile, an A100: 108 multiprocessors of 2048 threads.
THREADS = 108 * 2048


def block(subsequence: int, position: int = 0) -> list[int]:
    """Four words of Philox4x32-10, as cuRAND counts (Salmon et al., SC 2011)."""
    mask = 2**32 - 1
    counter = [position & mask, position >> 32, subsequence & mask, subsequence >> 32]
    key = [SEED & mask, SEED >> 32]
    for _ in range(10):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [
            second >> 32 ^ counter[1] ^ key[0],
            second & mask,
            first >> 32 ^ counter[3] ^ key[1],
            first & mask,
        ]
        key = [(key[0] + 0x9E3779B9) & mask, (key[1] + 0xBB67AE85) & mask]
    return counter


def word(index: int, count: int, each: int = 4, position: int = 0) -> tuple[list[int], int]:
    """The block from which a kernel of distributions draws for an element, and which part of it."""
    threads = min(-(-count // 256) * 256, THREADS)
    of_round, inside = divmod(index, threads * each)
    part, thread = divmod(inside, threads)
    return block(thread, position + of_round), part


def uniform(index: int, count: int, position: int = 0) -> float:
    words, part = word(index, count, position=position)
    drawn = torch.tensor(words[part], dtype=torch.float64).float() * 2.0**-32 + 2.0**-33
    return 0.0 if drawn == 1 else drawn.item()


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    torch.cuda.manual_seed_all(SEED)
    yield


def places(count: int) -> list[int]:
    """Some indices at the edges of threads and rounds, below `count`."""
    edges = (0, 1, 255, 256, THREADS, 2 * THREADS, 4 * THREADS, 9 * THREADS, count)
    return sorted({i for edge in edges for i in (edge - 1, edge, edge + 1) if 0 <= i < count})


@pytest.mark.parametrize("count", [1, 255, 257, THREADS, THREADS + 1, 4 * THREADS + 3, 2_000_003])
def test_the_grid_wraps_around(count: int) -> None:
    drawn = torch.rand(count, device="cuda")
    assert all(drawn[i].item() == uniform(i, count) for i in places(count))
    rounds = -(-count // (4 * min(-(-count // 256) * 256, THREADS)))
    assert torch.cuda.default_generators[0].get_offset() == 4 * rounds
    after = torch.rand(5, device="cuda")
    assert all(after[i].item() == uniform(i, 5, rounds) for i in range(5))


@pytest.mark.parametrize("count", [7, THREADS + 5, 2 * THREADS + 3])
def test_doubles_and_long_integers_take_half_a_block(count: int) -> None:
    doubles = torch.rand(count, device="cuda", dtype=torch.float64)
    torch.cuda.manual_seed_all(SEED)
    integers = torch.randint(-5, 2**50, (count,), device="cuda")
    torch.cuda.manual_seed_all(SEED)
    full = torch.empty(count, device="cuda", dtype=torch.int64).random_(-(2**63), None)
    for i in places(count):
        words, part = word(i, count, each=2)
        low, high = words[2 * part], words[2 * part + 1]
        assert doubles[i].item() == (low ^ high << 21) * 2.0**-53 + 2.0**-54
        assert integers[i].item() == (low << 32 | high) % (2**50 + 5) - 5
        assert full[i].item() == ((low << 32 | high) ^ 2**63) - 2**63


def test_integers_of_all_types() -> None:
    count, top = 300, {torch.float16: 2**11, torch.bfloat16: 2**8, torch.float32: 2**24}
    for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.bool, *top):
        limit = top.get(dtype)
        if limit is None:
            limit = 1 if dtype == torch.bool else torch.iinfo(dtype).max
        for i, drawn in enumerate(
            torch.empty(count, device="cuda", dtype=dtype).random_().tolist()
        ):
            words, part = word(i, count)
            assert drawn == words[part] % (limit + 1)
        torch.cuda.manual_seed_all(SEED)
        ten = torch.empty(count, device="cuda", dtype=dtype).random_(0, 2)
        assert ten.tolist() == [word(i, count)[0][word(i, count)[1]] % 2 for i in range(count)]
        torch.cuda.manual_seed_all(SEED)


def test_elements_are_counted_in_the_order_of_memory() -> None:
    expected = [uniform(i, 24) for i in range(24)]
    transposed = torch.empty(4, 6, device="cuda").t().uniform_()
    assert transposed.t().flatten().tolist() == expected
    torch.cuda.manual_seed_all(SEED)
    # With gaps: along the smallest stride first, too.
    gaps = torch.zeros(6, 9, device="cuda")[:, ::2][:, :4].t().uniform_()
    assert gaps.t().flatten().tolist() == expected
    torch.cuda.manual_seed_all(SEED)
    channels_last = torch.empty(1, 3, 2, 4, device="cuda").to(memory_format=torch.channels_last)
    assert channels_last.uniform_().permute(0, 2, 3, 1).flatten().tolist() == expected
    torch.cuda.manual_seed_all(SEED)
    complex_numbers = torch.rand(12, device="cuda", dtype=torch.complex64)
    assert torch.view_as_real(complex_numbers).flatten().tolist() == expected


def test_a_tensor_of_probabilities_gives_a_thread_four_neighbours() -> None:
    p = torch.linspace(0, 1, 10_000, device="cuda")
    drawn = torch.bernoulli(p)
    for i in (0, 1, 4998, 4999, 5000, 7777, 9999):
        words = block(i // 4)
        number = torch.tensor(words[i % 4], dtype=torch.float64).float() * 2.0**-32 + 2.0**-33
        assert drawn[i].item() == float(number <= p[i].cpu())
    assert torch.cuda.default_generators[0].get_offset() == 12
    torch.cuda.manual_seed_all(SEED)
    # Both transposed: the dimensions change places. One transposed: those of the index.
    matrix = p.view(100, 100)
    assert torch.equal(torch.bernoulli(matrix.t().clone().t()), drawn.view(100, 100))
    torch.cuda.manual_seed_all(SEED)
    target = torch.empty(100, 100, device="cuda").t()
    assert torch.equal(target.bernoulli_(matrix.t()), drawn.view(100, 100).t())
    torch.cuda.manual_seed_all(SEED)
    assert torch.equal(target.bernoulli_(matrix), drawn.view(100, 100))


@pytest.mark.parametrize(
    ("dtype", "size"),
    [(torch.float32, 4), (torch.float16, 8), (torch.bfloat16, 8), (torch.float64, 2)],
)
def test_fused_dropout_gives_a_thread_a_vector(dtype: torch.dtype, size: int) -> None:
    # The release of CUDA for this torch has vectors of 16 bytes.
    count = 3 * THREADS * 8
    kept = torch.nn.functional.dropout(torch.ones(count, device="cuda", dtype=dtype), 0.25) != 0
    blocks = -(-size // 4)
    for i in places(count):
        vector, part = divmod(i, size)
        of_round, thread = divmod(vector, THREADS)
        words = block(thread, of_round * blocks + part // 4)
        assert kept[i].item() == (words[part % 4] * 2.0**-32 < 0.75)
    assert torch.cuda.default_generators[0].get_offset() == 4 * 6


def test_fused_dropout_without_vectors() -> None:
    expected = [uniform(i, 15) < 0.5 for i in range(15)]
    x = torch.ones(15, device="cuda")
    dropped, mask = torch.native_dropout(x, 0.5, True)
    assert mask.tolist() == expected and dropped.tolist() == [2.0 * kept for kept in expected]
    torch.cuda.manual_seed_all(SEED)
    transposed = torch.ones(3, 5, device="cuda").t()
    _, mask = torch.native_dropout(transposed, 0.5, True)
    assert mask.flatten().tolist() == expected and mask.stride() == (1, 5)
    torch.cuda.manual_seed_all(SEED)
    offset = torch.ones(17, device="cuda")[1:]  # no vector begins there
    expected = [uniform(i, 16) < 0.5 for i in range(16)]
    assert torch.native_dropout(offset, 0.5, True)[1].tolist() == expected
    assert torch.native_dropout(x, 1.0, True)[0].tolist() == [0.0] * 15
    assert torch.native_dropout(x, 0.5, False)[1].all()


def test_randperm_sorts_keys() -> None:
    count = 1000
    drawn = torch.randperm(count, device="cuda")
    torch.cuda.manual_seed_all(SEED)
    keys = torch.empty(count, dtype=torch.int32, device="cuda").random_(-(2**31), 2**31 - 1)
    # Randperm.cu: so many that all keys differ with a probability of 0.9.
    bits = math.ceil(math.log2(count - (6 * count**2 + 1) / (12 * math.log(0.9))))
    order = sorted(range(count), key=lambda i: keys[i].item() & 2**bits - 1)
    assert drawn.tolist() == order
    assert torch.cuda.default_generators[0].get_offset() == 4
    torch.cuda.manual_seed_all(SEED)
    torch.randperm(count, device="cuda")
    assert torch.cuda.default_generators[0].get_offset() == 4 + count
    large = torch.randperm(100_000, device="cuda", dtype=torch.int32)
    assert torch.equal(large.sort().values.cpu(), torch.arange(100_000, dtype=torch.int32))


def test_samples_with_replacement() -> None:
    weights = torch.tensor([[0.0, 1, 3, 0], [2, 0, 1, 1]], device="cuda")
    drawn = torch.multinomial(weights, 200, replacement=True)
    sums = [[0, 0.25, 1, 1], [0.5, 0.5, 0.75, 1]]
    for row in range(2):
        for i in range(200):
            number = block(row * 256 + i)[0] * 2.0**-32
            expected = next(
                c for c, s in enumerate(sums[row]) if s >= number and weights[row, c] > 0
            )
            assert drawn[row, i].item() == expected
    assert torch.cuda.default_generators[0].get_offset() == 4


def test_samples_of_half_types_are_those_of_an_h200() -> None:
    """Sums are rounded to the type and added up as a block of threads does."""
    expected = {
        (torch.bfloat16, 7, 1000, 20): [354, 900, 734, 808, 516, 983, 622, 580],
        (torch.bfloat16, 300, 50, 100): [17, 45, 36, 40, 25, 49, 30, 28],
        (torch.float16, 300, 50, 100): [17, 45, 36, 40, 25, 49, 31, 28],
    }
    for (dtype, rows, columns, count), first in expected.items():
        torch.cuda.manual_seed(H200_SEED)
        weights = torch.arange(1, columns + 1, device="cuda").to(dtype).expand(rows, columns)
        drawn = torch.multinomial(weights, count, replacement=True)
        assert drawn.flatten()[:8].tolist() == first
    # The sum is more than the largest float16 number.
    weights = torch.arange(1, 1001, device="cuda").half()
    with pytest.raises(RuntimeError, match="sum of probabilities <= 0"):
        torch.multinomial(weights, 20, replacement=True)


def test_random_slopes() -> None:
    x = torch.tensor([-1.0, 2, -3, 4], device="cuda")
    noise = torch.empty(4, device="cuda")
    y = torch.ops.aten.rrelu_with_noise(x, noise, 0.1, 0.3, True)
    for i in range(4):
        slope = torch.tensor(uniform(i, 4), dtype=torch.float64) * (0.3 - 0.1) + 0.1
        assert noise[i].item() == (1.0 if i % 2 else slope.float().item())
    assert torch.equal(y, x * noise)
