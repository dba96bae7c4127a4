"""Architectures with seeded weights, how each is exported, and what it reads. For architectures.py.

Weights are random, so answers mean nothing; sizes are chosen so that a file is written in seconds.
"""

import contextlib
import dataclasses
import io
import warnings
from typing import Callable

import numpy as np
import torch
import torchvision
import transformers as hf
from torchvision.models import detection, optical_flow, segmentation, video
from torchvision.models.video.mvit import MSBlockConfig, MViT

import architecture_models as own

OPSET, NEWER_OPSET = 17, 18  # of the older exporter, and of the newer one where that refuses


@dataclasses.dataclass
class Case:
    make: Callable  # -> torch.nn.Module
    inputs: dict  # name -> a shape of f32, or a function from a generator to an array
    detects: bool = False  # boxes, whose number data decides
    quantized: bool = False  # by ONNX Runtime, as QDQ
    newer: bool = False  # what the older exporter makes of it is no file that ONNX Runtime runs


def picture(pixels, height=None):
    return {"input": (1, 3, height or pixels, pixels)}


def clip(frames, pixels):
    return {"input": (1, 3, frames, pixels, pixels)}


def words(length, count=400):
    return {"input_ids": lambda random: random.integers(1, count, (1, length)), "attention_mask": lambda random: np.ones((1, length), np.int64)}


def of(kind, config, wrap=None):
    """A class of transformers from its configuration; eager, as the older exporter wants it for some."""

    def make():
        made = config()
        made._attn_implementation = "eager"
        network = kind(made)
        return wrap(network) if wrap else network

    return make


class Wrapped(torch.nn.Module):
    """Calls a network with other arguments, and takes from its answer what counts."""

    def __init__(self, network, call):
        super().__init__()
        self.network, self.call = network, call

    def forward(self, *inputs):
        return self.call(self.network, *inputs)


def fields(*names, **arguments):
    """wrap: these fields of the answer to keyword arguments named by position."""
    return lambda network: Wrapped(network, lambda n, *inputs: tuple(getattr(n(*inputs, **arguments), name) for name in names))


def named(first, *names, **arguments):
    """wrap: inputs by name, and the answer's field `first`."""
    return lambda network: Wrapped(network, lambda n, *inputs: getattr(n(**dict(zip(names, inputs)), **arguments), first))


def of_images(make):
    """torchvision's detectors take lists of images."""
    return lambda: Wrapped(make(), lambda n, x: tuple(n([x[0]])[0].values()))


def out(make):
    return lambda: Wrapped(make(), lambda n, x: n(x)["out"])


PLAIN = {"weights": None, "weights_backbone": None}
SMALL = {"min_size": 256, "max_size": 320}
LAYERS = {"hidden_size": 192, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 768}
RESNET = {"embedding_size": 32, "hidden_sizes": [32, 64, 128, 256], "depths": [1, 1, 1, 1], "layer_type": "basic"}


def resnet(*stages):
    return hf.ResNetConfig(**RESNET, out_features=list(stages))


def rt_detr():
    backbone = hf.RTDetrResNetConfig(**RESNET, out_features=["stage2", "stage3", "stage4"])
    return hf.RTDetrConfig(backbone_config=backbone, use_timm_backbone=False, encoder_in_channels=[64, 128, 256], feat_strides=[8, 16, 32], encoder_hidden_dim=128, d_model=128,
                           encoder_ffn_dim=256, decoder_ffn_dim=256, decoder_layers=2, num_queries=100, decoder_in_channels=[128, 128, 128], anchor_image_size=[256, 256])  # fmt: skip


def detr():
    return hf.DetrConfig(use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=resnet("stage4"), d_model=128, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=512,
                         decoder_ffn_dim=512, encoder_attention_heads=4, decoder_attention_heads=4, num_queries=50)  # fmt: skip


def dpt():
    return hf.DPTConfig(**LAYERS, image_size=224, patch_size=16, backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[48, 96, 192, 192], fusion_hidden_size=64, readout_type="project", is_hybrid=False)


def depth_anything():
    backbone = hf.Dinov2Config(hidden_size=192, num_hidden_layers=4, num_attention_heads=4, image_size=196, patch_size=14, out_features=["stage1", "stage2", "stage3", "stage4"], reshape_hidden_states=False)
    return hf.DepthAnythingConfig(backbone_config=backbone, reassemble_hidden_size=192, neck_hidden_sizes=[32, 48, 96, 96], fusion_hidden_size=48, head_hidden_size=24)


