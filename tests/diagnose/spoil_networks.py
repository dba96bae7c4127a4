"""fp32 networks for the blind test of `octavo diagnose`, as ONNX files with seeded weights: of torchvision, of timm, and some written here.

None of them is among those that the rules were made with. Imports nothing of Octavo.
Needs: pip install torch torchvision timm onnx
"""

import warnings

import onnx
import timm
import torch
import torchvision
from torch import nn

warnings.filterwarnings("ignore")


class Gated(nn.Module):
    """Convolutions, each with a gate of the mean of all its pixels."""

    def __init__(self, channels=48):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, 2, 1)
        self.wide = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1) for _ in range(4))
        self.down = nn.ModuleList(nn.Conv2d(channels, 12, 1) for _ in range(4))
        self.up = nn.ModuleList(nn.Conv2d(12, channels, 1) for _ in range(4))
        self.head = nn.Linear(channels, 10)

    def forward(self, x):
        x = torch.relu(self.stem(x))
        for wide, down, up in zip(self.wide, self.down, self.up):
            y = torch.relu(wide(x))
            x = y * torch.sigmoid(up(torch.relu(down(y.mean((2, 3), keepdim=True)))))
        return self.head(torch.flatten(nn.functional.adaptive_avg_pool2d(x, 1), 1))


class Pyramid(nn.Module):
    """A network that gives a picture: down by convolutions, up by resizing, with what it saw on the way down beside it."""

    def __init__(self, mode="nearest", width=24):
        super().__init__()
        self.mode = mode
        self.a, self.b, self.c = nn.Conv2d(3, width, 3, 1, 1), nn.Conv2d(width, 2 * width, 3, 2, 1), nn.Conv2d(2 * width, 4 * width, 3, 2, 1)
        self.d, self.e, self.out = nn.Conv2d(4 * width, 2 * width, 3, 1, 1), nn.Conv2d(2 * width, width, 3, 1, 1), nn.Conv2d(width, 4, 1)

    def up(self, x):
        return nn.functional.interpolate(x, scale_factor=2, mode=self.mode, align_corners=None if self.mode == "nearest" else False)

    def forward(self, x):
        a = torch.relu(self.a(x))
        b = torch.relu(self.b(a))
        c = torch.relu(self.c(b))
        b = torch.relu(self.d(self.up(c))) + b
        return self.out(torch.relu(self.e(self.up(b))) + a)


