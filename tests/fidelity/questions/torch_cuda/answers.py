"""What torch.cuda says of a device and of its build."""

import inspect

import torch
from recorder.registry import expressions, question

EXCLUSIVE = True

expressions(
    """
    torch.cuda.is_available()
    torch.cuda.is_initialized()
    torch.cuda.get_device_name()
    torch.cuda.get_device_name(0)
    torch.cuda.get_device_capability()
    torch.cuda.get_arch_list()
    torch.cuda.get_gencode_flags()
    torch.cuda.is_bf16_supported()
    torch.cuda.is_bf16_supported(including_emulation=False)
    torch.cuda.is_tf32_supported()
    torch.cuda.current_device()
    torch.cuda.get_sync_debug_mode()
    torch.cuda.has_half
    torch.cuda.has_magma
    torch.cuda.device_memory_used(0) > 0
    torch.cuda.default_stream().cuda_stream
    torch.cuda.default_stream().priority
    torch.cuda.current_stream() == torch.cuda.default_stream()
    torch.cuda.Stream().query()
    torch.cuda.Stream.priority_range()
    torch.cuda.Stream(priority=-1).priority
    torch.cuda.Stream(priority=0).priority
    torch.cuda.Stream(priority=-3).priority
    torch.cuda.Event().query()
    torch.cuda.ipc_collect()
    len({torch.cuda.Stream().cuda_stream for _ in range(100)})
    len({torch.cuda.Stream(priority=-1).cuda_stream for _ in range(100)})
    repr(torch.cuda.default_stream())
    torch.cuda.default_stream().stream_id
    torch.cuda.Stream().stream_id
    torch.cuda.Stream(priority=-1).stream_id
    torch.cuda.Stream().device
    torch.cuda.Stream().device_index
    torch.cuda.get_rng_state().shape
    torch.cuda.get_rng_state().dtype
    torch.cuda.get_rng_state().device
    torch.cuda.manual_seed(5); torch.cuda.get_rng_state()
    torch.cuda.manual_seed(-5); torch.cuda.get_rng_state()
    torch.cuda.manual_seed(5); torch.cuda.initial_seed()
    torch.cuda.manual_seed(5); torch.rand(3, device='cuda'); torch.cuda.get_rng_state()
    torch.Generator('cuda').initial_seed()
    torch.Generator('cuda').get_state()
    torch.cuda.get_per_process_memory_fraction()
    torch.cuda.get_allocator_backend()
    torch.cuda.memory.get_allocator_backend()
    torch.cuda.mem_get_info()[1]
    torch.cuda.mem_get_info()[0] < torch.cuda.mem_get_info()[1]
    torch.cuda.memory_stats()
    torch.cuda.memory_stats_as_nested_dict()
    torch.cuda.memory_summary().splitlines()[:3]
    sorted(torch.cuda.host_memory_stats())
    torch.cuda.cudart().cudaError.success
    torch.cuda.cudart().cudaMemGetInfo(0)[1]
    torch.cuda.nccl.version()
    torch.cuda.nccl.is_available([torch.ones(1, device='cuda')])
    torch.cuda.amp.common.amp_definitely_not_available()
    torch.cuda.tunable.is_enabled()
    torch.cuda.tunable.get_max_tuning_duration()
    torch.cuda.tunable.get_max_tuning_iterations()
    torch.cuda.tunable.get_filename()
    torch.cuda.tunable.get_validators()
    torch.cuda.is_current_stream_capturing()
    torch.cuda.graph_pool_handle()
    torch.cuda._get_pg_default_device() if hasattr(torch.cuda, '_get_pg_default_device') else None
    torch.version.cuda
    torch.version.hip
    torch.version.xpu
    torch.backends.cuda.is_built()
    torch.backends.cudnn.version()
    torch.backends.cudnn.is_available()
    torch.backends.cudnn.is_acceptable(torch.ones(1, device='cuda'))
    torch.backends.cudnn.is_acceptable(torch.ones(1, device='cuda').long())
    torch.backends.cudnn.enabled
    torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark_limit
    torch.backends.cudnn.deterministic
    torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.conv.fp32_precision
    torch.backends.cudnn.rnn.fp32_precision
    torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.fp32_precision
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction
    torch.backends.cuda.matmul.allow_fp16_accumulation
    torch.backends.cuda.flash_sdp_enabled()
    torch.backends.cuda.mem_efficient_sdp_enabled()
    torch.backends.cuda.math_sdp_enabled()
    torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed()
    torch.backends.cuda.is_flash_attention_available()
    torch.backends.cuda.preferred_linalg_library()
    torch.backends.cuda.preferred_blas_library()
    torch.backends.cuda.preferred_rocm_fa_library()
    torch.backends.cuda.cufft_plan_cache.size
    torch.backends.cuda.cufft_plan_cache.max_size
    torch.fft.fft(torch.ones(8, device='cuda')); torch.backends.cuda.cufft_plan_cache.size
    torch.backends.cusparselt.is_available()
    torch.backends.cusparselt.version()
    torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision('high'); torch.backends.cuda.matmul.allow_tf32
    torch.set_float32_matmul_precision('medium'); torch.backends.cuda.matmul.fp32_precision
    torch.accelerator.is_available()
    torch.accelerator.current_accelerator()
    torch.accelerator.device_count() >= 1
    torch.accelerator.current_device_index()
    torch.accelerator.current_stream()
    torch.get_device_module()
    torch.get_default_device()
    torch.distributed.is_nccl_available()
    torch.distributed.is_gloo_available()
    torch.cuda.can_device_access_peer(0, 0)
    torch.cuda.FloatTensor(2, 3).type()
    torch.ones(1, device='cuda').type()
    torch.ones(1, device='cuda').get_device()
    torch.ones(1, device='cuda').is_cuda
    torch.ones(1, device='cuda').data_ptr() % 512
    torch.ones(1, device='cuda').untyped_storage().device
    torch.ones(1, device='cuda').untyped_storage().nbytes()
    repr(torch.ones(2, device='cuda'))
    repr(torch.ones(2, device='cuda').untyped_storage())[:200]
    repr(torch.nn.Parameter(torch.ones(2, device='cuda')))
    torch.ones(1, device='cuda').__dlpack_device__()
    torch.ones(1, device='cuda').__cuda_array_interface__['version']
    sorted(torch.ones(1, device='cuda').__cuda_array_interface__)
    torch.ones(2, device='cuda').is_pinned()
    torch.ones(2, device='cuda').is_shared()
    torch.ones(2).pin_memory().is_pinned()
    torch.ones(2).pin_memory().device
    torch.ones(2, pin_memory=True).to('cuda', non_blocking=True).device
    torch.device('cuda').index
    torch.device('cuda', 0) == torch.ones(1, device='cuda').device
    torch.get_autocast_dtype('cuda')
    torch.is_autocast_enabled('cuda')
    torch.amp.autocast_mode.is_autocast_available('cuda')
    torch.empty(0, device='cuda').element_size()
    torch._C._cuda_getCompiledVersion()
    torch._C._get_cublas_allow_tf32()
    torch._C._get_cudnn_allow_tf32()
    torch._C._cuda_getCurrentBlasHandle() != 0
    torch._C._has_mkldnn
    torch.__config__.show().count('CUDA') > 0
    """,
    {"torch": torch},
)