def wav2vec(**more):
    return {**LAYERS, "conv_dim": [128] * 7, "num_conv_pos_embeddings": 32, "num_conv_pos_embedding_groups": 8, "feat_extract_norm": "group", **more}


CLIP = {"hidden_size": 192, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 768, "projection_dim": 128}
WHISPER = {"d_model": 192, "encoder_layers": 4, "encoder_attention_heads": 4, "encoder_ffn_dim": 768, "max_source_positions": 250, "num_mel_bins": 80,
           "decoder_layers": 1, "decoder_attention_heads": 4, "decoder_ffn_dim": 768, "vocab_size": 400, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}  # fmt: skip
SPEECHT5 = {"hidden_size": 192, "encoder_layers": 3, "encoder_attention_heads": 4, "encoder_ffn_dim": 768, "decoder_layers": 2, "decoder_attention_heads": 4, "decoder_ffn_dim": 768,
            "conv_dim": [128] * 7, "num_conv_pos_embeddings": 32, "num_conv_pos_embedding_groups": 8, "vocab_size": 81, "max_position_embeddings": 1024}  # fmt: skip
SOUND = {"input": (1, 16000)}


def speecht5():
    network = hf.SpeechT5ForSpeechToText(hf.SpeechT5Config(**SPEECHT5))
    return Wrapped(network, lambda n, x: n.get_encoder()(x).last_hidden_state)


def mvit(version):
    """Four blocks of torchvision's MViT of that version; the whole ones fix 16 frames of 224x224."""
    heads, inputs, outputs = [1, 2, 2, 4], [96, 96, 192, 192], [96, 192, 192, 384]
    queries, keys = [(1, 1, 1), (1, 2, 2), (1, 1, 1), (1, 2, 2)], [(1, 8, 8), (1, 4, 4), (1, 4, 4), (1, 2, 2)]
    blocks = [MSBlockConfig(heads[i], inputs[i], outputs[i], [3, 3, 3], [3, 3, 3], list(queries[i]), list(keys[i])) for i in range(4)]
    return MViT((112, 112), 8, blocks, residual_pool=version == 2, residual_with_cls_embed=version == 1, rel_pos_embed=version == 2, proj_after_attn=version == 2)


