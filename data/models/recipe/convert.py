#!/usr/bin/env python3
"""Converts a model of a hub to ONNX, so that `mneme models add` can add it.

The folder must have `config.json`, weights (`model.safetensors` or `pytorch_model.bin`) and a tokeniser. The result has
`onnx/model.onnx`, `tokenizer.json`, the small files that say how the model is used, and `reference.json` with outputs of
the original, which `mneme models test` compares. Needs: torch, transformers, onnx, onnxscript.

A folder without `config.json`, or one of model2vec, is a table of token vectors: `model.safetensors` with one table,
and `tokenizer.json`. It needs only: onnx, safetensors, tokenizers.

    python3 convert.py FOLDER RESULT
"""

import json
import shutil
import sys
from pathlib import Path

import onnx

TEXTS = [
    "Where is the spare key?",
    "The spare key is under the blue flower pot beside the door.",
    "Le train pour Zurich part à huit heures du matin.",
    "My dentist is Dr Okafor in Pine Street, phone 044 123 45 67.",
]
KEPT = [
    *("config.json", "README.md", "modules.json", "sentence_bert_config.json", "tokenizer_config.json"),
    *("config_sentence_transformers.json", "1_Pooling/config.json", "model.json"),
]
DIGITS = 5
# Tokens that are read of a text by a table, which has no limit of its own.
TABLE_TOKENS = 512


def pooling_of(folder):
    path = folder / "1_Pooling/config.json"
    config = json.loads(path.read_text()) if path.exists() else {}
    for key, name in [("cls_token", "cls"), ("mean_tokens", "mean"), ("lasttoken", "last")]:
        if config.get(f"pooling_mode_{key}"):
            return name
    return None


def unit(vector):
    length = sum(float(value) ** 2 for value in vector) ** 0.5
    return [round(float(value) / length, DIGITS) for value in vector]


def vector_of(states, pooling):
    return unit({"cls": states[0, 0], "last": states[0, -1], "mean": states[0].mean(0)}[pooling])


def convert_table(folder, result):
    """Converts a table of token vectors. The vector of a text is the mean of those of its tokens."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    [table] = [rows for rows in load_file(folder / "model.safetensors").values() if rows.ndim == 2]
    table = table.astype("float32")
    info, types = onnx.helper.make_tensor_value_info, onnx.TensorProto
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])],
        "table",
        [info("input_ids", types.INT64, ["batch", "length"])],
        [info("last_hidden_state", types.FLOAT, ["batch", "length", table.shape[1]])],
        [onnx.numpy_helper.from_array(table, "table")],
    )
    opsets = [onnx.helper.make_opsetid("", 17)]
    (result / "onnx").mkdir(parents=True, exist_ok=True)
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8), result / "onnx/model.onnx")
    # the mean has no special tokens
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer.update(post_processor=None, truncation=None, padding=None)
    (result / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False))
    config = {"model_type": "table", "hidden_size": table.shape[1], "max_position_embeddings": TABLE_TOKENS}
    (result / "config.json").write_text(json.dumps(config))
    (result / "1_Pooling").mkdir(exist_ok=True)
    (result / "1_Pooling/config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    if (folder / "README.md").exists():
        shutil.copyfile(folder / "README.md", result / "README.md")
    tokens = Tokenizer.from_file(str(result / "tokenizer.json"))
    vectors = [unit(table[tokens.encode(text).ids].mean(0)) for text in TEXTS]
    references = [{"text": text, "purpose": "passage", "vector": vector} for text, vector in zip(TEXTS, vectors)]
    (result / "reference.json").write_text(json.dumps(references, ensure_ascii=False))


def convert_network(folder, result, config):
    """Converts a model that transformers knows."""
    import torch
    from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer

    class FirstOutput(torch.nn.Module):
        """Takes the inputs of ONNX in their order, and returns the first output only."""

        def __init__(self, model, names):
            super().__init__()
            self.model, self.names = model, names

        def forward(self, *inputs):
            return self.model(**dict(zip(self.names, inputs)))[0]

    reranks = any(name.endswith("ForSequenceClassification") for name in config.get("architectures") or [])
    kind = AutoModelForSequenceClassification if reranks else AutoModel
    model = kind.from_pretrained(folder, attn_implementation="eager").float().eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    names = [name for name in ("input_ids", "attention_mask", "token_type_ids") if name in tokenizer.model_input_names]
    (result / "onnx").mkdir(parents=True, exist_ok=True)
    output = "logits" if reranks else "last_hidden_state"
    axes = {0: "batch", 1: "length"}
    torch.onnx.export(
        FirstOutput(model, names).eval(),
        tuple(torch.ones(2, 5, dtype=torch.int64) for _ in names),
        str(result / "onnx/model.onnx"),
        input_names=names,
        output_names=[output],
        dynamic_axes={**{name: axes for name in names}, output: {0: "batch"} if reranks else axes},
        opset_version=17,
        dynamo=False,
    )
    model.eval()
    tokenizer.backend_tokenizer.save(str(result / "tokenizer.json"))
    for name in KEPT:
        if (folder / name).exists():
            (result / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / name, result / name)
    references, pooling = [], pooling_of(folder)
    with torch.no_grad():
        for text in TEXTS if reranks or pooling else []:
            if reranks:
                encoded = tokenizer(TEXTS[0], text, return_tensors="pt")
                logit = float(model(**{name: encoded[name] for name in names})[0].reshape(-1)[0])
                ids = {"token_ids": encoded["input_ids"][0].tolist()}
                if "token_type_ids" in encoded:
                    ids["token_type_ids"] = encoded["token_type_ids"][0].tolist()
                references.append({"query": TEXTS[0], "passage": text, **ids, "logit": round(logit, DIGITS)})
            else:
                encoded = tokenizer(text, return_tensors="pt")
                states = model(**{name: encoded[name] for name in names})[0]
                references.append({"text": text, "purpose": "passage", "vector": vector_of(states, pooling)})
    prompts = result / "config_sentence_transformers.json"
    if not reranks and prompts.exists() and any((json.loads(prompts.read_text()).get("prompts") or {}).values()):
        references = []  # the references have no prefixes
    if references:
        (result / "reference.json").write_text(json.dumps(references, ensure_ascii=False))


def main(folder, result):
    path = folder / "config.json"
    config = json.loads(path.read_text()) if path.exists() else {"model_type": "model2vec"}
    if config.get("model_type") == "model2vec":
        convert_table(folder, result)
    else:
        convert_network(folder, result, config)


main(Path(sys.argv[1]), Path(sys.argv[2]))
