"""Mend five models of transformers and measure what torch.compile makes of them before and after.

    python bench/spine.py --python INTERPRETER [--work DIR] [--models NAME,...]

INTERPRETER has torch and transformers==4.52.4; the Python that runs this file has graphmend_lsp. Each measurement is
a process of its own. bench/README.md says what is measured. Exit status: 0 all targets and checks hold, 1 not all do.
"""

import argparse
import difflib
import importlib
import json
import logging
import logging.handlers
import os
import re
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

VERSION = "4.52.4"

# Tiny configurations with the structure of the real models: the breaks come from the code, not from the sizes.
# A spec is (kind, shape) or (kind, shape, low, high); `before` and `after` are the paper's counts.
_BART_SIZES = {
    "vocab_size": 128,
    "d_model": 64,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 128,
    "decoder_ffn_dim": 128,
}
MODELS: dict[str, dict[str, Any]] = {
    "t5-small": {
        "class": "T5ForConditionalGeneration",
        "config": {
            "class": "T5Config",
            "vocab_size": 128,
            "d_model": 64,
            "d_ff": 128,
            "num_layers": 2,
            "num_heads": 2,
            "d_kv": 32,
        },
        "inputs": {"input_ids": ["int", [1, 8], 0, 128], "decoder_input_ids": ["int", [1, 8], 0, 128]},
        "files": ["models/t5/modeling_t5.py"],
        "warns": "Passing a tuple of `past_key_values` is deprecated",
        "before": 3,
        "after": 0,
    },
    "whisper-base": {
        "class": "WhisperForConditionalGeneration",
        "config": {
            "class": "WhisperConfig",
            **_BART_SIZES,
            "num_mel_bins": 80,
            "max_source_positions": 64,
            "max_target_positions": 64,
            "decoder_start_token_id": 2,
            "pad_token_id": 0,
            "bos_token_id": 1,
            "eos_token_id": 2,
        },
        "inputs": {"input_features": ["normal", [1, 80, 128]], "decoder_input_ids": ["int", [1, 8], 0, 128]},
        "files": ["models/whisper/modeling_whisper.py"],
        "warns": "Passing a tuple of `past_key_values` is deprecated",
        "before": 3,
        "after": 0,
    },
    "bart-base": {
        "class": "BartForConditionalGeneration",
        "config": {"class": "BartConfig", **_BART_SIZES, "max_position_embeddings": 64},
        "inputs": {
            "input_ids": ["int", [4, 16], 3, 128],
            "attention_mask": ["ones", [4, 16]],
            "decoder_input_ids": ["int", [4, 1], 2, 3],
        },
        "dtype": "float16",
        # The last call of the three is one in which the encoder overflows, so that both sides of the branch run.
        "overflow": "encoder.layers.1.final_layer_norm.weight",
        "files": ["models/bart/modeling_bart.py"],
        "warns": "Passing a tuple of `past_key_values` is deprecated",
        "before": 7,
        "after": 0,
    },
    "biogpt": {
        "class": "BioGptForCausalLM",
        "config": {
            "class": "BioGptConfig",
            "vocab_size": 128,
            "hidden_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 128,
            "max_position_embeddings": 64,
        },
        "inputs": {"input_ids": ["int", [1, 8], 0, 128]},
        "files": ["models/biogpt/modeling_biogpt.py"],
        "warns": "Passing a tuple of `past_key_values` is deprecated",
        "before": 2,
        "after": 0,
    },
    "grounding-dino-tiny": {
        "class": "GroundingDinoForObjectDetection",
        "config": {
            "class": "GroundingDinoConfig",
            "backbone_config": {
                "class": "SwinConfig",
                "image_size": 32,
                "patch_size": 4,
                "embed_dim": 16,
                "depths": [1, 1],
                "num_heads": [1, 1],
                "window_size": 2,
                "out_features": ["stage1", "stage2"],
            },
            "text_config": {
                "class": "BertConfig",
                "vocab_size": 30522,
                "hidden_size": 64,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
                "intermediate_size": 128,
                "max_position_embeddings": 64,
            },
            "d_model": 64,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "encoder_attention_heads": 2,
            "decoder_attention_heads": 2,
            "encoder_ffn_dim": 128,
            "decoder_ffn_dim": 128,
            "num_queries": 4,
            "num_feature_levels": 2,
            "use_timm_backbone": False,
        },
        "inputs": {
            "pixel_values": ["normal", [1, 3, 32, 32]],
            "pixel_mask": ["mask", [1, 32, 32]],
            # "[CLS] w w . w w w . [SEP]": the text is split at the full stops, so they keep their places
            "input_ids": ["words", [101, 0, 0, 1012, 0, 0, 0, 1012, 102]],
            "attention_mask": ["ones", [1, 9]],
            "token_type_ids": ["zeros", [1, 9]],
        },
        "guard": "Make sure to align the spatial shapes",
        "files": ["models/grounding_dino/modeling_grounding_dino.py"],
        "warns": None,
        "before": 17,
        "after": 7,
    },
}
CALLS = 3