CASES = {
    # torchvision: segmentation
    "fcn_resnet50": Case(out(lambda: segmentation.fcn_resnet50(**PLAIN)), picture(160)),
    "deeplabv3_resnet50": Case(out(lambda: segmentation.deeplabv3_resnet50(**PLAIN)), picture(160)),
    "deeplabv3_mobilenet_v3": Case(out(lambda: segmentation.deeplabv3_mobilenet_v3_large(**PLAIN)), picture(224)),
    "lraspp_mobilenet_v3": Case(out(lambda: segmentation.lraspp_mobilenet_v3_large(**PLAIN)), picture(224)),
    # torchvision: detection
    "ssd300_vgg16": Case(of_images(lambda: detection.ssd300_vgg16(**PLAIN, score_thresh=0.011)), picture(300), detects=True),
    "ssdlite320_mobilenet_v3": Case(of_images(lambda: detection.ssdlite320_mobilenet_v3_large(**PLAIN, score_thresh=0.011)), picture(320), detects=True),
    "retinanet_resnet50": Case(of_images(lambda: detection.retinanet_resnet50_fpn(**PLAIN, **SMALL, score_thresh=0.0101)), picture(256), detects=True),
    "fcos_resnet50": Case(of_images(lambda: detection.fcos_resnet50_fpn(**PLAIN, **SMALL, score_thresh=0.07)), picture(256), detects=True),
    "fasterrcnn_mobilenet_v3": Case(of_images(lambda: detection.fasterrcnn_mobilenet_v3_large_320_fpn(**PLAIN, box_score_thresh=0.01)), picture(320), detects=True),
    "fasterrcnn_resnet50": Case(of_images(lambda: detection.fasterrcnn_resnet50_fpn(**PLAIN, **SMALL, box_score_thresh=0.012)), picture(256), detects=True),
    "maskrcnn_resnet50": Case(of_images(lambda: detection.maskrcnn_resnet50_fpn(**PLAIN, **SMALL, box_score_thresh=0.012, box_detections_per_img=20)), picture(256), detects=True),
    "keypointrcnn_resnet50": Case(of_images(lambda: detection.keypointrcnn_resnet50_fpn(**PLAIN, **SMALL, box_score_thresh=0.4, box_detections_per_img=20)), picture(256), detects=True),
    # torchvision: video and flow
    "r3d_18": Case(lambda: video.r3d_18(weights=None), clip(8, 112)),
    "mc3_18": Case(lambda: video.mc3_18(weights=None), clip(8, 112)),
    "r2plus1d_18": Case(lambda: video.r2plus1d_18(weights=None), clip(8, 112)),
    "s3d": Case(lambda: video.s3d(weights=None), clip(16, 224)),
    "swin3d_t": Case(lambda: video.swin3d_t(weights=None), clip(8, 112)),
    "mvit_v1": Case(lambda: mvit(1), clip(8, 112), newer=True),
    "mvit_v2": Case(lambda: mvit(2), clip(8, 112), newer=True),
    "raft_small": Case(lambda: Wrapped(optical_flow.raft_small(weights=None), lambda n, a, b: n(a, b, num_flow_updates=4)[-1]), {"first": (1, 3, 128, 160), "second": (1, 3, 128, 160)}),
    # torchvision: quantized by ONNX Runtime
    "resnet18_qdq": Case(lambda: torchvision.models.resnet18(weights=None), picture(224), quantized=True),
    "mobilenet_v3_large_qdq": Case(lambda: torchvision.models.mobilenet_v3_large(weights=None), picture(224), quantized=True),
    "deeplabv3_mobilenet_v3_qdq": Case(out(lambda: segmentation.deeplabv3_mobilenet_v3_large(**PLAIN)), picture(224), quantized=True),
    "ssdlite320_mobilenet_v3_qdq": Case(of_images(lambda: detection.ssdlite320_mobilenet_v3_large(**PLAIN, score_thresh=0.011)), picture(320), detects=True, quantized=True),
    "r3d_18_qdq": Case(lambda: video.r3d_18(weights=None), clip(8, 112), quantized=True),
    # detectors and pictures
    "yolov5": Case(own.YoloV5, picture(320)),
    "yolov8": Case(own.YoloV8, picture(320)),
    "yolov8_nms": Case(own.Detector, picture(320), detects=True),
    "rt_detr": Case(of(hf.RTDetrForObjectDetection, rt_detr, fields("logits", "pred_boxes")), picture(256)),
    "detr": Case(of(hf.DetrForObjectDetection, detr, fields("logits", "pred_boxes")), picture(256)),
    "segformer": Case(of(hf.SegformerForSemanticSegmentation, lambda: hf.SegformerConfig(), fields("logits")), picture(256)),
    "dpt": Case(of(hf.DPTForDepthEstimation, dpt, fields("predicted_depth")), picture(224)),
    "depth_anything": Case(of(hf.DepthAnythingForDepthEstimation, depth_anything, fields("predicted_depth")), picture(196)),
    "unet": Case(own.UNet, picture(192)),
    "unet_bilinear": Case(lambda: own.UNet(transposed=False), picture(192)),
    "unet3d": Case(own.UNet3D, {"input": (1, 1, 32, 48, 48)}),
    "crnn": Case(own.CRNN, {"input": (1, 1, 32, 256)}),
    "convlstm": Case(own.ConvLSTM, {"input": (1, 6, 1, 48, 48)}),
    # sound
    "voice_activity": Case(own.VoiceActivity, {"sound": (1, 576), "state": (2, 1, 128)}),
    "whisper_encoder": Case(of(hf.WhisperModel, lambda: hf.WhisperConfig(**WHISPER), lambda n: Wrapped(n.encoder, lambda e, x: e(x).last_hidden_state)), {"input": (1, 80, 500)}),
    "wav2vec2": Case(of(hf.Wav2Vec2Model, lambda: hf.Wav2Vec2Config(**wav2vec()), fields("last_hidden_state")), SOUND),
    "hubert": Case(of(hf.HubertModel, lambda: hf.HubertConfig(**wav2vec(feat_extract_norm="layer", do_stable_layer_norm=True)), fields("last_hidden_state")), SOUND),
    "conformer": Case(of(hf.Wav2Vec2ConformerModel, lambda: hf.Wav2Vec2ConformerConfig(**wav2vec(position_embeddings_type="relative", conv_depthwise_kernel_size=31)), fields("last_hidden_state")), SOUND),
    "speecht5_encoder": Case(speecht5, SOUND),
    # words
    "clip_text": Case(of(hf.CLIPTextModelWithProjection, lambda: hf.CLIPTextConfig(**CLIP, vocab_size=400, max_position_embeddings=77, eos_token_id=2), named("text_embeds", "input_ids", "attention_mask")), words(77)),
    "clip_vision": Case(of(hf.CLIPVisionModelWithProjection, lambda: hf.CLIPVisionConfig(**CLIP, image_size=224, patch_size=16), fields("image_embeds")), picture(224)),
    "t5_encoder": Case(of(hf.T5EncoderModel, lambda: hf.T5Config(vocab_size=400, d_model=192, d_kv=48, d_ff=768, num_layers=3, num_heads=4), named("last_hidden_state", "input_ids", "attention_mask")), words(64)),
    "gpt2": Case(of(hf.GPT2LMHeadModel, lambda: hf.GPT2Config(n_embd=192, n_layer=3, n_head=4, vocab_size=400, n_positions=128, use_cache=False), named("logits", "input_ids", "attention_mask")), words(64)),
}  # fmt: skip


