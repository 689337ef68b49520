"""Steps of an agent of ns3-gym per second of processor time, on the path of ``benches/environments.py``.

    python benches/ns3_gym.py SIM [STEPS]

``SIM`` is its example ``rl-tcp``, built against ns-3: on Debian 12 compile ``model/*.cc``, the file that ``protoc``
makes of ``model/messages.proto``, and ``examples/rl-tcp/*.cc`` of its branch app-ns-3.36+ with ``-O2`` against
libns3-dev 3.37, cppzmq-dev and libprotobuf-dev. The module ``ns3gym`` (``model/ns3gym``, with ``messages_pb2.py`` in
it) has to be found by Python; it needs gym 0.26, NumPy 1, pyzmq and protobuf 3.20.

One flow of 1,440-byte segments holds a window of 87 kB, of a BDP of 100 kB, and one step is 40 ms.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

PORT, STEP_S, WINDOW_BYTES = 5600, 0.04, 86_880
PATH = ("--bottleneck_bandwidth=20Mbps", "--bottleneck_delay=18ms", "--access_bandwidth=200Mbps", "--access_delay=1ms")


def processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    sim, steps = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    command = [
        sim, f"--openGymPort={PORT}", "--transport_prot=TcpRlTimeBased", f"--envTimeStep={STEP_S}", *PATH, "--nLeaf=1",
        "--data=0", "--mtu=1500", f"--duration={STEP_S * steps + 5:g}",
    ]  # fmt: skip
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        env = import_module("ns3gym.ns3env").Ns3Env(port=PORT, stepTime=STEP_S, startSim=False)
        env.reset()
        begun_s, own_s, its_s = time.monotonic(), time.process_time(), processor_s(child.pid)
        for _ in range(steps):
            # A threshold of slow start, which plays no part, and the window.
            env.step([0, WINDOW_BYTES])
        spent_s = time.process_time() - own_s + processor_s(child.pid) - its_s
        wall_s = time.monotonic() - begun_s
    finally:
        child.kill()
        child.wait()
    print(f"{steps / spent_s:.0f} steps per second of processor time, {steps / wall_s:.0f} per second of wall time")


if __name__ == "__main__":
    main()
