"""Networks in fp32 as TFLite files with seeded weights, for stories and predictions: made without a converter, of the operators that one would give."""

import numpy as np
from rates_litert import OPERATOR, Row, options_of

NONE, RELU, RELU6 = 0, 1, 3
SAME, VALID = 0, 1


class Network(Row):
    """Layers after each other, fp32, [1, size, size, channels]."""

    def input(self, size, channels=3):
        self.first = self.activation([1, size, size, channels], np.float32)
        return self.first

    def shape(self, x):
        return self.graph.tensors[x].shape

    def _weights(self, shape, fan_in):
        return self.tensor(shape, np.float32, self.random.standard_normal(shape, np.float32) * np.sqrt(2 / fan_in))

    def _bias(self, count):
        return self.tensor([count], np.float32, self.random.standard_normal(count, np.float32) * 0.1)

    def conv(self, x, out, window=1, stride=1, activation=RELU):
        _, size, _, channels = self.shape(x)
        weights = self._weights([out, window, window, channels], window * window * channels)
        made = -(-size // stride)
        y = self.activation([1, made, made, out], np.float32)
        options = options_of("Conv2DOptions", padding=SAME, strideH=stride, strideW=stride, dilationHFactor=1, dilationWFactor=1, fusedActivationFunction=activation)
        return self.node(OPERATOR.CONV_2D, [x, weights, self._bias(out)], y, *options)

    def depthwise(self, x, window=3, stride=1, activation=RELU):
        _, size, _, channels = self.shape(x)
        weights, made = self._weights([1, window, window, channels], window * window), -(-size // stride)
        y = self.activation([1, made, made, channels], np.float32)
        options = options_of("DepthwiseConv2DOptions", padding=SAME, strideH=stride, strideW=stride, depthMultiplier=1, dilationHFactor=1, dilationWFactor=1, fusedActivationFunction=activation)
        return self.node(OPERATOR.DEPTHWISE_CONV_2D, [x, weights, self._bias(channels)], y, *options)

    def dense(self, x, out):
        taken = int(np.prod(self.shape(x)))
        y = self.activation([1, out], np.float32)
        return self.node(OPERATOR.FULLY_CONNECTED, [x, self._weights([out, taken], taken), self._bias(out)], y, *options_of("FullyConnectedOptions"))

    def like(self, kind, *inputs, options=None, shape=None, **values):
        y = self.activation(shape or self.shape(inputs[0]), np.float32)
        return self.node(kind, list(inputs), y, *(options_of(options, **values) if options else ()))

    def add(self, a, b, activation=NONE):
        return self.like(OPERATOR.ADD, a, b, options="AddOptions", fusedActivationFunction=activation)

    def pool(self, kind, x, window, stride):
        _, size, _, channels = self.shape(x)
        made = -(-size // stride)
        return self.like(kind, x, shape=[1, made, made, channels], options="Pool2DOptions", padding=SAME, strideH=stride, strideW=stride, filterHeight=window, filterWidth=window)

    def mean(self, x):
        axes = self.tensor([2], np.int32, [1, 2])
        return self.like(OPERATOR.MEAN, x, axes, shape=[1, 1, 1, self.shape(x)[3]], options="ReducerOptions", keepDims=True)

    def concat(self, *parts):
        shape = [*self.shape(parts[0])[:3], sum(self.shape(each)[3] for each in parts)]
        return self.like(OPERATOR.CONCATENATION, *parts, shape=shape, options="ConcatenationOptions", axis=3)

    def twice(self, x):
        """As large, by the nearest pixels."""
        _, size, _, channels = self.shape(x)
        sizes = self.tensor([2], np.int32, [2 * size, 2 * size])
        return self.like(OPERATOR.RESIZE_NEAREST_NEIGHBOR, x, sizes, shape=[1, 2 * size, 2 * size, channels], options="ResizeNearestNeighborOptions")


def resnet18(net):
    x = net.pool(OPERATOR.MAX_POOL_2D, net.conv(net.input(224), 64, 7, 2), 3, 2)
    for width, count in ((64, 2), (128, 2), (256, 2), (512, 2)):
        for at in range(count):
            stride = 2 if at == 0 and width > 64 else 1
            beside = x if stride == 1 else net.conv(x, width, 1, 2, NONE)
            x = net.add(net.conv(net.conv(x, width, 3, stride), width, 3, 1, NONE), beside, RELU)
    return net.dense(net.mean(x), 1000)


# expanded, out, window, stride, squeeze and excite, HARD_SWISH: the small MobileNetV3
_SMALL = ((16, 16, 3, 2, 1, 0), (72, 24, 3, 2, 0, 0), (88, 24, 3, 1, 0, 0), (96, 40, 5, 2, 1, 1), (240, 40, 5, 1, 1, 1), (240, 40, 5, 1, 1, 1), (120, 48, 5, 1, 1, 1), (144, 48, 5, 1, 1, 1), (288, 96, 5, 2, 1, 1), (576, 96, 5, 1, 1, 1), (576, 96, 5, 1, 1, 1))


def mobilenet_v3_small(net):
    swish = lambda y: net.like(OPERATOR.HARD_SWISH, y)
    x = swish(net.conv(net.input(224), 16, 3, 2, NONE))
    for expanded, out, window, stride, squeezes, swishes in _SMALL:
        before, fused = x, NONE if swishes else RELU
        act = swish if swishes else lambda y: y
        x = act(net.depthwise(act(net.conv(x, expanded, 1, 1, fused)), window, stride, fused))
        if squeezes:
            gate = net.conv(net.conv(net.mean(x), max(8, expanded // 4)), expanded, 1, 1, NONE)
            x = net.like(OPERATOR.MUL, x, net.like(OPERATOR.LOGISTIC, gate), options="MulOptions")
        x = net.conv(x, out, 1, 1, NONE)
        if net.shape(before) == net.shape(x):
            x = net.add(x, before)
    return net.dense(net.mean(swish(net.conv(x, 576, 1, 1, NONE))), 1000)


def inception(net):
    """Branches with average pools, concatenated, as Inception has them."""
    x = net.pool(OPERATOR.MAX_POOL_2D, net.conv(net.conv(net.input(224), 32, 3, 2), 64, 3, 2), 3, 2)
    for width in (64, 96, 128):
        for _ in range(2):
            pooled = net.conv(net.pool(OPERATOR.AVERAGE_POOL_2D, x, 3, 1), width // 2)
            x = net.concat(net.conv(x, width // 2), net.conv(net.conv(x, width // 2), width, 3), pooled)
        x = net.pool(OPERATOR.MAX_POOL_2D, x, 3, 2)
    return net.dense(net.mean(x), 1000)


def pyramid(net):
    """A network for pictures in and out: down by strides, up by resizing, with connections across."""
    x, levels = net.conv(net.input(192), 16, 3, 2), []
    for width in (32, 64, 128):
        levels.append(x)
        x = net.conv(net.conv(x, width, 3, 2), width, 3)
    for width, level in zip((64, 32, 16), reversed(levels)):
        x = net.conv(net.concat(net.twice(x), level), width, 3)
    return net.conv(x, 8, 1, 1, NONE)


def mobilenet_v2(net):
    x = net.conv(net.input(224), 32, 3, 2, RELU6)
    for expand, out, count, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for at in range(count):
            before, stride = x, first if at == 0 else 1
            if expand > 1:
                x = net.conv(x, expand * net.shape(x)[3], 1, 1, RELU6)
            x = net.conv(net.depthwise(x, 3, stride, RELU6), out, 1, 1, NONE)
            if net.shape(before) == net.shape(x):
                x = net.add(x, before)
    return net.dense(net.mean(net.conv(x, 1280, 1, 1, RELU6)), 1000)


NETWORKS = {each.__name__: each for each in (resnet18, mobilenet_v2, mobilenet_v3_small, inception, pyramid)}


def made(folder, name):
    """The path of the network's file, which is written where it is not there."""
    path = folder / f"{name}_fp32.tflite"
    if not path.exists():
        net = Network()
        y = NETWORKS[name](net)
        net.save(path, net.first, y)
    return path