# --- in the measuring process ---------------------------------------------------------------------------------------


class _Log(logging.Handler):
    """What Dynamo logs about graph breaks and recompilations."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def _listen() -> _Log:
    import torch
    import torch._dynamo  # without it the loggers do not exist

    dynamo: Any = torch
    dynamo._logging.set_logs(graph_breaks=True, recompiles=True)  # first: it replaces the handlers
    log = _Log()
    for name in list(logging.root.manager.loggerDict):
        if name.endswith(("__graph_breaks", "__recompiles")):
            logger = logging.getLogger(name)
            logger.handlers[:] = [log]
            logger.propagate = False
            logger.setLevel(logging.DEBUG)
    return log


def _breaks(texts: list[str]) -> list[list[str | None]]:
    """(file:line, id, title) of each break event."""
    rows: list[list[str | None]] = []
    for text in texts:
        if "raph break" not in text:
            continue
        at = re.search(r"user code at (.+?):(\d+)", text)
        stack = re.findall(r'File "([^"]+)", line (\d+)', text)
        where = at.groups() if at else (stack[-1] if stack else ("?", "?"))
        number = re.search(r"gb(\d{4})\.html", text)
        title = re.search(r"(?m)^(?:Graph Break Reason: )?(.*)\n\s+Explanation:", text)
        place = f"{where[0].rpartition('/transformers/')[2] or where[0]}:{where[1]}"
        rows.append([place, f"GB{number[1]}" if number else None, title[1].strip() if title else text[:200]])
    return rows


def _config(spec: dict[str, Any]) -> Any:
    transformers: Any = importlib.import_module("transformers")

    values = {key: _config(value) if isinstance(value, dict) else value for key, value in spec.items()}
    return getattr(transformers, values.pop("class"))(**values)


def _model(spec: dict[str, Any]) -> Any:
    import torch

    transformers: Any = importlib.import_module("transformers")

    torch.manual_seed(0)
    model = getattr(transformers, spec["class"])(_config(spec["config"]))
    return model.to(getattr(torch, spec.get("dtype", "float32"))).eval()


def _inputs(spec: dict[str, Any], call: int) -> dict[str, Any]:
    import torch

    generator = torch.Generator().manual_seed(1000 + call)
    made = {}
    for name, (kind, shape, *bounds) in spec["inputs"].items():
        if kind == "int":
            made[name] = torch.randint(bounds[0], bounds[1], shape, generator=generator)
        elif kind == "normal":
            made[name] = torch.randn(shape, generator=generator)
        elif kind == "words":
            words = torch.randint(2000, 3000, (1, len(shape)), generator=generator)
            made[name] = torch.where(torch.tensor([shape]) == 0, words, torch.tensor([shape]))
        elif kind == "mask":  # all of the first image counts, less of the others
            made[name] = torch.ones(shape, dtype=torch.int64)
            made[name][..., shape[-1] - 4 * call :] = 0
        else:
            made[name] = (torch.ones if kind == "ones" else torch.zeros)(shape, dtype=torch.int64)
    return made


def _leaves(value: Any, path: str = "") -> list[tuple[str, Any]]:
    """All tensors of an output, also those of caches, and the type of everything else."""
    import torch

    if isinstance(value, torch.Tensor):
        return [(path, value.detach().clone())]
    if hasattr(value, "to_legacy_cache"):
        value = {type(value).__name__: value.to_legacy_cache()}
    if isinstance(value, dict):
        parts: list[tuple[str, Any]] = [(f"{path}.{key}", part) for key, part in value.items()]
    elif isinstance(value, (tuple, list)):
        parts = [(f"{path}[{number}]", part) for number, part in enumerate(value)]
    else:
        return [(path, repr(value))]
    found: list[tuple[str, Any]] = [(path, type(value).__name__)]
    for name, part in parts:
        found += _leaves(part, name)
    return found


def _differences(expected: list[tuple[str, Any]], got: list[tuple[str, Any]]) -> list[str]:
    import torch

    if [path for path, _ in expected] != [path for path, _ in got]:
        return ["the outputs have another structure"]
    found = []
    for (path, one), (_, two) in zip(expected, got, strict=True):
        if not isinstance(one, torch.Tensor) or not isinstance(two, torch.Tensor):
            if type(one) is not type(two) or one != two:
                found.append(f"{path}: {one!r:.40} and {two!r:.40}")
        elif (one.dtype, one.shape) != (two.dtype, two.shape):
            found.append(f"{path}: {one.dtype} {tuple(one.shape)} and {two.dtype} {tuple(two.shape)}")
        elif one.contiguous().numpy().tobytes() != two.contiguous().numpy().tobytes():
            found.append(f"{path}: differs by up to {(one.double() - two.double()).abs().max().item():.3g}")
    return found


def _violate(model: Any, compiled: bool, backend: Any) -> list[str]:
    """What the guard of grounding-dino's attention raises for shapes that do not fit."""
    import torch

    layer = model.model.encoder.layers[0].deformable_layer.self_attn
    call = torch.compile(layer, backend=backend, dynamic=False) if compiled else layer
    generator = torch.Generator().manual_seed(7)
    hidden = torch.randn(1, 5, 64, generator=generator)
    points = torch.rand(1, 5, 2, 2, generator=generator)
    outcomes = []
    for shapes, starts in (([[2, 2], [1, 1]], [0, 4]), ([[2, 2], [1, 2]], [0, 4])):
        try:
            call(
                hidden_states=hidden,
                encoder_hidden_states=hidden,
                reference_points=points,
                spatial_shapes=torch.tensor(shapes),
                spatial_shapes_list=[(2, 2), (1, 1)],
                level_start_index=torch.tensor(starts),
            )
            outcomes.append("passes")
        except Exception as error:
            outcomes.append(f"{type(error).__name__}: {error}")
    return outcomes


