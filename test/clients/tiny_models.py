"""Writes a small embedder and a small reranker with random weights: arguments are a tokenizer.json and a folder."""

import sys
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer, models
from transformers import BertConfig, BertForSequenceClassification, BertModel, PreTrainedTokenizerFast

TOKENS = 128
WIDTH = 64

tokenizer_file, folder = sys.argv[1], Path(sys.argv[2])
names = {"unk_token": "[UNK]", "sep_token": "[SEP]", "cls_token": "[CLS]", "pad_token": "[PAD]", "mask_token": "[MASK]"}
tokenizer = PreTrainedTokenizerFast(tokenizer_file=tokenizer_file, model_max_length=TOKENS, **names)
torch.manual_seed(3)
config = BertConfig(
    vocab_size=len(tokenizer),
    hidden_size=WIDTH,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=2 * WIDTH,
    max_position_embeddings=TOKENS,
    # weights of the usual size give nearly the same vector for every text
    initializer_range=0.3,
)
base = folder / "base"
BertModel(config).save_pretrained(base)
tokenizer.save_pretrained(base)
parts = [models.Transformer(str(base), max_seq_length=TOKENS), models.Pooling(WIDTH, "mean")]
SentenceTransformer(modules=parts).save(str(folder / "tiny-embed"))
config.num_labels = 1
BertForSequenceClassification(config).save_pretrained(folder / "tiny-rerank")
tokenizer.save_pretrained(folder / "tiny-rerank")
