"""Fixtures for the agents' tests: small transformers models, made here from nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

TEXT = """The capital of France is Paris. The capital of Italy is Rome. Which city is the capital of
Spain? Madrid is. The heart pumps blood around the body; the sun is a star, and the sea is salty.
Question: How many legs has a spider? Answer: Eight. Question: Who wrote it? Answer: Nobody knows.
"""

TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
"""A chat template that takes everything."""

CONTROL = ["<pad>", "<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>"]


class SmallModels:
    """Makes folders with random models of a few thousand weights, as `save_pretrained` has them.

    The tokenizer is byte-level BPE, trained on `TEXT`; a decoder's prompt begins with `<s>`, an
    encoder's ends with `</s>`.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._made = 0

    def decoder(self, *, template: str | None = None, seed: int = 0, context: int = 256) -> Path:
        """A Llama with two layers."""
        from transformers import LlamaConfig, LlamaForCausalLM

        config = LlamaConfig(
            vocab_size=384,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=context,
            initializer_range=0.3,  # far from uniform, so that replies differ
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
        )
        return self._save(LlamaForCausalLM, config, seed, self.tokenizer("<s> $A", template))

    def encoder_decoder(self, *, seed: int = 0) -> Path:
        """A T5 with two layers in each half."""
        from transformers import T5Config, T5ForConditionalGeneration

        config = T5Config(
            vocab_size=384,
            d_model=32,
            d_kv=8,
            d_ff=64,
            num_layers=2,
            num_heads=4,
            initializer_factor=4.0,
            pad_token_id=0,
            eos_token_id=2,
            decoder_start_token_id=0,
        )
        return self._save(T5ForConditionalGeneration, config, seed, self.tokenizer("$A </s>", None))

    def tokenizer(self, form: str, template: str | None) -> Any:
        """A tokenizer that puts a prompt into a form such as `<s> $A`."""
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
        from transformers import PreTrainedTokenizerFast

        made: Any = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=384, special_tokens=CONTROL, initial_alphabet=alphabet, show_progress=False
        )
        made.train_from_iterator(TEXT.splitlines(), trainer)
        made.post_processor = processors.TemplateProcessing(
            single=form, special_tokens=[("<s>", 1), ("</s>", 2)]
        )
        kind: Any = PreTrainedTokenizerFast
        return kind(
            tokenizer_object=made,
            pad_token="<pad>",
            bos_token="<s>",
            eos_token="</s>",
            additional_special_tokens=CONTROL[3:],
            chat_template=template,
            model_max_length=128,
        )

    def copy(self, folder: Path, change: Callable[[Path], None] | None = None) -> Path:
        """The same folder in another place, changed."""
        target = self._next()
        shutil.copytree(folder, target)
        if change is not None:
            change(target)
        return target

    def with_json(self, folder: Path, name: str, **values: Any) -> Path:
        """The same folder in another place, with other values in one of its JSON files."""

        def change(target: Path) -> None:
            path = target / name
            body = json.loads(path.read_text()) if path.exists() else {}
            path.write_text(json.dumps(body | values))

        return self.copy(folder, change)

    def _save(self, kind: Any, config: Any, seed: int, tokenizer: Any) -> Path:
        import torch

        target = self._next()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = kind(config)
        model.save_pretrained(target)
        tokenizer.save_pretrained(target)
        return target

    def _next(self) -> Path:
        self._made += 1
        return self.root / f"model-{self._made}"


@pytest.fixture(scope="session")
def small_models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallModels]:
    """Makes small transformers models; skips where transformers or torch is not installed."""
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    transformers.utils.logging.disable_progress_bar()
    yield SmallModels(tmp_path_factory.mktemp("models"))
    transformers.utils.logging.enable_progress_bar()


@pytest.fixture(scope="session")
def base_model(small_models: SmallModels) -> Path:
    """A decoder without a chat template."""
    return small_models.decoder()


@pytest.fixture(scope="session")
def chat_model(small_models: SmallModels) -> Path:
    """A decoder with a chat template."""
    return small_models.decoder(template=TEMPLATE)


@pytest.fixture(scope="session")
def t5_model(small_models: SmallModels) -> Path:
    """An encoder-decoder."""
    return small_models.encoder_decoder()
