"""Small encoders of transformers with seeded weights, and the files that each exporter makes of them. For encoders.py.

Every network has a few layers, a few heads, and is made in place from its configuration: good for what files look like, not for what they answer.
"""

import contextlib
import io
import os
import warnings

import numpy as np
import onnx
import timm
import torch
import transformers as hf

SIZES = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
WORDS = {"vocab_size": 400, "max_position_embeddings": 80}
PICTURES = {"image_size": 32, "patch_size": 8}
SWIN = {"image_size": 32, "patch_size": 2, "embed_dim": 32, "depths": [2, 1], "num_heads": [2, 4], "window_size": 4}
ATTENTIONS = ("eager", "sdpa")

def bert(**more):
    return {**SIZES, **WORDS, **more}


# name -> (what it reads, class, configuration)
NETWORKS = {
    "albert": ("words", hf.AlbertModel, lambda: hf.AlbertConfig(**bert(embedding_size=32))),
    "beit": ("picture", hf.BeitModel, lambda: hf.BeitConfig(**SIZES, **PICTURES, use_relative_position_bias=True)),
    "bert": ("words", hf.BertModel, lambda: hf.BertConfig(**bert())),
    "deberta_v2": ("words", hf.DebertaV2Model, lambda: hf.DebertaV2Config(
        **bert(relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=16, norm_rel_ebd="layer_norm", share_att_key=True))),
    "deit": ("picture", hf.DeiTModel, lambda: hf.DeiTConfig(**SIZES, **PICTURES)),
    "distilbert": ("words", hf.DistilBertModel, lambda: hf.DistilBertConfig(dim=64, n_layers=2, n_heads=4, hidden_dim=128, **WORDS)),
    "electra": ("words", hf.ElectraModel, lambda: hf.ElectraConfig(**bert(embedding_size=32))),
    "gpt2": ("words", hf.GPT2Model, lambda: hf.GPT2Config(n_embd=64, n_layer=2, n_head=4, vocab_size=400, n_positions=80, use_cache=False)),
    "llama": ("words", hf.LlamaModel, lambda: hf.LlamaConfig(**bert(num_key_value_heads=2, use_cache=False))),
    "mobilebert": ("words", hf.MobileBertModel, lambda: hf.MobileBertConfig(
        **bert(embedding_size=32, intra_bottleneck_size=32, true_hidden_size=32, num_feedforward_networks=2))),
    "modernbert": ("words", hf.ModernBertModel, lambda: hf.ModernBertConfig(
        **bert(local_attention=8, global_attn_every_n_layers=2, pad_token_id=0, reference_compile=False))),
    "mpnet": ("words", hf.MPNetModel, lambda: hf.MPNetConfig(**bert())),
    "qwen2": ("words", hf.Qwen2Model, lambda: hf.Qwen2Config(**bert(num_key_value_heads=2, use_cache=False))),
    "roberta": ("words", hf.RobertaModel, lambda: hf.RobertaConfig(**bert())),
    "swin": ("picture", hf.SwinModel, lambda: hf.SwinConfig(**SWIN)),
    "swinv2": ("picture", hf.Swinv2Model, lambda: hf.Swinv2Config(**SWIN)),
    "vit": ("picture", hf.ViTModel, lambda: hf.ViTConfig(**SIZES, **PICTURES)),
    "xlm_roberta": ("words", hf.XLMRobertaModel, lambda: hf.XLMRobertaConfig(**bert())),
}  # fmt: skip

TINY = {"depth": 2, "embed_dim": 48, "num_heads": 3}
WINDOWS = {"depths": (2, 2), "embed_dim": 32, "num_heads": (2, 4)}

# name -> (timm's model, height and width, its arguments, layers of attention that are softmax(q k) v)
TIMM = {
    "timm_beit": ("beit_base_patch16_224", 64, {**TINY, "img_size": 64}, 2),
    "timm_cait": ("cait_xxs24_224", 64, {**TINY, "img_size": 64}, 2),
    "timm_coatnet": ("coatnet_0_rw_224", 64, {"img_size": 64, "depths": (1, 1, 1, 1), "embed_dim": (32, 32, 64, 64)}, 2),
    "timm_deit": ("deit_tiny_distilled_patch16_224", 64, {**TINY, "img_size": 64}, 2),
    "timm_eva02": ("eva02_tiny_patch14_224", 56, {**TINY, "img_size": 56}, 2),
    "timm_hiera": ("hiera_tiny_224", 64, {"img_size": (64, 64), "stages": (1, 1, 1, 1), "embed_dim": 32}, 4),
    "timm_levit": ("levit_128s", 224, {"embed_dim": (32, 48, 64), "key_dim": 16, "num_heads": (2, 3, 4), "depth": (1, 1, 1)}, 5),
    "timm_maxvit": ("maxvit_tiny_tf_224", 64, {"img_size": 64, "depths": (1, 1), "embed_dim": (32, 64)}, 4),
    "timm_mobilevit": ("mobilevit_xxs", 128, {}, 9),
    "timm_mobilevitv2": ("mobilevitv2_050", 128, {}, 0),
    "timm_pvt_v2": ("pvt_v2_b0", 64, {"depths": (1, 1, 1, 1), "embed_dims": (16, 32, 32, 64), "num_heads": (1, 2, 2, 4)}, 4),
    "timm_swin": ("swin_tiny_patch4_window7_224", 56, {**WINDOWS, "img_size": 56}, 4),
    "timm_swinv2": ("swinv2_tiny_window8_256", 64, {**WINDOWS, "img_size": 64}, 4),
    "timm_swinv2_cr": ("swinv2_cr_tiny_224", 64, {**WINDOWS, "img_size": 64}, 4),
    "timm_twins_pcpvt": ("twins_pcpvt_small", 64, {"img_size": 64, "depths": (1, 1, 1, 1), "embed_dims": (32, 32, 64, 64), "num_heads": (1, 2, 2, 2)}, 4),
    "timm_twins_svt": ("twins_svt_small", 224, {"depths": (2, 2, 2, 2), "embed_dims": (32, 32, 64, 64), "num_heads": (2, 2, 4, 4)}, 8),
    "timm_vit": ("vit_tiny_patch16_224", 64, {**TINY, "img_size": 64}, 2),
    "timm_xcit": ("xcit_nano_12_p16_224", 64, {**TINY, "img_size": 64}, 4),
}  # fmt: skip
NAMES = (*NETWORKS, *TIMM)

