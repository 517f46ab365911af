"""A PyTorch layer with its weights and input, ready to run.

A forward pass runs without gradients, as in inference, with dropout if requested. A pass with a
backward part computes the gradients of the input and of every weight, as in a training step.
"""

import contextlib
import warnings

import peer_layer_module as module
import peer_layers

# Names of the errors (reference/encoder/layer_passes.h), by the names of the weights.
GRADIENTS = {
    "x": "dx", "w_qkv": "dWqkv", "b_qkv": "dbqkv", "w_o": "dWo", "b_o": "dbo", "w_1": "dW1",
    "b_1": "db1", "w_2": "dW2", "b_2": "db2", "gamma_1": "dgamma1", "beta_1": "dbeta1",
    "gamma_2": "dgamma2", "beta_2": "dbeta2",
}  # fmt: skip


def shapes_of_weights(shape):
    hidden, ffn = shape["hidden"], shape["ffn"]
    shapes = {"w_qkv": (3 * hidden, hidden), "w_o": (hidden, hidden), "w_1": (ffn, hidden),
              "w_2": (hidden, ffn), "b_qkv": (3 * hidden,), "b_1": (ffn,)}  # fmt: skip
    shapes = {name: shapes.get(name, (hidden,)) for name in module.WEIGHTS}
    return {
        name: extents
        for name, extents in shapes.items()
        if shape["bias"] or name not in module.BIASES
    }


def draw_tensors(torch, case, seed, device="cuda"):
    """({name: weight}, x, d_y), fp16: the distributions of make_layer_tensors(), but not its bits.
    """
    generator = torch.Generator(device).manual_seed(seed)

    def draw(extents):
        return torch.randn(extents, generator=generator, device=device)

    weights = {}
    for name, extents in shapes_of_weights(case.shape).items():
        scale = 0.1 if len(extents) == 1 else extents[1] ** -0.5
        mean = 1.0 if name.startswith("gamma") else 0.0
        weights[name] = (mean + scale * draw(extents)).half()
    return weights, draw(case.tokens_shape).half(), draw(case.tokens_shape).half()


def visible_pairs(torch, case, device):
    """[1, heads or 1, rows, keys] of booleans; None if every row sees every key."""
    if case.mask.kind == "full":
        return None
    return case.mask.dense_of_heads(torch, case.problem["heads"], device)[None]


def attention_of(torch, case, dropout_p, device):
    scale = case.problem["scale"]
    if peer_layers.backend_of(case.kernel) == "unfused":
        visible = visible_pairs(torch, case, device)
        return module.UnfusedAttention(scale, dropout_p, visible)
    if case.needs_no_tensor:
        return module.SdpaAttention(scale, dropout_p, None, case.mask.kind == "causal")
    visible = visible_pairs(torch, case, device)
    if peer_layers.backend_of(case.kernel) == "efficient" and not visible.any(-1).all():
        raise NotImplementedError(f"{case.kernel} has no rows without a visible key")
    return module.SdpaAttention(scale, dropout_p, visible, False)


def make_fast_path(torch, case, weights, device):
    """An nn.TransformerEncoderLayer in the state in which it takes its fast path, a function that
    runs it, and its mask."""
    shape, problem = case.shape, case.problem
    layer = torch.nn.TransformerEncoderLayer(
        shape["hidden"], problem["heads"], shape["ffn"], dropout=0.0, layer_norm_eps=module.EPSILON,
        activation={"gelu-erf": "gelu"}.get(shape["activation"], shape["activation"]),
        batch_first=True, norm_first=shape["norm"] == "pre", device="meta",
    ).eval()  # fmt: skip
    names = {"in_product.": "self_attn.in_proj_", "out_product": "self_attn.out_proj",
             "up": "linear1", "down": "linear2", "norm_1": "norm1", "norm_2": "norm2"}  # fmt: skip
    state = {}
    for name, tensor in weights.items():
        path = module.WEIGHTS[name]
        prefix = next(prefix for prefix in names if path.startswith(prefix))
        state[names[prefix] + path.removeprefix(prefix)] = tensor
    layer.load_state_dict(state, strict=True, assign=True)
    hidden = visible_pairs(torch, case, device)
    hidden = None if hidden is None else ~hidden[0, 0]
    run = lambda x: layer(x, src_mask=hidden, is_causal=case.mask.kind == "causal")  # noqa: E731
    return layer, run, [] if hidden is None else [hidden]


