"""What the rules of shrink.py and feed.py do not get right, by type of model.

`init`: arguments of the configuration class; `set`: values of the small configuration; `depth: False`: layers are not
cut; `inputs`, `extra`: inputs by name, see `Feed.given`; `image`: edge of images; `frames`: images of a video; `sound`,
`samples`: length of audio; `batch`; `drop`: inputs that are not given; `keep_images`: images keep their size.
"""

from __future__ import annotations

from typing import Any

OVERRIDES: dict[str, dict[str, Any]] = {
    "reformer": {"init": {"is_decoder": True}, "set": {"axial_pos_shape": [3, 4]}},
    "esm": {"init": {"vocab_size": 64, "pad_token_id": 1, "mask_token_id": 2}},
    "time_series_transformer": {"init": {"prediction_length": 4, "context_length": 8}},
    "autoformer": {"init": {"prediction_length": 4, "context_length": 8}},
    "informer": {"init": {"prediction_length": 4, "context_length": 8}},
    "idefics": {"frames": 1, "inputs": {"image_attention_mask": ["ones", [2, 12, 1]]}},
    "jamba": {"set": {"use_mamba_kernels": False}},
    "xmod": {"set": {"default_language": "en_XX"}},
    "sam": {"keep_images": True, "batch": 1},
    "sam_hq": {"keep_images": True, "batch": 1},
    "sam2": {"keep_images": True, "batch": 1},
    "sam3_tracker": {"keep_images": True, "batch": 1},
    "edgetam": {"keep_images": True, "batch": 1},
    "videomae": {"frames": 16, "inputs": {"bool_masked_pos": ["bool", [2, 1568]]}},
    "speech-encoder-decoder": {"drop": ["input_features"]},
    "kosmos-2": {"drop": ["pixel_values"]},
}
