"""In the measuring interpreter: the architectures of a package, their classes and configurations."""

from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path
from typing import Any

# Which head of a transformers architecture is built: the first that it has. The base model is inside all of them.
HEADS = (
    "MODEL_FOR_IMAGE_TEXT_TO_TEXT",
    "MODEL_FOR_MULTIMODAL_LM",
    "MODEL_FOR_SPEECH_SEQ_2_SEQ",
    "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM",
    "MODEL_FOR_CAUSAL_LM",
    "MODEL_FOR_UNIVERSAL_SEGMENTATION",
    "MODEL_FOR_INSTANCE_SEGMENTATION",
    "MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION",
    "MODEL_FOR_OBJECT_DETECTION",
    "MODEL_FOR_SEMANTIC_SEGMENTATION",
    "MODEL_FOR_DEPTH_ESTIMATION",
    "MODEL_FOR_KEYPOINT_MATCHING",
    "MODEL_FOR_KEYPOINT_DETECTION",
    "MODEL_FOR_POSE_ESTIMATION",
    "MODEL_FOR_MASK_GENERATION",
    "MODEL_FOR_CTC",
    "MODEL_FOR_TEXT_TO_WAVEFORM",
    "MODEL_FOR_TEXT_TO_SPECTROGRAM",
    "MODEL_FOR_TIME_SERIES_PREDICTION",
    "MODEL_FOR_VISUAL_QUESTION_ANSWERING",
    "MODEL_FOR_MASKED_LM",
    "MODEL_FOR_PRETRAINING",
    "MODEL_FOR_VIDEO_CLASSIFICATION",
    "MODEL_FOR_IMAGE_CLASSIFICATION",
    "MODEL_FOR_AUDIO_CLASSIFICATION",
    "MODEL_FOR_SEQUENCE_CLASSIFICATION",
    "MODEL_FOR_TOKEN_CLASSIFICATION",
    "MODEL_FOR_IMAGE_TO_IMAGE",
    "MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION",
    "MODEL",
)


def transformers_types() -> list[str]:
    """One type for each folder of transformers.models that has a model, the one that says most."""
    from transformers.models.auto import configuration_auto, modeling_auto

    folders: dict[str, list[str]] = {}
    for name in configuration_auto.CONFIG_MAPPING_NAMES:
        if _head(modeling_auto, name):
            folders.setdefault(configuration_auto.model_type_to_module_name(name), []).append(name)
    return [min(names, key=lambda name: (_rank(modeling_auto, name), len(name))) for names in folders.values()]


def _rank(mappings: Any, name: str) -> int:
    heads = [number for number, head in enumerate(HEADS) if name in getattr(mappings, f"{head}_MAPPING_NAMES", {})]
    return heads[0] if heads else len(HEADS)


def _head(mappings: Any, name: str) -> str | None:
    for head in HEADS:
        found = getattr(mappings, f"{head}_MAPPING_NAMES", {}).get(name)
        if found:
            return found if isinstance(found, str) else found[0]
    return None


def transformers_class(name: str) -> tuple[Any, Any]:
    """The model class and the configuration class of a type."""
    import transformers
    from transformers.models.auto import modeling_auto

    return getattr(transformers, str(_head(modeling_auto, name))), transformers.CONFIG_MAPPING[name]


def timm_names() -> list[str]:
    """The smallest-looking registered model of each file of timm.models."""
    import timm

    files: dict[str, list[str]] = {}
    for name in timm.list_models():
        files.setdefault(timm.models._registry._model_to_module[name], []).append(name)
    return [min(names, key=_timm_size) for names in files.values()]


def _timm_size(name: str) -> tuple[int, int, str]:
    words = ("femto", "atto", "pico", "nano", "tiny", "xxs", "_xs", "_s0", "small", "_s", "_b0")
    return (next((number for number, word in enumerate(words) if word in name), 99), len(name), name)


# What may break: the names come first whose file has the most of it. It is no more than that, an order.
_SUSPECT = re.compile(
    r"if .*(\.any\(|\.all\(|\.max\(|\.min\(|\.sum\(|torch\.(any|all|equal|allclose|isnan|isinf)|\.item\()|"
    r"^\s+(while|assert) .*\b(torch|mask|sum|any|all)\b|logger\.(warning|info|debug|error)|\bprint\(|warnings\.warn|"
    r"torch\.(where\([^,()]*\)|nonzero|unique)|\.(nonzero|unique|tolist)\(",
    re.MULTILINE,
)

_ARMS = {
    "half": r"float16",
    "train": r"layerdrop|gradient_checkpointing and self\.training|labels",
    "odd": r"expert_idx ==|logger\.warning|(mask|labels).*\b(all|any|sum|max)\(|warnings\.warn|output_attentions",
}


def names(package: str) -> list[tuple[str, int, list[str]]]:
    """The architectures of a package: suspicious lines in the file of each, and the arms that it asks for."""
    if package == "transformers":
        from transformers.models.auto import configuration_auto

        root = Path(str(sys.modules["transformers"].__file__)).parent / "models"
        folders = {name: configuration_auto.model_type_to_module_name(name) for name in transformers_types()}
        return [(name, *_suspects(root / folder, f"modeling_{folder}.py")) for name, folder in folders.items()]
    if package == "timm":
        import timm

        root = Path(str(timm.__file__)).parent / "models"
        modules = timm.models._registry._model_to_module
        return [(name, *_suspects(root, f"{modules[name]}.py")) for name in timm_names()]
    import diffuse

    return [(name, 0, []) for name in diffuse.names()]


def _suspects(folder: Path, file: str) -> tuple[int, list[str]]:
    with contextlib.suppress(OSError):
        text = (folder / file).read_text(encoding="utf-8")
        arms = [arm for arm, words in _ARMS.items() if re.search(words, text)]
        return len(_SUSPECT.findall(text)), arms
    return 0, []
