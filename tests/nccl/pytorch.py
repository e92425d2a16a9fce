#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs PyTorch's distributed package, unmodified, on libchevron-nccl.so: two processes on the one GPU, or on two.

    pytorch.py LIBRARY [NAME...]

Each part runs in processes of its own. Parts that broadcast or gather need an NCCL that can put two ranks on a device:
CHEVRON_NCCL_FALLBACK names it. Exits with 77, a skip, where no PyTorch or no GPU is.
"""

import functools
import os
import pathlib
import socket
import subprocess
import sys
import time

RANKS = 2


def data(torch, dtype, rank: int, count: int):
    """Small numbers that depend on rank and position: their sums and products are exact in every type."""
    at = torch.arange(count, device="cuda")
    return ((at * 7 + rank * 3) % 4 + 1).to(torch.float32).to(dtype)


def as_exact(torch, tensor):
    return tensor.to(torch.float64) if tensor.dtype.is_floating_point else tensor.to(torch.int64)


def all_reduce(torch, dist, rank: int) -> None:
    combine = {
        "SUM": lambda a, b: a + b,
        "PRODUCT": lambda a, b: a * b,
        "MIN": lambda a, b: a.minimum(b),
        "MAX": lambda a, b: a.maximum(b),
        "AVG": lambda a, b: (a + b) / 2,
    }
    names = ["float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int8", "uint8", "int32", "int64"]
    calls = 0
    for name in names:
        dtype = getattr(torch, name)
        for op, function in combine.items():
            if op == "AVG" and not dtype.is_floating_point:
                continue  # PyTorch's rule for integers is its own
            for count in (1, 3, 1000, 65537, 1 << 20):
                mine = data(torch, dtype, rank, count)
                want = functools.reduce(function, [as_exact(torch, data(torch, dtype, r, count)) for r in range(RANKS)])
                try:
                    dist.all_reduce(mine, op=getattr(dist.ReduceOp, op))
                except (RuntimeError, TypeError) as error:
                    # What PyTorch itself refuses before it calls NCCL.
                    assert "float8" in name.lower() or "Float8" in str(error), (name, op, error)
                    break
                assert torch.equal(as_exact(torch, mine), as_exact(torch, want.to(dtype))), (name, op, count)
                calls += 1
    flags = torch.tensor([rank == 0, False, True], device="cuda")
    dist.all_reduce(flags, op=dist.ReduceOp.MAX)
    assert flags.tolist() == [True, False, True]
    factor = 0.5 + rank
    scaled = data(torch, torch.float32, rank, 1000)
    want = sum(data(torch, torch.float32, r, 1000) * (0.5 + r) for r in range(RANKS))
    dist.all_reduce(scaled, op=dist._make_nccl_premul_sum(factor))
    assert torch.equal(scaled, want)
    assert calls > 150, calls
    print(f"{calls} calls")


def graph(torch, dist, rank: int) -> None:
    for count in (256, 1 << 20, (1 << 20) + 3):
        buffer = torch.zeros(count, device="cuda", dtype=torch.bfloat16)
        dist.all_reduce(buffer)  # PyTorch makes its communicator at the first call
        torch.cuda.synchronize()
        made = torch.cuda.CUDAGraph()
        with torch.cuda.graph(made):
            result = buffer * 2
            dist.all_reduce(result)
            result += 1
        for step in range(100):
            buffer.copy_(data(torch, torch.bfloat16, rank + step, count))
            made.replay()
            want = sum(data(torch, torch.bfloat16, r + step, count) * 2 for r in range(RANKS)) + 1
            assert torch.equal(result, want), (count, step)


def data_parallel(torch, dist, rank: int) -> None:
    def model():
        torch.manual_seed(5)
        return torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 8)).cuda()

    def train(network, inputs, targets):
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(network(inputs), targets).backward()
            optimizer.step()
        return [parameter.detach().clone() for parameter in network.parameters()]

    generator = torch.Generator(device="cuda").manual_seed(6)
    inputs = torch.randn(RANKS * 32, 64, device="cuda", generator=generator)
    targets = torch.randn(RANKS * 32, 8, device="cuda", generator=generator)
    mine = slice(rank * 32, (rank + 1) * 32)
    network = torch.nn.parallel.DistributedDataParallel(model(), device_ids=[torch.cuda.current_device()])
    apart = train(network, inputs[mine], targets[mine])
    alone = train(model(), inputs, targets)
    for one, other in zip(apart, alone):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


def tensor_parallel(torch, dist, rank: int) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    def model():
        torch.manual_seed(7)
        return torch.nn.Sequential(torch.nn.Linear(128, 512), torch.nn.ReLU(), torch.nn.Linear(512, 64)).cuda()

    generator = torch.Generator(device="cuda").manual_seed(8)
    inputs = torch.randn(16, 128, device="cuda", generator=generator)
    split = parallelize_module(model(), init_device_mesh("cuda", (RANKS,)),
                               {"0": ColwiseParallel(), "2": RowwiseParallel()})
    result = split(inputs)
    result.sum().backward()
    alone = model()
    want = alone(inputs)
    want.sum().backward()
    torch.testing.assert_close(result, want, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(split[2].bias.grad.full_tensor(), alone[2].bias.grad)
    print(f"at most {(result - want).abs().max().item():.1e} apart")


def dies(torch, dist, rank: int) -> None:
    buffer = torch.ones(1 << 20, device="cuda")
    dist.all_reduce(buffer)
    torch.cuda.synchronize()
    if rank == 1:
        os._exit(9)
    print("waiting", flush=True)
    dist.all_reduce(buffer)
    torch.cuda.synchronize()
    time.sleep(60)  # PyTorch's watchdog ends the process
    print("not reported")


PARTS = {"all_reduce": all_reduce, "graph": graph, "data_parallel": data_parallel, "tensor_parallel": tensor_parallel,
         "dies": dies}


def work(name: str, rank: int, port: str) -> None:
    import torch
    import torch.distributed as dist

    torch.backends.cuda.matmul.allow_tf32 = False
    device = torch.device("cuda", rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS, device_id=device)
    PARTS[name](torch, dist, rank)
    dist.destroy_process_group()


def run(name: str, library: str) -> bool:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    environment = dict(os.environ, LD_PRELOAD=library, CHEVRON_NCCL_LOG="1")
    began = time.monotonic()
    processes = [
        subprocess.Popen([sys.executable, __file__, "--work", name, str(rank), port], env=environment,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for rank in range(RANKS)
    ]
    outputs = []
    for process in processes:
        try:
            outputs.append(process.communicate(timeout=120)[0])
        except subprocess.TimeoutExpired:
            process.kill()
            outputs.append(process.communicate()[0] + "\n(killed: took too long)")
    codes = [process.returncode for process in processes]
    here = sum(text.count("chevron: ncclAllReduce") for text in outputs)
    if name == "dies":
        good = codes[1] == 9 and codes[0] not in (0, None) and "not reported" not in outputs[0] and \
            "killed: took" not in outputs[0]
    else:
        good = codes == [0] * RANKS and here > 0
    said = [line for text in outputs for line in text.splitlines() if not line.startswith("chevron: ")]
    print(f"{name}: {'passed' if good else 'FAILED'}, {here} all-reduces asked of chevron, exit codes {codes}, "
          f"{time.monotonic() - began:.0f} s; {' | '.join(said[:1])}", flush=True)
    if not good or name == "dies":
        print("\n".join("  " + line for text in outputs for line in text.splitlines()[-25:]))
    return good


def main() -> int:
    if sys.argv[1] == "--work":
        work(sys.argv[2], int(sys.argv[3]), sys.argv[4])
        return 0
    try:
        import torch
    except ImportError:
        print("skipped: there is no PyTorch")
        return 77
    if not torch.cuda.is_available():
        print("skipped: PyTorch sees no GPU")
        return 77
    names = sys.argv[2:] or list(PARTS)
    results = [run(name, str(pathlib.Path(sys.argv[1]).resolve())) for name in names]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
