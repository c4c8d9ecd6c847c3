"""Completes a trained network: finish.py FACTOR NETWORK OUT, with numpy and onnx.

Appends what README.md describes under "Where the network is trusted", and makes samples 0 to 255. In the graph these steps run on all
cores. A picture that is FACTOR times as large is held as planes of the size of the source, one for each pixel of a cell.
"""

import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

FACTOR = int(sys.argv[1])
CELLS = FACTOR * FACTOR
# ITU-R BT.601.
LUMA = np.array([0.299, 0.587, 0.114]).reshape(1, 3, 1, 1)
# Pixels of the source on each side that the filters reach, and that trust is measured on.
REACH = 3
WINDOW = 3
# Share of bicubic interpolation in the assumed reduction of the source; the rest is Lanczos.
BICUBIC_SHARE = {2: 0.4, 4: 0.7}[FACTOR]
# Energy that the network may add without any reason, in squared levels of 255.
LEAST_ENERGY = 0.1


def lanczos(x):
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


def bicubic(x):
    x = np.abs(x)
    near = 1.5 * x**3 - 2.5 * x**2 + 1
    return np.where(x < 1, near, np.where(x < 2, -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2, 0))


def bilinear(x):
    return np.maximum(0, 1 - np.abs(x))


def enlarging(kernel, reach):
    """Weights [place, tap] with which the pixels of a cell are interpolated from the source, along one side."""
    taps = np.arange(-reach, reach + 1)
    lines = [kernel(taps - ((place + 0.5) / FACTOR - 0.5)) for place in range(FACTOR)]
    return np.array([line / line.sum() for line in lines])


def reducing(kernel):
    """Weights [place, tap] with which a pixel of the source is made of the pixels of cells, along one side."""
    cells, places = np.arange(-REACH, REACH + 1), np.arange(FACTOR)
    line = kernel((cells[None, :] * FACTOR + places[:, None] - (FACTOR - 1) / 2) / FACTOR)
    return line / line.sum()


class Graph:
    """Appends operations to a graph, and names their outputs."""

    def __init__(self, graph):
        self.graph = graph
        self.count = 0

    def value(self, array, kind=np.float32):
        self.count += 1
        name = f'finish.{self.count}'
        self.graph.initializer.append(numpy_helper.from_array(np.asarray(array, kind), name))
        return name

    def add(self, operation, *inputs, out=None, **attributes):
        self.count += 1
        out = out or f'finish.{self.count}'
        names = [it if isinstance(it, str) else self.value(it) for it in inputs]
        self.graph.node.append(helper.make_node(operation, names, [out], **attributes))
        return out

    def shape(self, image, batch, channels):
        return self.add('Reshape', image, self.value([batch, channels, 0, 0], np.int64))

    def levels(self, image):
        """Clips to what a picture can hold. Without it, hard edges would seem to be enlarged wrongly."""
        return self.add('Clip', image, 0.0, 255.0)

    def convolve(self, image, weights, groups=1):
        """Convolves along one side without changing the size; pixels beyond the edge are those of the edge."""
        high, wide = weights.shape[2] // 2, weights.shape[3] // 2
        ends = self.value([0, 0, high, wide] * 2, np.int64)
        padded = self.add('Pad', image, ends, mode='edge')
        return self.add('Conv', padded, weights, group=groups)

    def enlarge(self, image, weights):
        """[n, 1, h, w] to [n, cells, h, w]: first along columns, then along rows."""
        columns = self.convolve(image, weights[:, None, :, None])
        return self.convolve(columns, np.tile(weights, (FACTOR, 1))[:, None, None, :], groups=FACTOR)

    def reduce(self, image, *kernels):
        """[n, cells, h, w] to one [n, 1, h, w] for each kernel: first along rows, then along columns."""
        lines = np.array([reducing(kernel) for kernel in kernels])
        rows = self.convolve(image, np.tile(lines, (FACTOR, 1, 1))[:, :, None, :], groups=FACTOR)
        # The rows of all kernels follow each other for each place in the cell.
        columns = np.zeros((len(kernels), FACTOR, len(kernels), lines.shape[2]))
        for index, line in enumerate(lines):
            columns[index, :, index] = line
        both = self.convolve(rows, columns.reshape(len(kernels), -1, lines.shape[2], 1))
        parts = [f'{both}.{kernel.__name__}' for kernel in kernels]
        self.graph.node.append(helper.make_node('Split', [both], parts, axis=1))
        return [self.levels(part) for part in parts]

    def luma(self, image):
        return self.add('Conv', self.shape(image, 1, 3), LUMA)

    def around(self, image):
        side, ends = [2 * WINDOW + 1] * 2, [WINDOW] * 4
        return self.add('AveragePool', image, kernel_shape=side, pads=ends, count_include_pad=0)


def scale(graph):
    """Makes the network work on samples from 0 to 255 instead of 0 to 1."""
    for index, tensor in enumerate(graph.initializer):
        by = {'head.weight': 1 / 255, 'tail.weight': 255, 'tail.bias': 255}.get(tensor.name)
        if by is not None:
            scaled = numpy_helper.to_array(tensor) * np.float32(by)
            graph.initializer[index].CopyFrom(numpy_helper.from_array(scaled, tensor.name))


def finish(model):
    graph = model.graph
    last = graph.node[-1]
    assert last.op_type == 'DepthToSpace'
    graph.node.remove(last)
    for name in ('noise', 'boldness', 'projection'):
        graph.input.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, []))
    g = Graph(graph)
    scale(graph)

    source = g.shape('x', 3, 1)
    plain = g.levels(g.enlarge(source, enlarging(lanczos, REACH)))
    network = g.levels(g.shape(last.input[0], 3, CELLS))
    (of_plain,) = g.reduce(plain, lanczos)
    of_network, as_bicubic = g.reduce(network, lanczos, bicubic)

    reduced = g.add(
        'Add', g.add('Mul', of_network, 1 - BICUBIC_SHARE), g.add('Mul', as_bicubic, BICUBIC_SHARE)
    )
    left = g.add('Mul', g.add('Sub', source, reduced), 'projection')
    added = g.add('Add', g.add('Sub', network, plain), g.enlarge(left, enlarging(lanczos, REACH)))

    missing = g.luma(g.add('Sub', source, of_plain))
    found = g.luma(g.add('Sub', of_network, of_plain))
    agreed = g.add('Sub', g.around(g.add('Mul', missing, found)), 'noise')
    energy = g.add('Add', g.around(g.add('Mul', found, found)), LEAST_ENERGY)
    trust = g.add('Clip', g.add('Mul', g.add('Div', agreed, energy), 'boldness'), 0.0, 1.0)
    weight = g.enlarge(trust, enlarging(bilinear, 1))

    large = g.add('Add', plain, g.add('Mul', weight, added))
    g.add('DepthToSpace', g.shape(large, 1, 3 * CELLS), out='y', blocksize=FACTOR, mode='CRD')
    onnx.checker.check_model(model, full_check=True)
    return model


onnx.save(finish(onnx.load(sys.argv[2])), sys.argv[3])