class Encoder(nn.Module):
    """Attention over a sequence whose padding is masked by the least float, as exporters write it."""

    def __init__(self, width=64, heads=4, layers=2):
        super().__init__()
        self.heads, self.width = heads, width
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers))
        self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.wide = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(layers))
        self.narrow = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(layers))

    def forward(self, x, mask):
        hidden = (1.0 - mask)[:, None, None, :] * torch.finfo(torch.float32).min
        for qkv, out, wide, narrow in zip(self.qkv, self.out, self.wide, self.narrow):
            q, k, v = (part.reshape(1, -1, self.heads, self.width // self.heads).transpose(1, 2) for part in qkv(x).split(self.width, -1))
            scores = torch.softmax(q @ k.transpose(-1, -2) * 0.25 + hidden, -1) @ v
            x = x + out(scores.transpose(1, 2).reshape(1, -1, self.width))
            x = x + narrow(torch.relu(wide(x)))
        return x


def _timm(name, **options):
    return lambda: timm.create_model(name, pretrained=False, num_classes=100, **options)


def _vision(name, **options):
    return lambda: getattr(torchvision.models, name)(weights=None, num_classes=100, **options)


def _plain(name, channels):
    """A network of torchvision with one product behind the mean of its last pixels, for three products of many megabytes."""
    def make():
        model = getattr(torchvision.models, name)(weights=None)
        model.avgpool, model.classifier = nn.AdaptiveAvgPool2d(1), nn.Linear(channels, 100)
        return model

    return make


PICTURE, LARGER, BETWEEN, SEQUENCE = ((1, 3, 96, 96),), ((1, 3, 128, 128),), ((1, 3, 112, 112),), ((1, 32, 64), (1, 32))

# name: (how it is made, shapes of its inputs)
NETWORKS = {
    "alexnet": (_plain("alexnet", 256), PICTURE),
    "darknet17": (_timm("darknet17"), PICTURE),
    "dla34": (_timm("dla34"), PICTURE),
    "encoder2": (Encoder, SEQUENCE),
    "encoder3": (lambda: Encoder(layers=3), SEQUENCE),
    "gated48": (Gated, PICTURE),
    "googlenet": (_vision("googlenet", aux_logits=False, init_weights=False), PICTURE),
    "mnasnet0_5": (_vision("mnasnet0_5"), PICTURE),
    "mnasnet1_0": (_vision("mnasnet1_0"), PICTURE),
    "perceptron": (lambda: nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 64)), ((16, 256),)),
    "pyramid": (Pyramid, PICTURE),
    "pyramid_cubic": (lambda: Pyramid("bicubic", width=32), PICTURE),
    "pyramid_linear": (lambda: Pyramid("bilinear"), PICTURE),
    "regnet_x_400mf": (_vision("regnet_x_400mf"), PICTURE),
    "regnet_x_800mf": (_vision("regnet_x_800mf"), PICTURE),
    "regnet_y_400mf": (_vision("regnet_y_400mf"), PICTURE),
    "resnet10t": (_timm("resnet10t"), PICTURE),
    "resnet14t": (_timm("resnet14t"), PICTURE),
    "resnet26": (_timm("resnet26"), PICTURE),
    "resnet26_silu": (_timm("resnet26", act_layer=nn.SiLU), PICTURE),
    "resnet34": (_vision("resnet34"), PICTURE),
    "resnet50": (_vision("resnet50"), PICTURE),
    "resnext26": (_timm("resnet26", cardinality=32, base_width=4), PICTURE),
    "squeezenet1_0": (_vision("squeezenet1_0"), PICTURE),
    "vgg11": (_plain("vgg11", 512), PICTURE),
    "vgg13_bn": (_plain("vgg13_bn", 512), PICTURE),
    "vgg11_silu": (lambda: _with_silu(_plain("vgg11_bn", 512)()), PICTURE),
    # of the second set
    "encoder1": (lambda: Encoder(layers=1), SEQUENCE),
    "encoder4": (lambda: Encoder(layers=4), SEQUENCE),
    "gated64": (lambda: Gated(64), LARGER),
    "mnasnet0_75": (_vision("mnasnet0_75"), LARGER),
    "perceptron2": (lambda: nn.Sequential(nn.Linear(320, 768), nn.ReLU(), nn.Linear(768, 1536), nn.ReLU(), nn.Linear(1536, 96)), ((24, 320),)),
    "pyramid48": (lambda: Pyramid(width=48), LARGER),
    "pyramid_cubic48": (lambda: Pyramid("bicubic", width=48), LARGER),
    "pyramid_linear16": (lambda: Pyramid("bilinear", width=16), LARGER),
    "regnet_x_1_6gf": (_vision("regnet_x_1_6gf"), LARGER),
    "regnet_y_800mf": (_vision("regnet_y_800mf"), LARGER),
    "resnet18_silu": (_timm("resnet18", act_layer=nn.SiLU), LARGER),
    "resnet18d": (_timm("resnet18d"), LARGER),
    "resnet26d": (_timm("resnet26d"), LARGER),
    "resnext50_32x4d": (_vision("resnext50_32x4d"), LARGER),
    "selecsls42b": (_timm("selecsls42b"), LARGER),
    "shufflenet_v2_x1_0": (_vision("shufflenet_v2_x1_0"), LARGER),
    "vgg11_bn": (_plain("vgg11_bn", 512), LARGER),
    "vgg13": (_plain("vgg13", 512), LARGER),
    "vgg13_silu": (lambda: _with_silu(_plain("vgg13_bn", 512)()), LARGER),
    "vgg16": (_plain("vgg16", 512), LARGER),
    "vgg16_bn": (_plain("vgg16_bn", 512), LARGER),
    "vovnet39a": (_timm("vovnet39a"), LARGER),
    # of the third set
    "densenet121": (_vision("densenet121"), BETWEEN),
    "efficientnet_b0": (_vision("efficientnet_b0"), BETWEEN),
    "efficientnet_lite0": (_timm("efficientnet_lite0"), BETWEEN),
    "encoder5": (lambda: Encoder(heads=8, layers=5), SEQUENCE),
    "encoder6": (lambda: Encoder(heads=2, layers=6), SEQUENCE),
    "ese_vovnet19b_dw": (_timm("ese_vovnet19b_dw"), BETWEEN),
    "hrnet_w18_small": (_timm("hrnet_w18_small"), LARGER),
    "inception_v3": (_vision("inception_v3", aux_logits=False, init_weights=False), BETWEEN),
    "perceptron3": (lambda: nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 32)), ((8, 512),)),
    "pyramid32": (lambda: Pyramid(width=32), BETWEEN),
    "pyramid_cubic16": (lambda: Pyramid("bicubic", width=16), BETWEEN),
    "pyramid_linear64": (lambda: Pyramid("bilinear", width=64), BETWEEN),
    "repvgg_a0": (_timm("repvgg_a0"), BETWEEN),
    "repvgg_a0_silu": (_timm("repvgg_a0", act_layer=nn.SiLU), BETWEEN),
    "res2net50_14w_8s": (_timm("res2net50_14w_8s"), BETWEEN),
    "resnet101": (_vision("resnet101"), BETWEEN),
    "regnet_y_1_6gf": (_vision("regnet_y_1_6gf"), BETWEEN),
    "seresnext26d_32x4d": (_timm("seresnext26d_32x4d"), BETWEEN),
    "spnasnet_100": (_timm("spnasnet_100"), BETWEEN),
    "vgg19": (_plain("vgg19", 512), BETWEEN),
    "vgg19_bn": (_plain("vgg19_bn", 512), BETWEEN),
    "wide_resnet50_2": (_vision("wide_resnet50_2"), BETWEEN),
}


