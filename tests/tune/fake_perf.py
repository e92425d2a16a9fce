#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A measuring program whose times are known: it answers heats as chevron-perf and chevron-perf-cuda do, from a formula.

    FAKE_LOG      a file to which every heat is written before it is answered
    FAKE_KILL     after so many heats the program that asks is killed
    FAKE_FAIL     an algorithm that fails
    FAKE_WRONG    an algorithm that gives wrong elements
"""

import hashlib
import json
import os
import signal
import sys

MOST_LANES = 40


def option(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1]


def true_time(ranks: int, element: str, on_device: bool, size: int, policy: dict) -> float:
    """Microseconds of a call: latency, and the time that its bytes take with so many lanes and threads."""
    latency, traffic = {
        "one_shot_push": (1.0, 2.0 * (ranks - 1)),
        "one_shot_pull": (1.6, 1.1 * (ranks - 1)),
        "two_shot_push": (1.5, 1.9),
        "reduce_scatter_all_gather": (3.0, 1.3),
        "reduce_scatter_all_gather_zero_copy": (2.0, 0.8 if element == "float" else 1.0),
        "reduce_scatter_all_gather_push": (3.5, 1.2),
    }[policy["algorithm"]]
    if not on_device:
        return latency + traffic * size / 10e3 * (0.7 if policy["stores"] == "non_temporal" and size > 1 << 20 else 1.0)
    lanes, threads = int(policy["lanes"]) or 16, int(policy["threads"])
    width = min(lanes * threads, 32 * 512)
    latency += 0.02 * lanes + 0.0005 * threads
    latency *= {"at_once": 1.0, "when_sent": 0.9 if ranks > 2 else 1.1, "when_met": 1.2, "never": 1.5}[policy["let_go"]]
    return latency + traffic * size / (width * 12.0)


def noise(*what) -> float:
    """One of a thousand steps from -1 % to 1 %, always the same for the same."""
    digest = hashlib.sha256(repr(what).encode()).digest()
    return 1 + 0.02 * (int.from_bytes(digest[:4], "big") % 1000 / 1000 - 0.5)


def main() -> int:
    ranks, element, on_device = int(option("--ranks")), option("-d"), "--devices" in sys.argv
    transport = "cuda_peer" if on_device else option("--transport")
    every = transport == "host_threads" or (on_device and len(set(option("--devices").split(","))) == 1)
    machine = {"cpu": 'Fake "CPU"', "cores": 2, "gpu": "Fake GPU" if on_device else None, "date": "2000-01-01T00:00:00Z"}
    greeting = {"transport": transport, "ranks": ranks, "element": element, "machine": machine, "start_seconds": 0.0}
    print(json.dumps({**greeting, "every_pointer_is_in_a_window": every}), flush=True)
    policies: dict[str, dict] = {}
    heats = 0
    for line in sys.stdin:
        kind, *words = line.split()
        if kind == "policy":
            policies[words[0]] = dict(word.split("=") for word in words[1:])
            continue
        options = dict(word.split("=") for word in words if "=" in word)
        size, rounds = int(options["bytes"]), int(options["rounds"])
        if log := os.environ.get("FAKE_LOG"):
            with open(log, "a") as file:
                file.write(f"{ranks} {element} {' '.join(words[:3])} {[policies[name] for name in words if name in policies]}\n")
        spent = 0.0
        failed = False
        for name in [word for word in words if word in policies]:
            policy = policies[name]
            answer = {"policy": name, "bytes": size}
            if on_device and int(policy["lanes"]) > MOST_LANES:
                answer["left_out"] = "no room"
                answer["launch"] = {**policy, "lanes": MOST_LANES}
            elif policy["algorithm"] == os.environ.get("FAKE_FAIL"):
                answer["error"] = "it was told to fail"
                failed = True
            elif not on_device and policy["stores"] == "non_temporal" and "pull" in policy["algorithm"]:
                answer["left_out"] = "the same as another"
            else:
                time = true_time(ranks, element, on_device, size, policy)
                answer["us"] = [time * noise(sorted(policy.items()), ranks, element, sorted(options.items()), place) for place in range(rounds)]
                answer["calls"] = 10
                answer["launch"] = {key: policy[key] for key in ("lanes", "threads", "packs", "ordering", "let_go")} if on_device else None
                answer["wrong"] = None
                if options.get("check"):
                    answer["wrong"] = 3 if policy["algorithm"] == os.environ.get("FAKE_WRONG") else 0
                spent += 1e-6 * 50 * sum(answer["us"]) + 1e-3
            print(json.dumps(answer), flush=True)
            if failed:
                break
        print(json.dumps({"heat": size, "seconds": spent}), flush=True)
        if failed:
            return 1
        heats += 1
        if heats == int(os.environ.get("FAKE_KILL", -1)):
            os.kill(os.getppid(), signal.SIGKILL)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
