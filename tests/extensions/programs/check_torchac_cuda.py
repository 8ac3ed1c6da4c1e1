"""Arithmetic coding: its distributions by counting, and what it packs comes back from it."""

import torch
import torchac_cuda

torch.manual_seed(0)
BYTES = 256
for layers, tokens, channels, bins in ((2, 200, 128, 32), (1, 57, 6, 16), (3, 256, 96, 5)):
    symbols = torch.randn(layers, tokens, channels, device="cuda").mul(bins / 6).add(bins / 2)
    symbols = symbols.clamp(0, bins - 1).to(torch.int8)

    cdf = torchac_cuda.calculate_cdf(symbols, bins)
    counts = torch.nn.functional.one_hot(symbols.long(), bins).sum(1).cumsum(-1)
    plain = torch.cat([counts.new_zeros(layers, channels, 1), counts], -1)
    plain = plain * (0xFFFF - bins) // tokens + torch.arange(bins + 1, device="cuda")
    assert torch.equal(cdf.long() & 0xFFFF, plain)

    packed = torch.zeros(layers, channels, BYTES, dtype=torch.uint8, device="cuda")
    lengths = torch.zeros(layers, channels, dtype=torch.int, device="cuda")
    torchac_cuda.encode_fast_new(cdf, symbols, packed, lengths)
    assert (lengths > 0).all()
    # As short as the distribution's entropy allows, to within what ends a stream.
    probabilities = (plain[..., 1:] - plain[..., :-1]).double() / 0x10000
    information = -torch.log2(probabilities.gather(2, symbols.long().transpose(1, 2))).sum(2)
    assert (lengths * 8 >= information - 1).all()
    assert (lengths * 8 <= information + 24).all(), (lengths * 8 - information).max()

    unpacked = torch.zeros(layers, tokens, channels, dtype=torch.uint8, device="cuda")
    torchac_cuda.decode_fast_new(cdf, packed, lengths, unpacked)
    assert torch.equal(unpacked.long(), symbols.long())

    stream = torch.cat(
        [
            row[:length]
            for row, length in zip(packed.flatten(0, 1), lengths.flatten().tolist(), strict=True)
        ]
    )
    ends = lengths.flatten().cumsum(0).view(layers, channels)
    unpacked.zero_()
    torchac_cuda.decode_fast_prefsum(cdf, stream, ends, unpacked)
    assert torch.equal(unpacked.long(), symbols.long())
print("right")