def _with_silu(model):
    for index, layer in enumerate(model.features):
        if isinstance(layer, nn.ReLU):
            model.features[index] = nn.SiLU()
    return model


def _used(model, inputs):
    """Statistics of batch norms as they would be after training: of what they see."""
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm2d, nn.BatchNorm1d)):
            module.momentum = 1.0
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, 0.0, 0.3)
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        if isinstance(module, (nn.Conv2d, nn.Linear)) and module.bias is not None:
            nn.init.normal_(module.bias, 0.0, 0.1)
    model.train()
    with torch.no_grad():
        for _ in range(2):
            model(*(torch.randn(8 if each.dim() == 4 else each.shape[0], *each.shape[1:]) for each in inputs))
    return model.eval()


def inputs_of(name, seed):
    """Random inputs of a network, as tensors."""
    torch.manual_seed(seed)
    shapes = NETWORKS[name][1]
    values = [torch.randn(shape) for shape in shapes]
    if shapes is SEQUENCE:
        values[1] = (torch.arange(32)[None] < 20 + seed % 12).float()
    return values


def write(name, path, folded=True):
    """Writes a network as an ONNX file; with its batch norms where they are not to be folded."""
    torch.manual_seed(sum(map(ord, name)))
    model = NETWORKS[name][0]()
    inputs = inputs_of(name, 1)
    model = _used(model, inputs)
    mode = torch.onnx.TrainingMode.EVAL if folded else torch.onnx.TrainingMode.PRESERVE
    torch.onnx.export(model, tuple(inputs), path, dynamo=False, opset_version=17, training=mode, do_constant_folding=folded)
    return [each.name for each in onnx.load(path).graph.input]