def _measure(name: str, mode: str, reference: str) -> dict[str, Any]:
    """One process' work. `mode` is eager (writes `reference` if it is absent), compiled or fullgraph."""
    import torch

    transformers: Any = importlib.import_module("transformers")

    assert transformers.__version__ == VERSION, transformers.__version__
    torch.set_num_threads(1)
    spec = MODELS[name]
    records = logging.handlers.BufferingHandler(10**6)
    logging.getLogger("transformers").addHandler(records)
    log = _listen()
    graphs: list[int] = []

    def backend(module: Any, inputs: Any) -> Any:
        graphs.append(sum(node.op.startswith("call") for node in module.graph.nodes))
        return module.forward

    model = _model(spec)
    result: dict[str, Any] = {"transformers": str(Path(transformers.__file__).parent)}
    if mode == "eager":
        run = model
    elif mode == "compiled":
        run = torch.compile(model, backend=backend, dynamic=False)
    else:
        run = torch.compile(model, backend="aot_eager", fullgraph=True)
    outputs: list[list[tuple[str, Any]]] = []
    first = 0
    with warnings.catch_warnings(record=True) as warned, torch.no_grad():
        warnings.simplefilter("always")
        for call in range(CALLS):
            if call == CALLS - 1 and "overflow" in spec:
                model.model.get_parameter(spec["overflow"]).fill_(6e4)
            outputs.append(_leaves(run(**_inputs(spec, call))))
            if call == 0:
                result["graphs"], result["operators"], first = len(graphs), sum(graphs), len(log.texts)
        if mode == "compiled":
            result["events"] = _breaks(log.texts[:first])
            result["graphs_later"] = len(graphs) - result["graphs"]
            result["recompiles"] = sum("ecompil" in text.partition("\n")[0] for text in log.texts[first:])
            result["later_events"] = _breaks(log.texts[first:])
    result["warnings"] = [f"{item.category.__name__}: {item.message}" for item in warned]
    result["records"] = [f"{record.levelname} {record.name}: {record.getMessage()}" for record in records.buffer]
    result["tensors"] = sum(isinstance(value, torch.Tensor) for leaves in outputs for _, value in leaves)
    result["largest"] = max(
        value.double().abs().nan_to_num(posinf=0).max().item()
        for _, value in outputs[-1]
        if isinstance(value, torch.Tensor)
    )
    if mode == "eager" and not os.path.exists(reference):
        torch.save(outputs, reference)
    expected = torch.load(reference, weights_only=False)
    result["differences"] = [
        f"call {call}: {text}"
        for call, (one, two) in enumerate(zip(expected, outputs, strict=True))
        for text in _differences(one, two)
    ]
    distinct = {tuple(repr(value) for _, value in leaves) for leaves in outputs}
    assert len(distinct) == CALLS, "the calls are to have different outputs"

    if mode == "compiled":
        torch._dynamo.reset()
        graphs.clear()
        with torch.no_grad():
            torch.compile(model, backend=backend)(**_inputs(spec, 0))
        result["graphs_default"] = len(graphs)
    if "guard" in spec and mode != "fullgraph":
        torch._dynamo.reset()
        with torch.no_grad():
            result["guard"] = _violate(model, mode == "compiled", backend)
    return result


