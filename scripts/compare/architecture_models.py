"""Architectures in a page each that no library below makes in place: detectors of the YOLO kind, U-Net, CRNN, voice activity, ConvLSTM. For architecture_networks.py."""

import torch
from torch import nn
from torch.nn import functional as F
from torchvision.ops import nms


def conv(inputs, outputs, kernel=1, stride=1, padding=None, activation=nn.SiLU):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2 if padding is None else padding, bias=False), nn.BatchNorm2d(outputs), activation())


class Bottleneck(nn.Module):
    def __init__(self, inputs, outputs, adds, kernels=(1, 3)):
        super().__init__()
        self.body = nn.Sequential(conv(inputs, outputs, kernels[0]), conv(outputs, outputs, kernels[1]))
        self.adds = adds

    def forward(self, x):
        return x + self.body(x) if self.adds else self.body(x)


class C3(nn.Module):
    """YOLOv5: two halves, one of them through bottlenecks."""

    def __init__(self, inputs, outputs, count=1, adds=True):
        super().__init__()
        half = outputs // 2
        self.left, self.right, self.join = conv(inputs, half), conv(inputs, half), conv(2 * half, outputs)
        self.body = nn.Sequential(*[Bottleneck(half, half, adds) for _ in range(count)])

    def forward(self, x):
        return self.join(torch.cat((self.body(self.left(x)), self.right(x)), 1))


class C2f(nn.Module):
    """YOLOv8: every bottleneck's answer is kept."""

    def __init__(self, inputs, outputs, count=1, adds=True):
        super().__init__()
        half = outputs // 2
        self.first, self.join = conv(inputs, 2 * half), conv((2 + count) * half, outputs)
        self.body = nn.ModuleList(Bottleneck(half, half, adds, (3, 3)) for _ in range(count))

    def forward(self, x):
        parts = list(self.first(x).chunk(2, 1))
        for block in self.body:
            parts.append(block(parts[-1]))
        return self.join(torch.cat(parts, 1))


