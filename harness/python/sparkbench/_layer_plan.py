"""A kernel of encoder layers, prepared for a problem (as _plan.py for attention)."""

from . import _abi
from ._memory import compact_strides
from ._plan import Plan, Prepared

WEIGHTS_AT = {name: position for position, name in enumerate(_abi.WEIGHTS)}


class PreparedLayer(Prepared):
    def new_plan(self):
        return LayerPlan(self)

    def _first_call(self):
        problem = self.problem
        shapes = (problem.x_shape, *problem.layer.weights.values())
        plan = self.new_plan()
        plan.run_forward(*(self.framework.draw(shape, problem) for shape in shapes))
        if problem.has_backward:
            plan.run_backward(self.framework.draw(problem.x_shape, problem))


class LayerPlan(Plan):
    def __init__(self, prepared):
        super().__init__(prepared)
        self.shapes = {"x": self.problem.x_shape, **self.problem.layer.weights}
        self.input_names = tuple(self.shapes)

    def forward(self, tensors, stream):
        layer = tensors.layer.contents
        addresses = [layer.x, *(layer.weights[WEIGHTS_AT[name]] for name in self.input_names[1:])]
        with self.framework.scope(self.problem, stream):
            self.run_forward(*map(self._compact, addresses, self.shapes.values()))

    def backward(self, tensors, stream):
        with self.framework.scope(self.problem, stream):
            self.run_backward(self._compact(tensors.layer.contents.d_y, self.problem.x_shape))

    def outputs(self, stream):
        """{"y": Located, and by the name of what it is the gradient of}"""
        with self.framework.scope(self.problem, stream):
            self.located = {"y": self._locate("y", self.out, self.problem.x_shape)}
            for name, gradient in zip(self.input_names, self.gradients or ()):
                self.located[name] = self._locate(f"gradient of {name}", gradient, self.shapes[name])
        return self.located

    def run_forward(self, *inputs):
        self.out = self.state = self.gradients = None
        self.located, self.inputs = {}, inputs
        result, self.state = self.framework.run(
            self._call, inputs, keeps_graph=self.problem.has_backward
        )
        self._take(result)

    def run_backward(self, d_y):
        self.gradients = None
        self.located = {name: found for name, found in self.located.items() if name == "y"}
        self.gradients = self.framework.gradients(self.state, d_y, self.input_names)

    def _call(self, x, *weights):
        return self.prepared.forward(x, dict(zip(self.input_names[1:], weights)))

    def _compact(self, address, shape):
        strides = compact_strides(shape)
        return self._wrap_address(address, tuple(shape), strides, self.problem.dtype, None)


def tell(located, layer):
    """Fills in a sparkbench_layer_tensors."""
    layer.y = located["y"].address
    layer.dx = located["x"].address if "x" in located else None
    for name, position in WEIGHTS_AT.items():
        layer.d_weights[position] = located[name].address if name in located else None
