"""Torchvision's convolutional networks with random weights that answer by their input, exported to ONNX."""

import pathlib
import warnings

import numpy as np
import onnx
import torch
import torchvision
from PIL import Image
from torch import nn

NAMES = """
alexnet convnext_base convnext_small convnext_tiny densenet121 densenet161 densenet169 densenet201 efficientnet_b0 efficientnet_b1 efficientnet_b2
efficientnet_b3 efficientnet_b4 efficientnet_b5 efficientnet_b6 efficientnet_b7 efficientnet_v2_l efficientnet_v2_m efficientnet_v2_s googlenet inception_v3
mnasnet0_5 mnasnet0_75 mnasnet1_0 mnasnet1_3 mobilenet_v2 mobilenet_v3_large mobilenet_v3_small regnet_x_16gf regnet_x_1_6gf regnet_x_32gf
regnet_x_3_2gf regnet_x_400mf regnet_x_800mf regnet_x_8gf regnet_y_16gf regnet_y_1_6gf regnet_y_32gf regnet_y_3_2gf regnet_y_400mf regnet_y_800mf
regnet_y_8gf resnet101 resnet152 resnet18 resnet34 resnet50 resnext101_32x8d resnext101_64x4d resnext50_32x4d shufflenet_v2_x0_5 shufflenet_v2_x1_0
shufflenet_v2_x1_5 shufflenet_v2_x2_0 squeezenet1_0 squeezenet1_1 vgg11 vgg11_bn vgg13 vgg13_bn vgg16 vgg16_bn vgg19 vgg19_bn wide_resnet101_2
wide_resnet50_2
""".split()


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


def classifier_of(model):
    last = None
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.Conv2d)) and getattr(module, "out_features", getattr(module, "out_channels", 0)) == 1000:
            last = module
    return last


def make(name, images):
    """A seeded network with batch-norm statistics of the images and minus the mean logit as classifier bias."""
    torch.manual_seed(1)
    options = {"aux_logits": False, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
    model = torchvision.models.get_model(name, weights=None, **options).eval()
    if hasattr(model, "transform_input"):
        model.transform_input = False
    x = torch.from_numpy(images)
    norms = [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
    with torch.no_grad():
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None
            norm.train()
        model(x)
        model.eval()
        logits = model(x)
        classifier_of(model).bias -= logits.mean(0)
        answers = model(x).argmax(1)
    if len(set(answers.tolist())) < 8:
        raise ValueError(f"{name}: only {len(set(answers.tolist()))} different answers on {len(images)} images")
    return model


def export(name, images, path):
    model = make(name, images)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            (torch.from_numpy(images[:1]),),
            path,
            dynamo=False,
            opset_version=17,
            input_names=["input"],
            output_names=["output"],
            dynamic_axes={"input": {0: "batch"}, "output": {0: "batch"}},
        )
    return onnx.load(path)