# --- in the process that was started --------------------------------------------------------------------------------


def _child(python: str, site: Path | None, name: str, mode: str, reference: Path) -> dict[str, Any]:
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "TORCH_LOGS")}
    environment |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}
    if site:
        environment["PYTHONPATH"] = str(site)
    command = [python, __file__, "--child", name, mode, str(reference)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    answer = done.stdout.rpartition("RESULT ")[2]
    if done.returncode or not answer:
        return {"error": (done.stderr.strip() or done.stdout.strip())[-3000:]}
    return json.loads(answer)


def _installed(python: str) -> Path:
    code = "import importlib.util as u; print(u.find_spec('transformers').submodule_search_locations[0])"
    return Path(subprocess.check_output([python, "-c", code], text=True).strip())


def _mend(package: Path, site: Path, files: list[str]) -> list[str]:
    """Copy the package to `site` and let `graphmend fix` mend the files there; what it printed."""
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(package, site / "transformers", ignore=shutil.ignore_patterns("__pycache__"))
    printed = []
    for file in files:
        start = time.perf_counter()
        command = [sys.executable, "-m", "graphmend_lsp", "fix", f"transformers/{file}"]
        done = subprocess.run(command, cwd=site, capture_output=True, text=True)
        seconds = time.perf_counter() - start
        printed.append(f"graphmend fix {file}: exit {done.returncode}, {seconds:.1f} s\n{done.stdout}{done.stderr}")
        if done.returncode not in (0, 1):
            raise SystemExit(printed[-1])
    return printed


def _diff(package: Path, site: Path, file: str) -> str:
    old = (package / file).read_text().splitlines(keepends=True)
    new = (site / "transformers" / file).read_text().splitlines(keepends=True)
    return "".join(difflib.unified_diff(old, new, f"a/transformers/{file}", f"b/transformers/{file}"))


def _said(result: dict[str, Any], text: str) -> int:
    return sum(text in record for record in result.get("records", []))


def _sites(events: list[list[str]]) -> list[str]:
    counted: dict[str, int] = {}
    for place, number, title in events:
        key = f"{place} {number or ''} {title}"
        counted[key] = counted.get(key, 0) + 1
    return [f"{key} ({count} event{'s' * (count > 1)})" for key, count in counted.items()]


def _judge(name: str, results: dict[str, dict[str, Any]]) -> list[str]:
    """Every way in which the measurements of a model miss what they are to be."""
    spec = MODELS[name]
    missed = [f"{key}: {result['error']}" for key, result in results.items() if "error" in result]
    if missed:
        return missed
    before, after = results["original compiled"], results["mended compiled"]
    if before["graphs"] - 1 != spec["before"]:
        missed.append(f"original: {before['graphs'] - 1} breaks, the paper has {spec['before']}")
    if not 0 <= after["graphs"] - 1 <= spec["after"]:
        missed.append(f"mended: {after['graphs'] - 1} breaks, the target is {spec['after']}")
    if after["operators"] < before["operators"]:
        missed.append(f"mended: {after['operators']} operators in graphs, before {before['operators']}")
    if after["graphs_later"] or after["recompiles"] or after["later_events"]:
        later = f"{after['graphs_later']} more graphs, {after['recompiles']} recompilations"
        missed.append(f"mended: {later}, {len(after['later_events'])} breaks after the first call")
    for key in ("mended eager", "mended compiled", "mended fullgraph"):
        if key in results and results[key]["differences"]:
            differences = results[key]["differences"]
            missed.append(f"{key}: {len(differences)} outputs differ from the original's: {'; '.join(differences[:5])}")
    reference = results["original eager"]
    for key, result in results.items():
        if sorted(result["records"]) != sorted(reference["records"]):
            missed.append(f"{key}: log records {result['records']} and eagerly {reference['records']}")
        if spec["warns"] and _said(result, spec["warns"]) != 1:
            missed.append(f"{key}: the warning is logged {_said(result, spec['warns'])} times")
        if key != "mended fullgraph" and "guard" in spec:
            if result["guard"] != reference["guard"] or spec["guard"] not in result["guard"][1]:
                missed.append(f"{key}: the guard: {result['guard']}, original eager: {reference['guard']}")
    if "overflow" in spec and reference["largest"] < 64_000:
        missed.append(f"nothing was clamped: the largest value is {reference['largest']}")
    return missed


def _row(name: str, results: dict[str, dict[str, Any]]) -> str:
    spec = MODELS[name]

    def counts(key: str) -> list[str]:
        result = results[f"{key} compiled"]
        if "error" in result:
            return ["error"] * 3
        sites = len({(place, title) for place, _, title in result["events"]})
        return [str(result["graphs"] - 1), str(result["graphs_default"] - 1), f"{len(result['events'])} / {sites}"]

    def same(key: str) -> str:
        result = results.get(f"mended {key}")
        if result is None:
            return "-"
        if "error" in result:
            return "error"
        return f"{result['tensors']} identical" if not result["differences"] else f"{len(result['differences'])} differ"

    said = "-"
    if spec["warns"]:
        said = " ".join(str(_said(result, spec["warns"])) for result in results.values())
    before, after = counts("original"), counts("mended")
    cells = [name, f"{spec['before']} → {spec['after']}"]
    cells += [f"{one} → {two}" for one, two in zip(before, after, strict=True)]
    return "| " + " | ".join([*cells, same("eager"), same("compiled"), same("fullgraph"), said]) + " |"


_HEAD = """\
| Model | Paper | Breaks (dynamic=False) | Breaks (default) | Events / sites | Eager | Compiled | Full graph | Warned |
|---|---|---|---|---|---|---|---|---|"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", default=sys.executable, help=f"interpreter with torch and transformers=={VERSION}")
    parser.add_argument("--work", type=Path, default=Path(__file__).parent / ".work", help="folder for copies, results")
    parser.add_argument("--models", default=",".join(MODELS), help="only these")
    parser.add_argument("--site", type=Path, help="measure this folder's mended transformers, make none")
    parser.add_argument("--no-diffs", action="store_true", help="write the diffs to the work folder only")
    parser.add_argument("--child", nargs=3, metavar=("MODEL", "MODE", "REFERENCE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print("RESULT " + json.dumps(_measure(*options.child)))
        return 0

    names = options.models.split(",")
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    package = _installed(options.python)
    files = [file for name in names for file in MODELS[name]["files"]]
    site = options.site.resolve() if options.site else work / "site"
    if not options.site:
        print(*_mend(package, site, files), sep="\n", flush=True)

    rows, notes, held = [], [], True
    everything: dict[str, Any] = {}
    for name in names:
        reference = work / f"{name}.pt"
        reference.unlink(missing_ok=True)
        results: dict[str, dict[str, Any]] = {}
        for mode in ("eager", "compiled"):
            for which, folder in (("original", None), ("mended", site)):
                results[f"{which} {mode}"] = _child(options.python, folder, name, mode, reference)
        if results["mended compiled"].get("graphs") == 1:
            results["mended fullgraph"] = _child(options.python, site, name, "fullgraph", reference)
        everything[name] = results
        missed = _judge(name, results)
        held = held and not missed
        rows.append(_row(name, results))
        note = [f"{name}: {'all checks hold' if not missed else 'MISSED'}", *(f"  - {text}" for text in missed)]
        for which in ("original", "mended"):
            for text in _sites(results[f"{which} compiled"].get("events", [])):
                note.append(f"  {which} breaks at {text}")
        notes.append("\n".join(note))
        print(notes[-1], rows[-1], sep="\n", end="\n\n", flush=True)
        (work / "results.json").write_text(json.dumps(everything, indent=1))

    diffs = "".join(_diff(package, site, file) for file in files)
    (work / "mended.diff").write_text(diffs)
    if not options.no_diffs:
        print(diffs)
    print(_HEAD, *rows, sep="\n")
    print(f"\n{'All targets and checks hold.' if held else 'Not all targets and checks hold, see above.'}")
    print(f"The diffs are in {work / 'mended.diff'}, everything measured in {work / 'results.json'}.")
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main())
