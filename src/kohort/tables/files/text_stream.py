"""Read text files of any compression and encoding as a stream of UTF-8 bytes.

The header, the delimiter, the quotes and the cells are all read from this stream, so they cannot contradict each other.
"""

from __future__ import annotations

import codecs
import encodings.aliases
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort.errors import RequestError, did_you_mean
from kohort.tables.files.file_format import Compression
from kohort.wording import quoted

HEAD = 1 << 12  # bytes that are enough to recognise an encoding
PIECE = 1 << 20  # bytes that are read at once
PACKED = 10  # assumed compression factor; few files have a larger one
WIDE = ("utf-16", "utf-32")  # encodings with NUL bytes, which are recognised even if the user did not set them
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, because its mark begins with that of UTF-16
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
NOT_TEXT = {
    b"\x1f\x8b": "is compressed with gzip. Add .gz to the end of its name",
    b"\x28\xb5\x2f\xfd": "is compressed with zstd. Add .zst to the end of its name",
    b"PK\x03\x04": "is a spreadsheet or a zip archive. Save the table as CSV",
}
"""What a file is if it begins with these bytes, and what to do. File formats have their own `first_bytes`."""


@dataclass(frozen=True)
class TextFile:
    """A text file with its compression and encoding. `title` is its name in messages; the default is its path."""

    path: Path
    compression: Compression = None
    encoding: str = "utf-8"
    title: str | None = None

    def __str__(self) -> str:
        return self.title or quoted(self.path)

    def open_bytes(self) -> Any:
        """Return the text as a stream of UTF-8 bytes without a byte order mark. The caller must check that it is UTF-8."""
        stream = self._open_decoded()
        if stream.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8:
            return stream
        stream.close()  # a compressed stream cannot go back to its start
        return self._open_decoded()

    def open_text(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(self.open_bytes(), encoding="utf-8", newline="")

    def open_packed(self) -> Any:
        """Return the decompressed bytes, in the file's own encoding."""
        return pa.input_stream(str(self.path), compression=self.compression)

    def size(self) -> int:
        """Return the estimated bytes of the decompressed text, by the usual factor or, if larger, that of the file's start."""
        size = self.path.stat().st_size
        if self.compression is None:
            return size
        with pa.OSFile(str(self.path)) as packed, pa.CompressedInputStream(packed, self.compression) as stream:
            head = len(stream.read(4 * PIECE))
            return int(size * max(PACKED, head / max(1, packed.tell())))

    def _open_decoded(self) -> Any:
        stream = self.open_packed()
        return stream if self.encoding == "utf-8" else pa.transcoding_input_stream(stream, self.encoding, "utf-8")


def find_encoding(path: Path, compression: Compression, declared: str | None = None) -> str:
    """Return the encoding of a file: by its byte order mark, else as declared, else UTF-16 if it has NUL bytes, else UTF-8."""
    named = codec_named(declared) if declared is not None else None
    with TextFile(path, compression).open_packed() as stream:
        head = stream.read(HEAD)
    marked = next((codec for mark, codec in BYTE_ORDER_MARKS.items() if head.startswith(mark)), None)
    return marked or named or _utf16_without_mark(head) or "utf-8"


def codec_named(name: str) -> str:
    """Return Python's name of a text encoding. Raise a RequestError if there is no such encoding."""
    if _is_for_text(name):
        return codecs.lookup(name).name
    known = {codec.replace("_", "-") for codec in encodings.aliases.aliases.values() if _is_for_text(codec)}
    hint = did_you_mean(name, sorted(known)) or " Use for example latin-1, cp1252 or utf-16."
    raise RequestError(f"There is no text encoding named {name!r}.{hint}")


def _is_for_text(codec: str) -> bool:
    """Whether a codec is for text (base64 is not) and exists on this system."""
    try:
        "".encode(codec)
        codecs.getincrementaldecoder(codec)().decode(pa.py_buffer(b"a"))  # Arrow passes a buffer
    except (LookupError, ValueError, TypeError, AttributeError):
        return False
    return True


def _utf16_without_mark(head: bytes) -> str | None:
    """Return UTF-16 in the byte order in which the first line looks like a header: some Latin letters, no control characters."""
    if b"\0" not in head:
        return None
    for codec in ("utf-16-le", "utf-16-be"):
        header = head.decode(codec, "ignore").partition("\n")[0].rstrip("\r").replace("\t", " ")
        latin = sum(" " <= letter <= "ÿ" for letter in header)
        if header and latin * 4 >= len(header) and min(header) >= " ":
            return codec
    return None


def _encoding_advice(encoding: str) -> str:
    """Return what to do if the content of a file does not have the encoding with which kohort reads it."""
    if encoding.startswith(WIDE):
        return "The file is damaged or incomplete. Copy it again."
    if encoding == "utf-8":
        return (
            "From Excel on Windows: --encoding cp1252, or save the file again as 'CSV UTF-8'. "
            "Otherwise ask who exported the file for its encoding, or try --encoding latin-1 (Western Europe)."
        )
    return "Set encoding to that of the file (for example --encoding latin-1)."


def find_problem(file: TextFile) -> str | None:
    """Return why a file cannot be read as text, with a line number and without its content; None if it can be read."""
    from kohort.tables.files.registry import FORMATS, format_beginning  # imported here because the registry imports this module

    line = 1
    decoder = codecs.getincrementaldecoder(file.encoding)()
    try:
        with file.open_packed() as stream:
            piece = stream.read(HEAD)
            if found := format_beginning(piece):
                article = "an" if found.title[0] in "AEIOU" else "a"
                return f"the file is {article} {found.title} file. Rename it so that its name ends in {found.suffixes[0]}."
            other = next((what for beginning, what in NOT_TEXT.items() if piece.startswith(beginning)), None)
            if other:
                return f"the file {other}."
            if b"\0" in piece and not file.encoding.startswith(WIDE):
                *most, last = [file_format.title for file_format in FORMATS.values() if not file_format.holds_text]
                readable = f"{', '.join(['text', *most])} and {last} files"
                return f"the file is not a text file. kohort can read {readable}. Export the table as CSV."
            while piece:
                line += decoder.decode(piece).count("\n")
                piece = stream.read(PIECE)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        line += error.object[: error.start].decode(error.encoding, "ignore").count("\n")
        return f"line {line} is not {file.encoding.upper()} text. {_encoding_advice(file.encoding)}"
    except UnicodeError:
        return f"the file is not {file.encoding.upper()} text. Set encoding (--encoding) to another one."
    except OSError:
        return f"its {file.compression or 'stored'} data are damaged or incomplete. Copy the file again."
    return None
