"""Write the profiles and golden points of this folder (numpy 2.4, scipy 1.17): python make.py

grid.npz (doubles), mixed.npz (integers and singles, compressed) and fortran.npz (column-major) hold the same uneven grid;
points.csv has 1,000 random points on and around it as scipy.interpolate sees them, before any floor; results/ and
results-json/ are a profiler's directory in both forms, converted.csv what least squares on the 100-point grids gives.
reference.npz is the profile of the reference scenarios (shared goldens, replay/profile.npz).
"""

import json
import os

import numpy as np
from scipy.interpolate import RegularGridInterpolator, interp1d

rng = np.random.default_rng(7)
isl = np.array([16, 100, 128, 777, 1024, 4096, 9000, 32768], dtype=np.int64)
ttft = np.round(5 + isl * 0.011 + rng.uniform(0, 8, len(isl)), 3)
kv = np.array([0, 64, 1000, 4097, 60000, 250000], dtype=np.int32)
context = np.array([1, 17, 512, 2000, 9999], dtype=np.int64)
itl = np.round(4 + kv[:, None] * 7e-5 + context[None, :] * 3e-4 + rng.uniform(0, 3, (len(kv), len(context))), 3).astype(np.float32)
names = dict(prefill_isl=isl, prefill_ttft_ms=ttft, decode_active_kv_tokens=kv, decode_context_length=context, decode_itl=itl)
np.savez("grid.npz", **{k: v.astype(np.float64) for k, v in names.items()})
np.savez_compressed("mixed.npz", extra=np.arange(3), **names)
np.savez("fortran.npz", **{**names, "decode_itl": np.asfortranarray(itl.astype(np.float64))})

line = interp1d(isl, ttft, fill_value="extrapolate")
plane = RegularGridInterpolator((kv.astype(float), context.astype(float)), itl.astype(float), bounds_error=False, fill_value=None)
with open("points.csv", "w") as f:
    for _ in range(1000):
        x, k, c = rng.integers(1, 50000), rng.integers(0, 400000), rng.integers(1, 15000)
        if rng.random() < 0.1:
            x, k, c = rng.choice(isl), rng.choice(kv), rng.choice(context)
        f.write(f"{x},{float(line(x))!r},{k},{c},{float(plane((k, c))[()])!r}\n")

prefill = dict(prefill_isl=np.arange(100, 16000, 997), prefill_thpt_per_gpu=np.zeros(16))
prefill["prefill_ttft"] = 12 + prefill["prefill_isl"] * 0.021 + rng.normal(0, 4, 16)
pool = 945029
share, length = [a.ravel() for a in np.meshgrid(np.linspace(0.0004, 0.95, 7), np.array([350.0, 2997, 5644, 13585]))]
batch = np.maximum(1, np.round(share * pool / length))
decode = dict(x_kv_usage=share, y_context_length=length, z_itl=4 + batch * 0.01 + share * 30 + rng.normal(0, 1, len(share)))
for name, data in (("prefill", prefill), ("decode", decode)):
    os.makedirs(f"results/selected_{name}_interpolation", exist_ok=True)
    os.makedirs("results-json", exist_ok=True)
    extra = {"max_kv_tokens": np.array([pool])} if name == "decode" else {}
    np.savez(f"results/selected_{name}_interpolation/raw_data.npz", **data, **extra)
    plain = {k: v.tolist() for k, v in data.items()} | ({"max_kv_tokens": pool} if extra else {})
    with open(f"results-json/{name}_raw_data.json", "w") as f:
        json.dump(plain, f)

design = np.column_stack([np.ones(16), prefill["prefill_isl"]])
p0, p1 = np.linalg.lstsq(design, prefill["prefill_ttft"] / 1000, rcond=None)[0]
tokens = np.round(share * pool)
requests = np.maximum(1, np.round(tokens / length))
d0, d1, d2 = np.linalg.lstsq(np.column_stack([np.ones(len(share)), requests, tokens]), decode["z_itl"] / 1000, rcond=None)[0]
assert d1 > 0 and d2 > 0
xs = np.linspace(prefill["prefill_isl"].min(), prefill["prefill_isl"].max(), 100)
ks, cs = np.linspace(0, tokens.max(), 100), np.linspace(1, (tokens / requests).max(), 100)
with open("converted.csv", "w") as f:
    for i, j in [(0, 0), (0, 99), (99, 0), (99, 99)] + [tuple(rng.integers(0, 100, 2)) for _ in range(60)]:
        value = max(1e-6, d0 + d1 * max(1, ks[i] / cs[j]) + d2 * ks[i]) * 1000
        f.write(f"{i},{xs[i]!r},{max(1e-6, p0 + p1 * xs[i]) * 1000!r},{ks[i]!r},{j},{cs[j]!r},{value!r}\n".replace("np.float64(", "").replace(")", ""))
