#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""12 usual models through torch.compile(backend="fusec"), next to eager: what was taken, and how far results are off.

    PYTHONPATH=build/python PYTHON-WITH-TORCH bench/python_models.py [MODEL...] [--train] [--double] [--time]
        [--inductor] [--device cuda] [--kernels N]

Needs torch, torchvision and transformers; weights are random. --train compares gradients, too. Results and gradients
are compared with those of eager in float64, next to eager's own in float32: models with batch normalisation of few
samples are so badly conditioned that both are far off. --double computes all in float64. --inductor: torch's own
compiler, too. --kernels: the N that take most of a call's time on the GPU, in microseconds. Prints a line of JSON for
each model.
"""

import argparse
import copy
import json
import time

import torch


def vision(name):
    def make():
        import torchvision

        return getattr(torchvision.models, name)(weights=None), torch.randn(2, 3, 224, 224)

    return make


class Block(torch.nn.Module):
    """Of an MLP-Mixer."""

    def __init__(self, n, d):
        super().__init__()
        linear, gelu = torch.nn.Linear, torch.nn.GELU
        self.a, self.b = torch.nn.LayerNorm(d), torch.nn.LayerNorm(d)
        self.tokens = torch.nn.Sequential(linear(n, n // 2), gelu(), linear(n // 2, n))
        self.channels = torch.nn.Sequential(linear(d, 4 * d), gelu(), linear(4 * d, d))

    def forward(self, x):
        x = x + self.tokens(self.a(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.b(x))


class Mixer(torch.nn.Module):
    def __init__(self, d=384, depth=6):
        super().__init__()
        self.stem, self.norm = torch.nn.Conv2d(3, d, 16, 16), torch.nn.LayerNorm(d)
        self.head = torch.nn.Linear(d, 1000)
        self.blocks = torch.nn.Sequential(*[Block(196, d) for _ in range(depth)])

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.stem(x).flatten(2).transpose(1, 2))).mean(1))


def language(kind):
    def make():
        import transformers as t

        ids, words = torch.randint(0, 1000, (2, 64)), {"vocab_size": 1000}
        if kind == "bert":
            return t.BertModel(t.BertConfig(num_hidden_layers=4, **words)), ids
        if kind == "gpt2":
            return t.GPT2Model(t.GPT2Config(n_layer=4, use_cache=False, **words)), ids
        if kind == "llama":
            return t.LlamaModel(t.LlamaConfig(hidden_size=256, intermediate_size=688, num_hidden_layers=4,
                                              num_attention_heads=8, use_cache=False, **words)), ids
        if kind == "t5":
            return t.T5EncoderModel(t.T5Config(num_layers=4, d_model=256, d_ff=512, num_heads=8, d_kv=32, dropout_rate=0.0,
                                               **words)), ids
        from transformers.models.whisper.modeling_whisper import WhisperEncoder

        return WhisperEncoder(t.WhisperConfig(encoder_layers=4, d_model=256, encoder_attention_heads=4,
                                              encoder_ffn_dim=1024, max_source_positions=200,
                                              **words)), torch.randn(1, 80, 400)

    return make


MODELS = {"resnet50": vision("resnet50"), "convnext_t": vision("convnext_tiny"), "vit_b16": vision("vit_b_16"),
          "mobilenet_v3": vision("mobilenet_v3_small"), "swin_t": vision("swin_t"),
          "efficientnet_b0": vision("efficientnet_b0"),
          "mixer": lambda: (Mixer(), torch.randn(2, 3, 224, 224)), "bert": language("bert"),
          "gpt2": language("gpt2"), "llama": language("llama"), "t5": language("t5"), "whisper": language("whisper")}


def tensor_of(y):
    return y if isinstance(y, torch.Tensor) else y[0] if isinstance(y, tuple) else y.last_hidden_state


def prepare(name, options):
    model, x = MODELS[name]()
    model = model.train() if options.train else model.eval()
    for m in model.modules():
        if isinstance(m, torch.nn.Dropout) or type(m).__name__ == "StochasticDepth":
            m.p = 0.0
        if isinstance(m, torch.nn.Linear) and not m.weight.any():
            torch.nn.init.normal_(m.weight)  # a head that begins as zeros says nothing
    if options.double:
        model, x = model.double(), x.double() if x.is_floating_point() else x
    return model.to(options.device), x.to(options.device)


def wait(options):
    if options.device != "cpu":
        torch.cuda.synchronize()


def run(model, f, x, train):
    if not train:
        with torch.no_grad():
            return tensor_of(f(x)), {}
    model.zero_grad()
    y = tensor_of(f(x))
    # not the mean square: after a normalisation that is a constant, and its gradients are noise
    (y * torch.arange(y.numel(), device=y.device, dtype=y.dtype).cos().reshape(y.shape)).sum().backward()
    return y.detach(), {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


def error(got, want):
    got, want = got.double(), want.double()
    return float((got - want).abs().max() / max(want.abs().max(), 1e-30))


def quartile(f, options, n=9):
    times = []
    for _ in range(n):
        wait(options)
        t = time.perf_counter()
        f()
        wait(options)
        times.append(time.perf_counter() - t)
    return sorted(times)[n // 4]


def on_the_gpu(f, rounds=3, calls=5):
    """The round with the least time of: (milliseconds of all kernels of a call, of the parts that were compiled, how
    many these are, [microseconds of a call, launches, name of each])."""
    from torch.profiler import ProfilerActivity, profile

    found = []
    for _ in range(rounds):
        with profile(activities=[ProfilerActivity.CUDA]) as p:
            for _ in range(calls):
                f()
            torch.cuda.synchronize()
        each = sorted(((e.self_device_time_total / calls, e.count / calls, e.key) for e in p.key_averages()
                       if e.self_device_time_total), reverse=True)
        ours = [k for k in each if k[2].startswith(("fusec", "triton_"))]
        found.append((sum(k[0] for k in each) / 1e3, sum(k[0] for k in ours) / 1e3, sum(k[1] for k in ours), each))
    return min(found)


def compiled(name, model, x, backend, options):
    """First call, result, gradients of the compiled model; its times."""
    row, state = {}, copy.deepcopy(model.state_dict())
    torch._dynamo.reset()
    f = torch.compile(model, backend=backend)
    wait(options)
    t = time.perf_counter()
    found = run(model, f, x, options.train)
    wait(options)
    row[f"{name}_first_s"] = round(time.perf_counter() - t, 2)
    model.load_state_dict(state)
    if options.time:
        run(model, f, x, options.train), time.sleep(1)  # what is compiled in the background is there
        row[f"{name}_ms"] = 1e3 * quartile(lambda: run(model, f, x, options.train), options)
        if options.device != "cpu":
            *sums, each = on_the_gpu(lambda: run(model, f, x, options.train))
            row.update({f"{name}_{key}": v for key, v in zip(("gpu_ms", "parts_ms", "kernels_run"), sums)})
            if options.kernels:
                row[f"{name}_each"] = [(round(t, 2), n, k[:100]) for t, n, k in each[:options.kernels]]
        model.load_state_dict(state)
    return found, row


def off(found, exact):
    """How far results and gradients are off: (of the result, the worst of the gradients, its name)."""
    worst = max(((error(g, exact[1][n]), n) for n, g in found[1].items() if n in exact[1] and exact[1][n].abs().max() > 1e-9), default=(0.0, ""))
    return error(found[0], exact[0]), *worst


def judge(name, options, fusec):
    torch.manual_seed(0)
    fusec.reset()
    model, x = prepare(name, options)
    state = copy.deepcopy(model.state_dict())
    eager = run(model, model, x, options.train)
    model.load_state_dict(state)
    exact = eager
    if not options.double:  # the same in float64: what both are compared with
        wide = copy.deepcopy(model).double()
        exact = run(wide, wide, x.double() if x.is_floating_point() else x, options.train)
        del wide
    torch._dynamo.utils.counters.clear()
    found, row = compiled("fusec", model, x, fusec.backend, options)
    row["breaks"] = sum(torch._dynamo.utils.counters["graph_break"].values())
    row = {"model": name, **row}
    for who, r in (("eager", eager), ("fusec", found)):
        row[f"{who}_error"], row[f"{who}_gradient_error"], row[f"{who}_worst"] = off(r, exact)
    graphs = fusec.report()
    row.update({k: sum(g[k] for g in graphs) for k in ("operations", "taken", "parts", "kernels")})
    row.update(graphs=len(graphs), refused=[r for g in graphs for r in g["refused"]])
    if options.time:
        row["eager_ms"] = 1e3 * quartile(lambda: run(model, model, x, options.train), options)
        model.load_state_dict(state)
    if options.inductor:
        r, more = compiled("inductor", model, x, "inductor", options)
        row.update(more)
        row["inductor_error"], row["inductor_gradient_error"], row["inductor_worst"] = off(r, exact)
    # as far from float64 as eager is, with room for another order of sums
    row["good"] = all(row[f"fusec_{k}"] <= 4 * row[f"eager_{k}"] + 1e-5 for k in ("error", "gradient_error"))
    return row


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(MODELS))
    p.add_argument("--device", default="cpu")
    p.add_argument("--kernels", type=int, default=0, metavar="N")
    for name in ("train", "double", "time", "inductor"):
        p.add_argument(f"--{name}", action="store_true")
    options = p.parse_args()
    import fusec.torch

    for name in options.models or MODELS:
        try:
            print(json.dumps(judge(name, options, fusec.torch)), flush=True)
        except Exception as e:  # the next model may work
            print(json.dumps({"model": name, "failed": f"{type(e).__name__}: {str(e)[:300]}"}), flush=True)


if __name__ == "__main__":
    main()