def feeds(name, seed):
    """input -> array. Pictures and sounds are normal numbers, a little smoothed so that neighbours resemble each other."""
    random = np.random.default_rng(seed)
    found = {}
    for key, what in CASES[name].inputs.items():
        if callable(what):
            found[key] = what(random)
            continue
        x = random.standard_normal(what).astype(np.float32)
        if len(what) > 3:
            x = x + np.roll(x, 1, -1) + np.roll(x, 1, -2) + np.roll(x, (1, 1), (-1, -2))
        found[key] = (x / 2 if CASES[name].detects is False else np.clip(x / 8 + 0.5, 0, 1)).astype(np.float32)
    return found


class Flat(torch.nn.Module):
    """Answers that are tensors, in a tuple."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, *inputs):
        found = self.network(*inputs)
        return found if isinstance(found, (tuple, list)) else (found,)


def network_of(name):
    """In eval mode, with statistics and factors that say something."""
    torch.manual_seed(1)
    network = Flat(CASES[name].make()).eval()
    for module in network.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm) and module.running_mean is not None:
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    for key, parameter in network.named_parameters():  # heads that begin with zeros, or with scores that are all alike
        if any(head in key for head in ("score_head.weight", "class_embed", "bbox_embed", "bbox_head")) and parameter.dim() > 1:
            torch.nn.init.normal_(parameter, 0, 0.3)
        if "network.network.scores" in key and key.endswith("2.weight") or "cls_logits.weight" in key:
            torch.nn.init.normal_(parameter, 0, 0.1)
    return network


@contextlib.contextmanager
def silence():
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def export(name, path):
    """Writes the file; returns by which exporter. Raises what the newer exporter raises."""
    network = network_of(name)
    given = feeds(name, 0)
    inputs = tuple(map(torch.from_numpy, given.values()))
    with silence(), torch.no_grad():
        outputs = [f"output{i}" for i in range(len(network(*inputs)))]
        names = {"input_names": list(given), "output_names": outputs}
        try:
            if CASES[name].newer:
                raise NotImplementedError
            torch.onnx.export(network, inputs, str(path), dynamo=False, opset_version=OPSET, **names)
            return f"opset {OPSET}"
        except Exception:  # of any kind; the newer one has the word
            torch.onnx.export(network, inputs, str(path), dynamo=True, external_data=False, opset_version=NEWER_OPSET, **names)
            return f"torch.export, opset {NEWER_OPSET}"


def quantize(name, model, path):
    """What ONNX Runtime's static quantizer makes of a file: QDQ, weights s8 per channel."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Samples(CalibrationDataReader):
        def __init__(self):
            self.rest = [feeds(name, seed) for seed in range(1, 5)]

        def get_next(self):
            return self.rest.pop() if self.rest else None

    with silence():
        quant_pre_process(str(model), str(path), skip_symbolic_shape=True)
        quantize_static(str(path), str(path), Samples(), quant_format=QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
