import torch
import torch_scatter

torch.manual_seed(0)
for dtype in (torch.float, torch.double, torch.half, torch.long):
    source = (torch.randn(1000, 7) * 10).to(dtype).cuda()
    index = torch.sort(torch.randint(0, 50, (1000,)))[0].cuda()
    wide = index.view(-1, 1).expand(-1, 7)
    plain = torch.zeros(50, 7, dtype=dtype, device="cuda").index_add_(0, index, source)
    tolerance = {"rtol": 1e-2, "atol": 0.5} if dtype is torch.half else {"rtol": 1e-5, "atol": 1e-3}
    torch.testing.assert_close(torch_scatter.scatter_sum(source, index, 0), plain, **tolerance)
    torch.testing.assert_close(torch_scatter.segment_sum_coo(source, index), plain, **tolerance)
    pointers = torch.cat([index.new_zeros(1), torch.bincount(index, minlength=50).cumsum(0)])
    torch.testing.assert_close(torch_scatter.segment_sum_csr(source, pointers), plain, **tolerance)
    most, where = torch_scatter.scatter_max(source, index, 0, dim_size=50)
    reference = plain.new_full((50, 7), -1000).scatter_reduce_(0, wide, source, "amax")
    assert torch.equal(most, reference)
    assert torch.equal(source.gather(0, where), most)
print("right")
