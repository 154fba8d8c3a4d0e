"""A KV-event subscriber on pyzmq and msgpack: it rebuilds the set of resident blocks and compares it with the engine's own.

It starts its own server, sends 2,000 requests, and does it twice: subscribed from the start, and late, through the
replay socket.
"""
import concurrent.futures
import json
import random
import re
import socket
import struct
import subprocess
import time
import urllib.request

import msgpack
import zmq

REQUESTS = 2000


def free_ports():
    while True:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        if port < 60000:
            return port, port + 1


class Mirror:
    """The set of blocks that the events add up to."""

    def __init__(self):
        self.blocks, self.next = set(), 0

    def apply(self, seq, payload):
        if seq != self.next:
            return  # seen already, or beyond a gap that the replay socket will fill
        self.next += 1
        _, events, rank = msgpack.unpackb(payload)
        assert rank == 0
        for e in events:
            if e["type"] == "BlockStored":
                assert len(e["token_ids"]) == len(e["block_hashes"]) * e["block_size"]
                self.blocks.update(e["block_hashes"])
            else:
                self.blocks.difference_update(e["block_hashes"])


def post(base, body):
    request = urllib.request.Request(base + "/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def load(base, count, rng):
    stems = [[rng.randrange(1000, 90000) for _ in range(200)] for _ in range(12)]
    bodies = []
    for _ in range(count):
        stem = rng.choice(stems)
        prompt = stem[: rng.randrange(1, 200)] + [rng.randrange(1000, 90000) for _ in range(rng.randrange(1, 60))]
        bodies.append({"model": "m", "prompt": prompt, "max_tokens": rng.randrange(1, 40), "ignore_eos": True})
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda body: post(base, body), bodies))


def resident(base):
    with urllib.request.urlopen(base + "/sim/kv_blocks") as response:
        return set(json.load(response)["block_hashes"])


def drain(sub, mirror):
    while sub.poll(500):
        _, seq, payload = sub.recv_multipart()
        mirror.apply(struct.unpack(">Q", seq)[0], payload)


def replay(context, port, mirror):
    dealer = context.socket(zmq.DEALER)
    dealer.connect(f"tcp://127.0.0.1:{port}")
    dealer.send_multipart([b"", struct.pack(">Q", mirror.next)])
    while True:
        assert dealer.poll(5000), "no answer from the replay socket"
        *_, seq, payload = dealer.recv_multipart()
        number = struct.unpack(">q", seq)[0]
        if number < 0:
            return
        mirror.apply(number, payload)


def main():
    port, replay_port = free_ports()
    for backend in ("vllm", "sglang", "trtllm"):
        server = subprocess.Popen(
            ["fakellm", "serve", "--fast", "--port", "0", "--backend", backend, "--block-size", "16", "--num-gpu-blocks", "400",
             "--chunked-prefill-size", "4096", "--zmq-kv-events-port", str(port), "--zmq-replay-port", str(replay_port)],
            stdout=subprocess.PIPE, text=True)
        try:
            base = re.search(r"http://\S+", server.stdout.readline())[0]
            context = zmq.Context()
            sub = context.socket(zmq.SUB)
            sub.set_hwm(0)
            sub.subscribe(b"")
            sub.connect(f"tcp://127.0.0.1:{port}")
            time.sleep(0.5)
            live, late, rng = Mirror(), Mirror(), random.Random(7)
            for _ in range(10):
                load(base, REQUESTS // 10, rng)
                drain(sub, live)
            want = resident(base)
            if live.blocks != want:
                replay(context, replay_port, live)  # what a full queue dropped
            assert live.blocks == want, f"{backend}: {len(live.blocks ^ want)} blocks differ"
            replay(context, replay_port, late)
            assert late.blocks == want, f"{backend}, late: {len(late.blocks ^ want)} blocks differ"
            print(f"{backend}: {live.next} batches, {len(want)} resident blocks, equal live and late")
            context.destroy(linger=0)
        finally:
            server.terminate()
            server.wait(30)
        port, replay_port = free_ports()


main()