class Layer:
    """`is_compiled_by` is torch.compile's back end; tests use a fast one."""

    def __init__(self, torch, case, tensors, dropout_p, device="cuda", is_compiled_by="inductor"):
        self.torch, self.case = torch, case
        self.weights, self.x, self.d_y = tensors
        self.y = self.told = None
        if case.kernel == peer_layers.FAST_PATH:
            made = make_fast_path(torch, case, self.weights, device)
            self.module, self.run, self.masks = made
            return
        attention = attention_of(torch, case, dropout_p, device)
        with torch.device("meta"):
            empty = module.EncoderLayer(case.shape, case.problem["heads"], None, dropout_p)
        empty.attention = attention
        self.module = self.run = module.load(empty, self.weights)
        self.masks = list(self.module.buffers())
        self.inputs = [self.x.requires_grad_(), *self.parameters().values()]
        way = peer_layers.way_of(case.kernel)
        if way == "script":
            with warnings.catch_warnings():  # a deprecation warning
                warnings.simplefilter("ignore", DeprecationWarning)
                self.run = torch.jit.script(self.module)
        if way == "compile":
            self.run = self.compiled(is_compiled_by)
        if way != "compile":  # which would compile another graph for it
            self.told = self.run.with_branch

    def compiled(self, backend):
        # Otherwise a sweep's many shapes exceed the cache limit for one function.
        self.torch._dynamo.reset()
        return self.torch.compile(self.module, dynamic=False, backend=backend)

    def parameters(self):
        """{name: parameter} in the order of WEIGHTS."""
        state = dict(self.module.named_parameters())
        return {name: state[module.WEIGHTS[name]] for name in self.weights}

    def setting(self):
        """Only the attention in the layer's name is allowed."""
        stack = contextlib.ExitStack()
        if backend := peer_layers.backend_of(self.case.kernel):
            attention = self.torch.nn.attention
            allowed = getattr(attention.SDPBackend, peer_layers.BACKENDS[backend])
            stack.enter_context(attention.sdpa_kernel(allowed))
        if peer_layers.way_of(self.case.kernel) == "compile":
            config = self.torch._functorch.config
            # The autograd cache does not know which attention is allowed. And a graph whose
            # backward pass runs repeatedly must not give its tensors away.
            wanted = {"enable_autograd_cache": False}
            if self.case.direction == "bwd":
                wanted["donated_buffer"] = False
            known = {name: value for name, value in wanted.items() if hasattr(config, name)}
            stack.enter_context(config.patch(known))
        return stack

    def forward(self):
        has_backward = self.case.direction != "fwd"
        with self.setting(), self.torch.set_grad_enabled(has_backward):
            self.y = self.run(self.x)

    def backward(self, d_y=None, keeps_graph=False):
        """The gradients, the input's first."""
        with self.setting():
            return self.torch.autograd.grad(
                self.y, self.inputs, self.d_y if d_y is None else d_y, retain_graph=keeps_graph
            )

    def launch(self):
        """Enqueues the case's pass; a backward pass starts from the last forward pass's graph."""
        if self.case.direction == "bwd":
            if self.y is None:
                self.forward()
            self.backward(keeps_graph=True)
            return
        self.forward()
        if self.case.direction == "fwd+bwd":
            self.backward()

    def step(self):
        """One whole computation from the input on; keeps no result."""
        self.forward()
        if self.case.direction != "fwd":
            self.backward()
        self.y = None

    def outputs(self, d_y):
        """{name: tensor}: output, before_residual if the layer reports it, and the gradients."""
        has_backward = self.case.direction != "fwd"
        branch = None
        if self.told is None:
            self.forward()
        else:
            with self.setting(), self.torch.set_grad_enabled(has_backward):
                self.y, branch = self.told(self.x)
        results = {"output": self.y.detach()}
        if branch is not None:
            results["before_residual"] = branch.detach()
        if has_backward:
            names = [GRADIENTS[name] for name in ("x", *self.weights)]
            results.update(zip(names, self.backward(d_y)))
        self.y = None
        return results
