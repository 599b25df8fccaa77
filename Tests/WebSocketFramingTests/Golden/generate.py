#!/usr/bin/env python3
"""Writes websockets.txt: random frames, and the events that the Python package websockets (17.4) reads from them.

Run it with Tests/EndToEnd/requirements.txt installed. FrameDecoder must read the same events. It intentionally differs
from websockets in these points. The script writes no such frames; FrameDecoderTests contains them.

- A length that is not in its shortest form: FrameDecoder fails with 1002 (RFC 6455 section 5.2: MUST), websockets
  accepts it.
- A length with its top bit set: FrameDecoder fails with 1002 (the same section), websockets with 1009.
- A close frame within a fragmented message: FrameDecoder accepts it, as any control frame there (section 5.4),
  websockets fails with 1002.
- The limit of a fragmented message: websockets counts the bytes of a control frame among its fragments, too.
- A frame that breaks two rules, such as a close frame's code and reason, or a fragment's place and length: the codes
  differ.
- Invalid UTF-8: FrameDecoder detects it, with websockets the application does, here by `codecs`.
- A binary message: FrameDecoder reports that it begins, whatever its length, and skips it; websockets delivers it.
"""

import codecs
import pathlib
import random
import struct

from websockets.exceptions import PayloadTooBig
from websockets.frames import Opcode
from websockets.protocol import State
from websockets.server import ServerProtocol

MESSAGE_BYTES_MAX = 300
VECTORS = 300
CHARACTERS = ["a", "{", "\x00", "é", "\u07ff", "\u0800", "€", "\ud7ff", "\uffff", "\U00010000", "😀", "\U0010ffff"]
INVALID_UTF8 = [b"\x80", b"\xc0\xaf", b"\xc3(", b"\xed\xa0\x80", b"\xe2\x82", b"\xf0\x9f", b"\xf4\x90\x80\x80", b"\xff"]

dice = random.Random(6455)


def one_in(count: int) -> bool:
    return dice.randrange(count) == 0


def masked(opcode: int, payload: bytes, first: int = 0x80, is_masked: bool = True) -> bytes:
    key = dice.randbytes(4)
    length = len(payload)
    head = bytes([first | opcode])
    if length < 126:
        head += bytes([is_masked << 7 | length])
    else:
        head += bytes([is_masked << 7 | 126]) + struct.pack("!H", length)
    return head + key + bytes(byte ^ key[index % 4] for index, byte in enumerate(payload)) if is_masked else head + payload


def random_text() -> bytes:
    text = "".join(dice.choices(CHARACTERS, k=dice.randrange(15))).encode()
    if one_in(12):
        return text + dice.choice(INVALID_UTF8)
    return text[:dice.randrange(len(text) + 1)] if one_in(12) else text


def random_close() -> bytes:
    if one_in(6):
        return dice.randbytes(dice.randrange(2))
    code = dice.choice([dice.randrange(998, 1018), dice.randrange(2999, 5001)])
    return struct.pack("!H", code) + (random_text() if 3000 <= code < 5000 else b"why")


def random_frame(in_message: bool) -> tuple[int, bytes, bool]:
    """A frame: its opcode, its bytes, and whether a message goes on after it."""
    if one_in(40):
        opcode = dice.choice([0, 1, 3, 7, 9, 10, 11, 15])
        first = dice.choice([0x00, 0x80, 0xC0, 0xA0, 0x90])
        return opcode, masked(opcode, dice.randbytes(dice.choice([0, 5, 126])), first), False
    if one_in(60):
        return Opcode.TEXT, masked(Opcode.TEXT, b"unmasked", is_masked=False), False
    if one_in(4):
        opcode = dice.choice([Opcode.PING, Opcode.PONG])
        return opcode, masked(opcode, dice.randbytes(dice.choice([0, 0, 1, 4, 4, 9, 125]))), in_message
    if one_in(12) and not in_message:
        return Opcode.CLOSE, masked(Opcode.CLOSE, random_close()), False
    opcode = Opcode.CONT if in_message != one_in(30) else Opcode.BINARY if one_in(15) else Opcode.TEXT
    goes_on = one_in(2)
    is_long = one_in(15) and opcode is not Opcode.BINARY
    payload = b"a" * dice.choice([200, 299, 300, 301]) if is_long else random_text()
    return opcode, masked(opcode, payload, 0 if goes_on else 0x80), goes_on


class Reader:
    """Reads frames by websockets, and describes the events as FrameDecoder reports them."""

    def __init__(self) -> None:
        self.protocol = ServerProtocol(max_size=MESSAGE_BYTES_MAX, state=State.OPEN)
        self.utf8 = codecs.getincrementaldecoder("utf-8")()
        self.message = b""
        self.events: list[str] = []
        self.is_at_end = False

    def read(self, data: bytes) -> None:
        self.protocol.receive_data(data)
        for frame in self.protocol.events_received():
            self.describe(frame.opcode, bytes(frame.data), frame.fin)
        if self.protocol.parser_exc is not None and not self.is_at_end:
            self.end(f"failed:{self.protocol.close_sent.code}")

    def describe(self, opcode: Opcode, data: bytes, fin: bool) -> None:
        if opcode is Opcode.BINARY:
            self.end("binary")
        elif opcode is Opcode.CLOSE:
            self.end(f"close:{int.from_bytes(data[:2], 'big') if data else ''}:{data[2:].hex()}")
        elif opcode in (Opcode.PING, Opcode.PONG):
            self.events.append(f"{opcode.name.lower()}:{data.hex()}")
        else:
            self.text(data, fin)

    def text(self, data: bytes, fin: bool) -> None:
        try:
            self.utf8.decode(data, fin)
        except UnicodeDecodeError:
            return self.end("failed:1007")
        self.message += data
        if fin:
            self.events.append(f"text:{self.message.hex()}")
            self.message = b""

    def end(self, event: str) -> None:
        self.events.append(event)
        self.is_at_end = True


def vector() -> str | None:
    """Frames and their events as a line; None if the events differ intentionally."""
    reader = Reader()
    data = b""
    goes_on = False
    for _ in range(dice.randrange(1, 12)):
        opcode, frame, goes_on = random_frame(goes_on)
        reader.read(frame)
        data += frame
        error = reader.protocol.parser_exc
        is_misplaced = (reader.protocol.current_size is None) == (opcode == Opcode.CONT)
        if is_misplaced and ("incomplete fragmented message" in str(error) or isinstance(error, PayloadTooBig)):
            return None
        if reader.is_at_end:
            break
    return f"{data.hex()} {' '.join(reader.events)}".rstrip()


lines: list[str] = []
while len(lines) < VECTORS:
    if line := vector():
        lines.append(line)
pathlib.Path(__file__).with_name("websockets.txt").write_text("\n".join(lines) + "\n")
