"""Torchvision's convolutional networks with random weights that answer by their input, exported to ONNX."""

import pathlib
import warnings

import numpy as np
import onnx
import torch
import torchvision
from PIL import Image
from torch import nn

# By number of parameters.
NAMES = """
squeezenet1_1 squeezenet1_0 shufflenet_v2_x0_5 mnasnet0_5 shufflenet_v2_x1_0 mobilenet_v3_small mnasnet0_75 shufflenet_v2_x1_5 mobilenet_v2
regnet_y_400mf mnasnet1_0 efficientnet_b0 mobilenet_v3_large regnet_x_400mf mnasnet1_3 regnet_y_800mf googlenet regnet_x_800mf shufflenet_v2_x2_0
efficientnet_b1 densenet121 efficientnet_b2 regnet_x_1_6gf regnet_y_1_6gf resnet18 efficientnet_b3 densenet169 regnet_x_3_2gf efficientnet_b4
regnet_y_3_2gf densenet201 efficientnet_v2_s resnet34 resnext50_32x4d resnet50 inception_v3 convnext_tiny densenet161 efficientnet_b5 regnet_y_8gf
regnet_x_8gf efficientnet_b6 resnet101 convnext_small efficientnet_v2_m regnet_x_16gf resnet152 alexnet efficientnet_b7 wide_resnet50_2
resnext101_64x4d regnet_y_16gf convnext_base resnext101_32x8d regnet_x_32gf efficientnet_v2_l wide_resnet101_2 vgg11 vgg11_bn vgg13 vgg13_bn vgg16
vgg16_bn vgg19 vgg19_bn regnet_y_32gf
""".split()

SEEDS = range(1, 4)


def load_images(folder, count, size=224):
    """Images as torch preprocesses them: shorter side 256, centre crop, normalised. f32 [count,3,size,size]."""
    mean = np.array([0.485, 0.456, 0.406], np.float32)
    deviation = np.array([0.229, 0.224, 0.225], np.float32)
    images = []
    for path in sorted(pathlib.Path(folder).glob("*.jpg"))[:count]:
        image = Image.open(path).convert("RGB")
        scale = 256 / min(image.size)
        image = image.resize((round(image.width * scale), round(image.height * scale)), Image.BILINEAR)
        left, top = (image.width - size) // 2, (image.height - size) // 2
        pixels = np.asarray(image.crop((left, top, left + size, top + size)), np.float32) / 255
        images.append(((pixels - mean) / deviation).transpose(2, 0, 1))
    return np.stack(images)


def synthetic_images(count, seed=1, size=224):
    """Planes of stripes and of noise of three sizes, as `octavo zoo` makes them: they differ more than photographs do to an untrained network."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[:size, :size] / size

    def plane():
        stripes = (16 * random.uniform(-1, 1) * y + 16 * random.uniform(-1, 1) * x) % 1 < 0.5
        sum_of_all = 2 * random.uniform(-1, 1) * np.where(stripes, -1, 1)
        for cells in (7, 28, 112):
            noise = 1.5 * random.uniform() * random.uniform(-1, 1, (cells, cells))
            sum_of_all = sum_of_all + np.kron(noise, np.ones((size // cells, size // cells)))
        return (sum_of_all - sum_of_all.mean()) / sum_of_all.std()

    return np.array([[plane() for _ in range(3)] for _ in range(count)], np.float32)


def classifier_of(model):
    last = None
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.Conv2d)) and getattr(module, "out_features", getattr(module, "out_channels", 0)) == 1000:
            last = module
    return last


def untrained(name, seed):
    torch.manual_seed(seed)
    options = {"aux_logits": False, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
    model = torchvision.models.get_model(name, weights=None, **options).eval()
    if hasattr(model, "transform_input"):
        model.transform_input = False
    if name.startswith("convnext"):
        for key, value in model.named_parameters():
            if key.endswith("layer_scale"):  # starts at 1e-6, where the blocks would add nothing
                value.data.fill_(0.5)
            elif key.endswith("bias"):  # start equal and become one initializer, from which quantize_static makes an invalid file
                value.data.normal_(std=0.1)
    return model


def settle(model, images):
    """Sets batch-norm statistics by a training-mode pass and the classifier's bias to minus the mean logit. Returns the logits."""
    x = torch.from_numpy(images)
    with torch.no_grad():
        for norm in (m for m in model.modules() if isinstance(m, nn.BatchNorm2d)):
            norm.reset_running_stats()
            norm.momentum = None
            norm.train()
        logits = model(x)
        if any(m.training for m in model.modules()):
            model.eval()
            logits = model(x)
        last = classifier_of(model)
        last.bias -= logits.mean(0)
        return logits - logits.mean(0) if isinstance(last, nn.Linear) else model(x)


def make(name, photographs):
    """The first network that gives at least 8 different answers to its images: (model, images, facts)."""
    for kind, images in (("photographs", photographs), ("synthetic", synthetic_images(len(photographs)))):
        for seed in SEEDS:
            model = untrained(name, seed)
            answers = len(set(settle(model, images).argmax(1).tolist()))
            if answers >= 8:
                parameters = sum(p.numel() for p in model.parameters())
                return model, images, {"seed": seed, "images": kind, "answers": answers, "parameters": parameters}
    raise ValueError(f"{name}: no seed of {SEEDS} gives 8 different answers to {len(photographs)} images")


def export_model(model, image, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            (torch.from_numpy(image),),
            path,
            dynamo=False,
            opset_version=17,
            input_names=["input"],
            output_names=["output"],
            dynamic_axes={"input": {0: "batch"}, "output": {0: "batch"}},
        )


def export(name, photographs, path):
    """Writes the network. Returns the images that it was made with and what is to be known about it."""
    model, images, facts = make(name, photographs)
    export_model(model, images[:1], path)
    return images, facts
