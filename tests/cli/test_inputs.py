"""Files become what a model takes, or a message that says why not."""

from __future__ import annotations

import os

import numpy as np
import pytest
from PIL import Image

from aclasync import TensorSpec
from aclasync.cli.inputs import Sample, block_characters, read_sample
from aclasync.cli.output import CommandError

DIGIT = TensorSpec("image", "float32", ("batch", 1, 8, 8))


@pytest.fixture
def picture(tmp_path):
    """Return a function that writes a grey PNG and returns its path."""

    def write(pixels, name="00_label7.png"):
        Image.fromarray(np.asarray(pixels, np.uint8)).save(tmp_path / name)
        return tmp_path / name

    return write


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (("batch", 1, 8, 8), (1, 1, 8, 8)),
        ((None, 3, 8, 8), (1, 3, 8, 8)),
        ((None, 8, 8, 1), (1, 8, 8, 1)),
        ((1, 8, 8, 3), (1, 8, 8, 3)),
        ((None, 8, 8), (1, 8, 8)),
        ((None, 64), (1, 64)),
        (("batch", 1, "height", "width"), (1, 1, 8, 8)),
    ],
)
def test_picture_takes_the_shape_of_the_input(picture, shape, expected):
    """Channels first, channels last, no channels and flat inputs all get an image."""
    path = picture(np.full((8, 8), 255))
    sample = read_sample(path, [TensorSpec("x", "float32", shape)], white=16)

    assert sample.inputs["x"].shape == expected
    assert sample.inputs["x"].dtype == np.float32
    assert np.all(sample.inputs["x"] == 16)
    assert sample.remarks == ()


def test_picture_keeps_rows_and_columns(picture):
    """A bright pixel stays where it was, in every layout."""
    pixels = np.zeros((8, 8))
    pixels[2, 5] = 255
    path = picture(pixels)

    first = read_sample(path, [TensorSpec("x", "float32", (1, 3, 8, 8))], white=1).inputs["x"]
    last = read_sample(path, [TensorSpec("x", "float32", (1, 8, 8, 3))], white=1).inputs["x"]

    assert first[0, :, 2, 5].tolist() == last[0, 2, 5].tolist() == [1, 1, 1]
    assert first.sum() == last.sum() == 3


def test_picture_of_the_right_size_is_not_resized_and_of_another_is_with_a_remark(picture):
    """Resizing changes the input, so it is said."""
    sample = read_sample(picture(np.zeros((8, 16))), [DIGIT], white=16)

    assert sample.inputs["image"].shape == (1, 1, 8, 8)
    assert "resized from 16x8 to 8x8" in sample.remarks[0]


def test_picture_of_whole_bytes_stays_what_it_is(picture):
    """A uint8 input takes the pixels as the file has them."""
    path = picture(np.full((8, 8), 200))
    sample = read_sample(path, [TensorSpec("x", "uint8", (1, 8, 8))], white=16)

    assert np.all(sample.inputs["x"] == 200)


def test_label_in_the_file_name_is_what_is_expected(picture):
    """`00_label7.png` says 7; a name without a label says nothing."""
    assert read_sample(picture(np.zeros((8, 8))), [DIGIT], white=1).expected == 7
    named = picture(np.zeros((8, 8)), "seven.png")
    assert read_sample(named, [DIGIT], white=1).expected is None


def test_array_gets_a_batch_dimension_only_if_it_lacks_one(tmp_path):
    """One image and a stack of images are both fine."""
    np.save(tmp_path / "one.npy", np.zeros((1, 8, 8), np.float32))
    np.save(tmp_path / "five.npy", np.zeros((5, 1, 8, 8), np.float32))

    one = read_sample(tmp_path / "one.npy", [DIGIT], white=1)
    five = read_sample(tmp_path / "five.npy", [DIGIT], white=1)

    assert one.inputs["image"].shape == (1, 1, 8, 8)
    assert five.inputs["image"].shape == (5, 1, 8, 8)


def test_archive_gives_inputs_by_name(tmp_path):
    """Models with several inputs take them from one .npz; wrong names are listed."""
    specs = [TensorSpec("a", "float32", (2,)), TensorSpec("b", "float32", (2,))]
    np.savez(tmp_path / "both.npz", a=np.zeros(2, np.float32), b=np.ones(2, np.float32))
    np.savez(tmp_path / "wrong.npz", a=np.zeros(2), c=np.zeros(2))

    assert set(read_sample(tmp_path / "both.npz", specs, white=1).inputs) == {"a", "b"}
    with pytest.raises(CommandError, match=r"holds a, c; the model takes a, b"):
        read_sample(tmp_path / "wrong.npz", specs, white=1)


def test_file_that_fits_no_input_is_refused_with_the_reason(tmp_path, picture):
    """Unknown suffixes, missing files, broken files and odd shapes each have their message."""
    (tmp_path / "broken.png").write_bytes(b"no picture")
    os.mkfifo(tmp_path / "fifo.npy")
    text = TensorSpec("tokens", "int64", ("batch", 7))

    with pytest.raises(CommandError, match="unknown kind of file"):
        read_sample(tmp_path / "x.txt", [DIGIT], white=1)
    with pytest.raises(CommandError, match="no regular file"):
        read_sample(tmp_path / "fifo.npy", [DIGIT], white=1)
    with pytest.raises(CommandError, match="No such file"):
        read_sample(tmp_path / "missing.png", [DIGIT], white=1)
    with pytest.raises(CommandError, match="can't be read"):
        read_sample(tmp_path / "broken.png", [DIGIT], white=1)
    with pytest.raises(CommandError, match=r"'tokens' \[batch, 7\] is not the shape of an image"):
        read_sample(picture(np.zeros((8, 8))), [text], white=1)
    with pytest.raises(CommandError, match="several inputs"):
        read_sample(picture(np.zeros((8, 8))), [DIGIT, text], white=1)


def test_pickled_array_is_refused(tmp_path):
    """A .npy file can't run code here."""
    np.save(tmp_path / "code.npy", np.array([{}], object), allow_pickle=True)

    with pytest.raises(CommandError, match="can't be read"):
        read_sample(tmp_path / "code.npy", [DIGIT], white=1)


def test_block_characters_show_two_rows_of_pixels_in_a_line():
    """Bright above is an upper half, bright below a lower one, both a full block."""
    assert block_characters(np.array([[1, 0, 1, 0], [0, 1, 1, 0]], np.float32)) == "▀▄█ "
    assert block_characters(np.array([[1.0], [1.0], [1.0]], np.float32)) == "█\n▀"


def test_large_picture_is_drawn_smaller():
    """What is drawn stays within 32 columns, whatever the picture's size."""
    lines = block_characters(np.ones((100, 200), np.float32)).splitlines()

    assert max(map(len, lines)) <= 32
    assert len(lines) <= 16


def test_sample_without_a_number_after_label_expects_nothing(tmp_path):
    """`label.png` has no label."""
    assert Sample(path=tmp_path / "label.png", inputs={}).expected is None
