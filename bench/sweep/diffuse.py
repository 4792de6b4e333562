"""In the measuring interpreter: small models of diffusers and their inputs.

An entry is (class, arguments of its constructor, inputs). An input is a shape of normal numbers, or what it is.
"""

from __future__ import annotations

from typing import Any

_LATENT = (2, 4, 16, 16)
_TEXT = (2, 8, 32)
_UNET: dict[str, Any] = {
    "sample_size": 16,
    "block_out_channels": (32, 64),
    "layers_per_block": 1,
    "norm_num_groups": 16,
}

MODELS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "unet-2d": (
        "UNet2DModel",
        {
            **_UNET,
            "in_channels": 4,
            "out_channels": 4,
            "attention_head_dim": 8,
            "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
            "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
        },
        {"sample": _LATENT, "timestep": 10},
    ),
    "unet-2d-condition": (
        "UNet2DConditionModel",
        {
            **_UNET,
            "cross_attention_dim": 32,
            "attention_head_dim": 8,
            "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
            "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D"),
        },
        {"sample": _LATENT, "timestep": 10, "encoder_hidden_states": _TEXT},
    ),
    "unet-3d-condition": (
        "UNet3DConditionModel",
        {
            **_UNET,
            "cross_attention_dim": 32,
            "attention_head_dim": 8,
            "down_block_types": ("CrossAttnDownBlock3D", "DownBlock3D"),
            "up_block_types": ("UpBlock3D", "CrossAttnUpBlock3D"),
        },
        {"sample": (2, 4, 4, 16, 16), "timestep": 10, "encoder_hidden_states": _TEXT},
    ),
    "autoencoder-kl": (
        "AutoencoderKL",
        {
            "block_out_channels": (32, 64),
            "down_block_types": ("DownEncoderBlock2D",) * 2,
            "up_block_types": ("UpDecoderBlock2D",) * 2,
            "norm_num_groups": 16,
        },
        {"sample": (2, 3, 32, 32)},
    ),
    "autoencoder-tiny": ("AutoencoderTiny", {}, {"sample": (2, 3, 32, 32)}),
    "vq-model": (
        "VQModel",
        {
            "block_out_channels": (32, 64),
            "down_block_types": ("DownEncoderBlock2D",) * 2,
            "up_block_types": ("UpDecoderBlock2D",) * 2,
            "norm_num_groups": 16,
        },
        {"sample": (2, 3, 32, 32)},
    ),
    "dit": (
        "DiTTransformer2DModel",
        {"num_attention_heads": 2, "attention_head_dim": 16, "in_channels": 4, "num_layers": 2, "sample_size": 16},
        {"hidden_states": _LATENT, "timestep": ["tensor", [3, 7]], "class_labels": ["tensor", [1, 2]]},
    ),
    "pixart": (
        "PixArtTransformer2DModel",
        {
            "num_attention_heads": 2,
            "attention_head_dim": 16,
            "in_channels": 4,
            "out_channels": 8,
            "num_layers": 2,
            "sample_size": 16,
            "cross_attention_dim": 32,
            "caption_channels": 32,
            "use_additional_conditions": False,
        },
        {
            "hidden_states": _LATENT,
            "timestep": ["tensor", [3, 7]],
            "encoder_hidden_states": _TEXT,
            "added_cond_kwargs": {"aspect_ratio": None, "resolution": None},
        },
    ),
    "sd3": (
        "SD3Transformer2DModel",
        {
            "sample_size": 16,
            "patch_size": 2,
            "in_channels": 4,
            "out_channels": 4,
            "num_layers": 2,
            "attention_head_dim": 16,
            "num_attention_heads": 2,
            "joint_attention_dim": 32,
            "caption_projection_dim": 32,
            "pooled_projection_dim": 32,
        },
        {
            "hidden_states": _LATENT,
            "encoder_hidden_states": _TEXT,
            "pooled_projections": (2, 32),
            "timestep": ["tensor", [3, 7]],
        },
    ),
    "flux": (
        "FluxTransformer2DModel",
        {
            "in_channels": 4,
            "num_layers": 1,
            "num_single_layers": 1,
            "attention_head_dim": 16,
            "num_attention_heads": 2,
            "joint_attention_dim": 32,
            "pooled_projection_dim": 32,
            "axes_dims_rope": (4, 4, 8),
        },
        {
            "hidden_states": (2, 16, 4),
            "encoder_hidden_states": _TEXT,
            "pooled_projections": (2, 32),
            "timestep": ["tensor", [1.0, 1.0]],
            "img_ids": (16, 3),
            "txt_ids": (8, 3),
        },
    ),
    "transformer-2d": (
        "Transformer2DModel",
        {"num_attention_heads": 2, "attention_head_dim": 16, "in_channels": 32, "cross_attention_dim": 32},
        {"hidden_states": (2, 32, 8, 8), "encoder_hidden_states": _TEXT},
    ),
    "prior": (
        "PriorTransformer",
        {"num_attention_heads": 2, "attention_head_dim": 16, "num_layers": 2, "embedding_dim": 32, "num_embeddings": 8},
        {"hidden_states": (2, 32), "timestep": 5, "proj_embedding": (2, 32), "encoder_hidden_states": _TEXT},
    ),
    "controlnet": (
        "ControlNetModel",
        {
            "block_out_channels": (32, 64),
            "layers_per_block": 1,
            "norm_num_groups": 16,
            "cross_attention_dim": 32,
            "attention_head_dim": 8,
            "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
            "conditioning_embedding_out_channels": (16, 32),
        },
        {
            "sample": _LATENT,
            "timestep": 10,
            "encoder_hidden_states": _TEXT,
            "controlnet_cond": (2, 3, 32, 32),
        },
    ),
    "cogvideox": (
        "CogVideoXTransformer3DModel",
        {
            "num_attention_heads": 2,
            "attention_head_dim": 16,
            "in_channels": 4,
            "out_channels": 4,
            "time_embed_dim": 4,
            "text_embed_dim": 32,
            "num_layers": 2,
            "sample_width": 8,
            "sample_height": 8,
            "sample_frames": 9,
            "patch_size": 2,
            "temporal_compression_ratio": 4,
            "max_text_seq_length": 8,
        },
        {"hidden_states": (2, 3, 4, 8, 8), "encoder_hidden_states": _TEXT, "timestep": ["tensor", [3, 7]]},
    ),
    "ltx-video": (
        "LTXVideoTransformer3DModel",
        {
            "in_channels": 4,
            "out_channels": 4,
            "num_attention_heads": 2,
            "attention_head_dim": 16,
            "cross_attention_dim": 32,
            "num_layers": 2,
            "caption_channels": 32,
        },
        {
            "hidden_states": (2, 32, 4),
            "encoder_hidden_states": _TEXT,
            "timestep": ["tensor", [3, 7]],
            "encoder_attention_mask": ["ones", [2, 8]],
            "num_frames": 2,
            "height": 4,
            "width": 4,
        },
    ),
    "hunyuan-dit": (
        "HunyuanDiT2DModel",
        {
            "sample_size": 16,
            "num_layers": 2,
            "patch_size": 2,
            "attention_head_dim": 16,
            "num_attention_heads": 2,
            "in_channels": 4,
            "cross_attention_dim": 32,
            "cross_attention_dim_t5": 32,
            "pooled_projection_dim": 4,
            "hidden_size": 32,
            "activation_fn": "gelu-approximate",
            "text_len": 8,
            "text_len_t5": 8,
        },
        {
            "hidden_states": _LATENT,
            "timestep": ["tensor", [3.0, 7.0]],
            "encoder_hidden_states": _TEXT,
            "text_embedding_mask": ["ones", [2, 8]],
            "encoder_hidden_states_t5": _TEXT,
            "text_embedding_mask_t5": ["ones", [2, 8]],
            "image_meta_size": (2, 6),
            "style": ["tensor", [0, 0]],
            "image_rotary_emb": [(64, 16), (64, 16)],
        },
    ),
    "asymmetric-autoencoder-kl": (
        "AsymmetricAutoencoderKL",
        {
            "down_block_out_channels": (32, 64),
            "up_block_out_channels": (32, 64),
            "down_block_types": ("DownEncoderBlock2D",) * 2,
            "up_block_types": ("UpDecoderBlock2D",) * 2,
            "norm_num_groups": 16,
        },
        {"sample": (2, 3, 32, 32), "mask": (2, 1, 32, 32)},
    ),
}


def names() -> list[str]:
    return list(MODELS)


def model(name: str) -> Any:
    import diffusers

    kind, arguments, _ = MODELS[name]
    return getattr(diffusers, kind)(**arguments)


def inputs(name: str, generator: Any) -> dict[str, Any]:
    return {key: _made(value, generator) for key, value in MODELS[name][2].items()}


def _made(value: Any, generator: Any) -> Any:
    import torch

    if isinstance(value, tuple):
        return torch.randn(value, generator=generator)
    if isinstance(value, list):
        if value[0] == "tensor":
            return torch.tensor(value[1])
        if value[0] == "ones":
            return torch.ones(value[1], dtype=torch.int64)
        return tuple(_made(one, generator) for one in value)
    return value