class SPPF(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.first, self.join, self.pool = conv(inputs, inputs // 2), conv(2 * inputs, outputs), nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        x = self.first(x)
        y = self.pool(x)
        z = self.pool(y)
        return self.join(torch.cat((x, y, z, self.pool(z)), 1))


class Pyramid(nn.Module):
    """Backbone and neck: three levels of 64, 128 and 256 channels."""

    def __init__(self, block, stem):
        super().__init__()
        self.down1 = nn.Sequential(stem, conv(16, 32, 3, 2), block(32, 32), conv(32, 64, 3, 2), block(64, 64, 2))
        self.down2 = nn.Sequential(conv(64, 128, 3, 2), block(128, 128, 2))
        self.down3 = nn.Sequential(conv(128, 256, 3, 2), block(256, 256), SPPF(256, 256))
        self.up2, self.up1 = block(384, 128, 1, False), block(192, 64, 1, False)
        self.to2, self.to3 = conv(64, 64, 3, 2), conv(128, 128, 3, 2)
        self.out2, self.out3 = block(192, 128, 1, False), block(384, 256, 1, False)
        self.up = nn.Upsample(scale_factor=2, mode="nearest")

    def forward(self, x):
        small = self.down1(x)
        middle = self.down2(small)
        large = self.down3(middle)
        middle = self.up2(torch.cat((self.up(large), middle), 1))
        small = self.up1(torch.cat((self.up(middle), small), 1))
        middle = self.out2(torch.cat((self.to2(small), middle), 1))
        return small, middle, self.out3(torch.cat((self.to3(middle), large), 1))


WIDTHS, STRIDES = (64, 128, 256), (8, 16, 32)


def grid(height, width, offset):
    rows, columns = torch.meshgrid(torch.arange(height) + offset, torch.arange(width) + offset, indexing="ij")
    return torch.stack((columns, rows), -1).float()


class YoloV5(nn.Module):
    """One head of three anchors a cell; boxes as centre and size in pixels, objectness, classes."""

    def __init__(self, classes=80, pixels=320):
        super().__init__()
        self.body, self.fields, self.pixels = Pyramid(C3, conv(3, 16, 6, 2, padding=2)), classes + 5, pixels
        self.heads = nn.ModuleList(nn.Conv2d(width, 3 * self.fields, 1) for width in WIDTHS)
        self.register_buffer("anchors", torch.tensor([[10, 13, 16, 30, 33, 23], [30, 61, 62, 45, 59, 119], [116, 90, 156, 198, 373, 326]]).float().view(3, 1, 3, 1, 1, 2))

    def forward(self, x):
        found = []
        for level, (y, head) in enumerate(zip(self.body(x), self.heads)):
            height, width = self.pixels // STRIDES[level], self.pixels // STRIDES[level]
            y = head(y).view(-1, 3, self.fields, height, width).permute(0, 1, 3, 4, 2).contiguous().sigmoid()
            place, size, rest = y.split((2, 2, self.fields - 4), 4)
            place = (place * 2 + grid(height, width, -0.5)) * STRIDES[level]
            size = (size * 2) ** 2 * self.anchors[level]
            found.append(torch.cat((place, size, rest), 4).view(-1, 3 * height * width, self.fields))
        return torch.cat(found, 1)


class YoloV8(nn.Module):
    """Decoupled heads, distances as a distribution over 16 bins (DFL); answers [1, 4 + classes, cells]."""

    def __init__(self, classes=80, pixels=320):
        super().__init__()
        self.body, self.classes = Pyramid(C2f, conv(3, 16, 3, 2)), classes
        self.boxes = nn.ModuleList(nn.Sequential(conv(w, 64, 3), conv(64, 64, 3), nn.Conv2d(64, 64, 1)) for w in WIDTHS)
        self.scores = nn.ModuleList(nn.Sequential(conv(w, classes, 3), conv(classes, classes, 3), nn.Conv2d(classes, classes, 1)) for w in WIDTHS)
        self.bins = nn.Conv2d(16, 1, 1, bias=False)
        self.bins.weight.data = torch.arange(16.0).view(1, 16, 1, 1)
        cells = [grid(pixels // s, pixels // s, 0.5).view(-1, 2) for s in STRIDES]
        self.register_buffer("centres", torch.cat(cells).T[None])
        self.register_buffer("strides", torch.cat([torch.full((len(c),), float(s)) for c, s in zip(cells, STRIDES)])[None, None])

    def forward(self, x):
        levels = [torch.cat((box(y), score(y)), 1).flatten(2) for y, box, score in zip(self.body(x), self.boxes, self.scores)]
        box, score = torch.cat(levels, 2).split((64, self.classes), 1)
        batch, _, cells = box.shape
        distance = self.bins(box.view(batch, 4, 16, cells).transpose(2, 1).softmax(1)).view(batch, 4, cells)
        first, last = distance.chunk(2, 1)
        low, high = self.centres - first, self.centres + last
        return torch.cat((torch.cat(((low + high) / 2, high - low), 1) * self.strides, score.sigmoid()), 1)


class Detector(nn.Module):
    """YOLOv8 with NonMaxSuppression at its end: boxes, scores, classes that are left, of a number that data decides."""

    def __init__(self, threshold=0.5, **options):
        super().__init__()
        self.network, self.threshold = YoloV8(**options), threshold

    def forward(self, x):
        found = self.network(x)[0].T
        centre, size = found[:, :2], found[:, 2:4]
        boxes = torch.cat((centre - size / 2, centre + size / 2), 1)
        scores, classes = found[:, 4:].max(1)
        kept = (scores > self.threshold).nonzero()[:, 0]
        boxes, scores, classes = boxes[kept], scores[kept], classes[kept]
        kept = nms(boxes + classes[:, None] * 4096.0, scores, 0.45)[:100]
        return boxes[kept], scores[kept], classes[kept]


class UNet(nn.Module):
    def __init__(self, widths=(16, 32, 64, 128), classes=2, transposed=True):
        super().__init__()
        twice = lambda i, o: nn.Sequential(conv(i, o, 3, activation=nn.ReLU), conv(o, o, 3, activation=nn.ReLU))  # noqa: E731
        self.down = nn.ModuleList(twice(i, o) for i, o in zip((3, *widths[:-1]), widths))
        pairs = list(zip(widths[::-1], widths[-2::-1]))
        upsample = lambda i, o: nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), nn.Conv2d(i, o, 1))  # noqa: E731
        self.up = nn.ModuleList(nn.ConvTranspose2d(i, o, 2, 2) if transposed else upsample(i, o) for i, o in pairs)
        self.join = nn.ModuleList(twice(2 * o, o) for _, o in pairs)
        self.last = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x):
        kept = []
        for level, block in enumerate(self.down):
            x = block(x if level == 0 else F.max_pool2d(x, 2))
            kept.append(x)
        for up, join, skip in zip(self.up, self.join, kept[-2::-1]):
            x = join(torch.cat((skip, up(x)), 1))
        return self.last(x)


class CRNN(nn.Module):
    """Text lines: convolutions, two bidirectional LSTMs over columns, classes of each."""

    def __init__(self, classes=97):
        super().__init__()
        relu = nn.ReLU
        self.body = nn.Sequential(conv(1, 32, 3, activation=relu), nn.MaxPool2d(2), conv(32, 64, 3, activation=relu), nn.MaxPool2d(2), conv(64, 128, 3, activation=relu),
                                  nn.MaxPool2d((2, 1)), conv(128, 128, 3, activation=relu), nn.MaxPool2d((2, 1)), nn.Conv2d(128, 128, (2, 1)), nn.ReLU())  # fmt: skip
        self.lines, self.last = nn.LSTM(128, 96, 2, bidirectional=True), nn.Linear(192, classes)

    def forward(self, x):
        columns = self.body(x).squeeze(2).permute(2, 0, 1)
        return self.last(self.lines(columns)[0]).log_softmax(2)


class VoiceActivity(nn.Module):
    """Of the Silero kind: spectrum by a convolution, four convolutions, an LSTM whose state comes in and goes out."""

    def __init__(self, window=256):
        super().__init__()
        angles = torch.outer(torch.arange(window // 2 + 1.0), torch.arange(float(window))) * (2 * torch.pi / window)
        self.register_buffer("basis", (torch.cat((angles.cos(), -angles.sin())) * torch.hann_window(window))[:, None])
        channels = (window // 2 + 1, 128, 64, 64, 128)
        self.body = nn.Sequential(*[nn.Sequential(nn.Conv1d(i, o, 3, s, 1), nn.ReLU()) for i, o, s in zip(channels, channels[1:], (1, 2, 2, 1))])
        self.memory, self.last = nn.LSTM(128, 128), nn.Conv1d(128, 1, 1)

    def forward(self, sound, state):
        spectrum = F.conv1d(F.pad(sound, (0, 64), "reflect")[:, None], self.basis, stride=128)
        real, imaginary = spectrum.chunk(2, 1)
        x = self.body((real**2 + imaginary**2).sqrt())
        x, (hidden, cell) = self.memory(x.permute(2, 0, 1), (state[:1], state[1:]))
        return self.last(x.permute(1, 2, 0).relu()).sigmoid().mean(2), torch.cat((hidden, cell))


class ConvLSTM(nn.Module):
    """Frames through a convolutional LSTM, unrolled; the next frame."""

    def __init__(self, width=32):
        super().__init__()
        self.width, self.gates, self.last = width, nn.Conv2d(1 + width, 4 * width, 3, padding=1), nn.Conv2d(width, 1, 1)

    def forward(self, frames):
        batch, count, _, height, size = frames.shape
        hidden = cell = torch.zeros(batch, self.width, height, size)
        for i in range(count):
            enter, forget, out, new = self.gates(torch.cat((frames[:, i], hidden), 1)).chunk(4, 1)
            cell = forget.sigmoid() * cell + enter.sigmoid() * new.tanh()
            hidden = out.sigmoid() * cell.tanh()
        return self.last(hidden)


class UNet3D(nn.Module):
    """Volumes (CT, MRT): convolutions, instance norms and a transposed convolution over three axes."""

    def __init__(self, width=16):
        super().__init__()
        block = lambda i, o, s=1: nn.Sequential(nn.Conv3d(i, o, 3, s, 1), nn.InstanceNorm3d(o, affine=True), nn.LeakyReLU(0.01))  # noqa: E731
        self.first, self.down, self.up = nn.Sequential(block(1, width), block(width, width)), nn.Sequential(block(width, 2 * width, 2), block(2 * width, 2 * width)), nn.ConvTranspose3d(2 * width, width, 2, 2)
        self.join, self.last = nn.Sequential(block(2 * width, width), block(width, width)), nn.Conv3d(width, 3, 1)

    def forward(self, x):
        x = self.first(x)
        return self.last(self.join(torch.cat((x, self.up(self.down(x))), 1)))