# name -> opset of torch.onnx.export, and whether by torch.export (dynamo); files of ONNX Runtime's tools are made of "onnx17".
EXPORTS = {"onnx14": (14, False), "onnx17": (17, False), "dynamo18": (18, True), "dynamo20": (20, True), "dynamo23": (23, True)}
SPELLINGS = (*EXPORTS, "pt2", "dynamic", "ort", "ort_dynamic", "ort_qdq")


class Single(torch.nn.Module):
    """The first result alone: the last hidden state, or the classes."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, *inputs):
        found = self.network(input_ids=inputs[0], attention_mask=inputs[1]) if len(inputs) == 2 else self.network(inputs[0])
        return found if isinstance(found, torch.Tensor) else found[0]


def make(name, attention):
    """The network and how many layers of attention it has."""
    torch.manual_seed(1)
    if name in TIMM:
        kind, _, arguments, layers = TIMM[name]
        timm.layers.set_fused_attn(attention == "sdpa")
        network = Single(timm.create_model(kind, num_classes=10, **arguments).eval())
    else:
        _, kind, configuration = NETWORKS[name]
        config = configuration()
        config._attn_implementation = attention
        network, layers = Single(kind(config).eval()), sum(SWIN["depths"]) if name.startswith("swin") else 2
    for parameter in network.parameters():  # so that vectors of ones and zeros say something
        parameter.data += 0.02 * torch.randn_like(parameter)
    return network, layers


def reads_words(name):
    return name in NETWORKS and NETWORKS[name][0] == "words"


def feeds(name, seed=0):
    """By the names of the inputs; sentences of two lengths."""
    random = np.random.default_rng(seed)
    if not reads_words(name):
        side = TIMM[name][1] if name in TIMM else 32
        return {"pixel_values": random.standard_normal((2, 3, side, side), dtype=np.float32)}
    ids, mask = random.integers(5, WORDS["vocab_size"], (2, 12)), np.ones((2, 12), np.int64)
    mask[1, 7:] = 0
    return {"input_ids": ids, "attention_mask": mask}


@contextlib.contextmanager
def silence():
    """What exporters print: whole graphs, where they fail."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved), os.close(null)


def export(name, attention, spelling, path):
    """Writes the file; `path` has its ending."""
    network, _ = make(name, attention)
    arguments = {key: torch.from_numpy(value) for key, value in feeds(name).items()}
    words = reads_words(name)
    axes = {0: "batch", 1: "tokens"} if words else {0: "batch"}
    if spelling == "pt2":
        sizes = {0: torch.export.Dim("batch", min=1, max=64)}
        if words:
            sizes[1] = torch.export.Dim("tokens", min=2, max=WORDS["max_position_embeddings"] - 4)
        program = torch.export.export(network, tuple(arguments.values()), dynamic_shapes=((sizes,) * len(arguments),), strict=False)
        torch.export.save(program, path)
        return
    opset, dynamo = EXPORTS.get(spelling, EXPORTS["onnx17"])
    more = {"dynamic_shapes": ((axes,) * len(arguments),)} if dynamo else {"dynamic_axes": {key: axes for key in (*arguments, "hidden")}}
    torch.onnx.export(network, tuple(arguments.values()), str(path), dynamo=dynamo, opset_version=opset, input_names=list(arguments),
                      output_names=["hidden"], external_data=False, **more)  # fmt: skip
    if spelling in ("ort", "ort_dynamic"):
        optimize(path, "gpt2" if name == "gpt2" else "vit" if not words else "bert")
    if spelling == "ort_qdq":
        quantize_statically(path, name)
    elif spelling.endswith("dynamic"):
        from onnxruntime.quantization import QuantType, quantize_dynamic

        # What it cannot infer behind fused operators is f32.
        quantize_dynamic(path, path, weight_type=QuantType.QInt8, extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})


def optimize(path, kind):
    from onnxruntime.transformers import optimizer

    optimizer.optimize_model(str(path), model_type=kind, num_heads=4, hidden_size=SIZES["hidden_size"], opt_level=0).save_model_to_file(str(path))


def quantize_statically(path, name):
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Samples(CalibrationDataReader):
        def __init__(self):
            self.rest = [feeds(name, seed) for seed in range(1, 5)]

        def get_next(self):
            return self.rest.pop() if self.rest else None

    quant_pre_process(str(path), str(path), skip_symbolic_shape=True)
    types = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
    quantize_static(str(path), str(path), Samples(), quant_format=QuantFormat.QDQ, per_channel=True, **types)
