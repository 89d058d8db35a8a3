# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of inputs that keep some of their structure: bytes, lines of numbers, JSON and TOML."""

import copy
import json
import pickle
import re
from functools import lru_cache

# Values at the limits of what parsers expect.
_NUMBERS = (0, 1, -1, 2, 3, 7, 8, 127, 128, 255, 256, 1000, 65535, 65536, 2**31 - 1, 2**31, 2**32,
            2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**30, 10**400, -2**31, -2**63, 0.0, -0.0, 0.5,
            1.5, -1.5, 1e-320, 1e12, 1e300, 1e308, float("inf"), float("-inf"), float("nan"))
_TEXTS = ("", "a", "0", "1", "-1", "nan", "\x00", "\x1b[2J", "\u202e", "\ud800", "../x", "/", ".",
          "..", "a/b", "x" * 300, "2026-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z",
          "0001-01-01T00:00:00+23:59", "cf32_le", "ci8", "ri16_le", "1.0.0", "%s{0}")
_DEEP = 300    # levels of a nested value


def of_bytes(data, rng):
    """Return bytes with one to four places changed, removed, repeated or inserted."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(6)
        if kind == 0:
            data[at:at] = rng.randbytes(rng.choice((1, 1, 2, 4, 8)))
        elif kind == 1:
            del data[at:at + rng.choice((1, 1, 2, 4, 16, 64))]
        elif kind == 2:
            data[at:at + 1] = bytes([rng.choice((0, 1, 0x7F, 0x80, 0xFF))])
        elif kind == 3 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 4:
            begin = rng.randrange(len(data) + 1)
            data[at:at] = data[begin:begin + rng.choice((1, 4, 16, 64))]
        else:
            size = rng.choice((1, 2, 4, 8))
            data[at:at + size] = rng.randbytes(size)
    return bytes(data)


def of_numbers(data, rng):
    """Change one to three words or lines of text that consists of lines of numbers."""
    if not rng.randrange(4):
        return of_bytes(data, rng)
    lines = [line.split(b" ") for line in data.split(b"\n")]
    for _ in range(rng.randint(1, 3)):
        row = rng.randrange(len(lines))
        line = lines[row]
        at = rng.randrange(len(line))
        kind = rng.randrange(6)
        if kind == 0:
            line[at] = str(rng.choice(_NUMBERS)).encode()
        elif kind == 1:
            line[at] = str(rng.randint(0, 8)).encode()
        elif kind == 2:
            line.insert(at, line[at])
        elif kind == 3:
            del line[at]
            lines[row] = line or [b""]
        elif kind == 4:
            lines.insert(rng.randrange(len(lines) + 1), list(line))
        else:
            other = rng.randrange(len(lines))
            lines[row], lines[other] = lines[other], line
    return b"\n".join(b" ".join(line) for line in lines)


def of_json(keys):
    """Return a function that changes one to three values of a JSON text.

    Args:
        keys: names that objects may get in addition.
    """
    def mutate(data, rng):
        if not rng.randrange(6):
            return of_bytes(data, rng)
        try:
            root = [json.loads(data)]
            for _ in range(rng.randint(1, 3)):
                _change(root, keys, rng)
            return json.dumps(root[0] if root else None).encode()
        except (ValueError, RecursionError):    # no JSON, or nested too deeply
            return of_bytes(data, rng)
    return mutate


def of_toml(values):
    """Return a function that changes one to three values of a TOML text.

    Args:
        values: {key: values that fit it} of the keys that tables may get in addition; those of the
            key "" fit the elements of lists.
    """
    import tomllib

    keys = [key for key in values if key]

    @lru_cache(4096)
    def parsed(data):
        """Return the pickled content: unpickling is ten times as fast as parsing again."""
        try:
            return pickle.dumps(tomllib.loads(data.decode()))
        except (ValueError, RecursionError):
            return None

    def mutate(data, rng):
        if not rng.randrange(6):
            return of_bytes(data, rng)
        content = parsed(bytes(data))
        if content is None:
            return of_bytes(data, rng)
        try:
            root = [pickle.loads(content)]
            for _ in range(rng.randint(1, 3)):
                _change(root, keys, rng, values)
            return toml(root[0] if root and isinstance(root[0], dict) else {}).encode()
        except (ValueError, RecursionError):    # a huge number, or nested too deeply
            return of_bytes(data, rng)
    return mutate


_BARE = re.compile("[A-Za-z0-9_-]+")


def toml(table):
    """Return a TOML text with the values of a dictionary; its own dictionaries become tables."""
    tables = [key for key, value in table.items() if isinstance(value, dict)]
    arrays = [key for key, value in table.items() if isinstance(value, list) and value
              and all(isinstance(one, dict) for one in value)]
    lines = [_pair(key, value) for key, value in table.items() if key not in (*tables, *arrays)]
    for key in tables:
        lines += [f"[{_key(key)}]", *map(_pair, table[key], table[key].values())]
    for key in arrays:
        for one in table[key]:
            lines += [f"[[{_key(key)}]]", *map(_pair, one, one.values())]
    return "\n".join([*lines, ""])


def _key(key):
    return key if _BARE.fullmatch(key) else json.dumps(key)


def _pair(key, value):
    return f"{_key(key)} = {_inline(value)}"


def _inline(value):
    if isinstance(value, dict):
        return "{" + ", ".join(map(_pair, value, value.values())) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    if isinstance(value, (bool, str)):
        return json.dumps(value)
    if value is None:    # TOML has no such value
        return "1979-05-27"
    return hex(value) if isinstance(value, int) and value > 2**63 else str(value)


def _places(value):
    """Return all (container, key) below a list or dictionary."""
    found, waiting = [], [value]
    while waiting:
        one = waiting.pop()
        for key, inner in one.items() if isinstance(one, dict) else enumerate(one):
            found.append((one, key))
            if isinstance(inner, (list, dict)):
                waiting.append(inner)
    return found


def _change(root, keys, rng, values=None):
    places = _places(root)
    if not places:
        root.append({})
        return
    container, key = rng.choice(places)
    if values and rng.randrange(2):
        _fit(container, key, rng, values)
        return
    kind = rng.randrange(8)
    if kind == 0:
        del container[key]
    elif kind == 1:
        _insert(container, keys, rng, container[key])
    elif kind == 2:
        other, at = rng.choice(places)
        # A copy: the value must not contain itself.
        container[key] = json.loads(json.dumps(other[at], default=str))
    elif kind == 3 and isinstance(container[key], (list, dict)):
        _insert(container[key], keys, rng, _value(rng))
    else:
        container[key] = _value(rng)


def _fit(container, key, rng, values):
    """Change a value, or add one beside it, so that it fits its key or nearly does."""
    if isinstance(container[key], str) and not rng.randrange(3):
        container[key] = of_text(container[key], rng)
    elif isinstance(container, list):
        if not isinstance(container[key], dict):
            container[key] = copy.deepcopy(rng.choice(values[""]))
    else:
        if rng.randrange(2):
            key = rng.choice(list(values))
        if key in values and key:
            container[key] = copy.deepcopy(rng.choice(values[key]))


def _insert(container, keys, rng, value):
    if isinstance(container, list):
        container.insert(rng.randrange(len(container) + 1), value)
    else:
        container[rng.choice(keys) if rng.randrange(8) else rng.choice(_TEXTS)] = value


def of_text(text, rng):
    """Return a text with a part between its separators changed, repeated or removed."""
    parts = re.split("([:,=/])", text)
    at = rng.randrange(len(parts))
    kind = rng.randrange(4)
    if kind == 0:
        parts[at] = str(rng.choice(_NUMBERS))
    elif kind == 1:
        parts[at] = str(rng.randint(0, 16))
    elif kind == 2:
        parts[at:at] = parts[at:at + 2]
    else:
        del parts[at:at + 2]
    return "".join(parts)


def _value(rng):
    kind = rng.randrange(12)
    if kind < 4:
        return rng.choice(_NUMBERS)
    if kind < 7:
        return rng.choice(_TEXTS)
    if kind == 7:
        nested = []
        for _ in range(rng.choice((1, 2, _DEEP))):
            nested = [nested]
        return nested
    return rng.choice((None, True, False, [], {}, [1], {"a": 1}, [[]], [None]))