@question()
def properties():
    """Every field that is a number or a text; the UUID and places on the bus are a machine's."""
    given = torch.cuda.get_device_properties(0)
    names = [n for n in dir(given) if not n.startswith("_")]
    own = ("uuid", "pci_bus_id", "pci_device_id", "pci_domain_id")
    values = {n: getattr(given, n) for n in names if n not in own}
    return {n: v for n, v in values.items() if isinstance(v, (int, float, str))}


@question()
def fields_of_properties():
    return sorted(n for n in dir(torch.cuda.get_device_properties(0)) if not n.startswith("_"))


@question()
def text_of_properties():
    import re

    return re.sub(r"(uuid|pci_\w+)=[\w-]+", r"\1=X", repr(torch.cuda.get_device_properties(0)))


@question()
def names_in_torch_c():
    """Which of CUDA's names the build has in torch._C."""
    return sorted(n for n in dir(torch._C) if n.startswith(("_cuda", "_cudnn", "_nccl", "_CUDA")))


@question()
def functions_without_arguments():
    """What each public function of torch.cuda answers that can be called without an argument."""
    told = {}
    left_out = ("seed", "init", "memory_summary", "temperature", "power_draw", "clock_rate")
    left_out += ("utilization", "memory_usage", "device_memory_used", "list_gpu_processes")
    left_out += ("mem_get_info", "get_rng_state_all", "device_count", "initial_seed")
    left_out += ("memory_snapshot",)
    for name in torch.cuda.__all__:
        function = getattr(torch.cuda, name)
        if name in left_out or not inspect.isfunction(function):
            continue
        parameters = inspect.signature(function).parameters.values()
        if any(p.default is p.empty and p.kind not in (2, 4) for p in parameters):
            continue
        try:
            told[name] = function()
        except Exception as error:
            told[name] = [type(error).__name__, str(error)]
    return told


@question(devices=2)
def peers():
    return [torch.cuda.can_device_access_peer(0, 1), torch.cuda.can_device_access_peer(1, 0)]


@question(devices=2)
def two_devices():
    torch.cuda.set_device(1)
    first = torch.ones(2, device="cuda:0")
    second = torch.ones(2, device="cuda")
    told = [second.device, first.to("cuda:1").device, torch.cuda.current_stream().device]
    try:
        first + second
    except RuntimeError as error:
        told.append(str(error))
    return told
