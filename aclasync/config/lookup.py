"""What a word names that somebody wants explained: keys, a variable, a feature, a finding.

Numbers of ACL are not known here; their names may be misspelt like every other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from aclasync.codes import AclCode

from .catalog import ENGLISH, Words
from .environment import PURPOSES
from .features import FEATURES
from .keys import FeatureSpec, KeySpec
from .language import Language
from .spelling import closest

#: Every key once, in the order of the features.
KEYS: tuple[KeySpec, ...] = tuple(dict.fromkeys(key for f in FEATURES for key in f.keys))

_INDEX = re.compile(r"\[\d*\]")
_PREFIXES = ("ACL_ERROR_", "ACL_")


def place_of(spec: KeySpec) -> str:
    """Return where a key stands, as `dump.dump_list[].layer`."""
    return ".".join(spec.path).replace(".[]", "[]")


def find_keys(query: str) -> tuple[KeySpec, ...]:
    """Return the keys that a text names: by place, by name, or all of a section; without case."""
    wanted = _INDEX.sub("[]", query.removeprefix("$").strip(".")).casefold()
    places = {key: place_of(key).casefold() for key in KEYS}
    exact = [key for key, place in places.items() if place == wanted]
    inside = [
        key for key, place in places.items() if place.startswith((f"{wanted}.", f"{wanted}["))
    ]
    if exact or inside:
        return (*exact, *inside)

    return tuple(k for k, place in places.items() if place.endswith(f".{wanted}"))


def find_feature(query: str) -> FeatureSpec | None:
    """Return the feature of that number or name."""
    wanted = query.casefold()
    return next((f for f in FEATURES if wanted in (str(f.number), f.name.casefold())), None)


def find_number(query: str) -> AclCode | None:
    """Return the number that is written, or that has that name, in ACL's spelling or ours."""
    if query.isdecimal() and len(query) <= 10:
        return AclCode(int(query))

    name = query.upper()
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)

    return AclCode.__members__.get(name)


def find_finding(query: str) -> str | None:
    """Return the code of a finding, whatever the case of its letter."""
    return query.upper() if query.upper() in ENGLISH else None


def find_variable(query: str) -> str | None:
    """Return the environment variable of that name."""
    return query.upper() if query.upper() in PURPOSES else None


def suggestion(query: str) -> str | None:
    """Return the nearest of everything that can be explained; None without one."""
    return closest(query, _everything())


def _everything() -> Iterable[str]:
    for key in KEYS:
        yield key.name
        yield place_of(key)

    yield from (key.path[0] for key in KEYS)
    yield from PURPOSES
    yield from ENGLISH
    yield from AclCode.__members__
    yield from (feature.name for feature in FEATURES)


# The words, in a language


def effect_of(spec: KeySpec, language: Language = Language.ENGLISH) -> str:
    """Return what a key does."""
    if language is Language.ENGLISH:
        return spec.effect

    from .keys_zh import EFFECTS  # noqa: PLC0415  # one language at a time

    return EFFECTS[place_of(spec)]


def default_of(spec: KeySpec, language: Language = Language.ENGLISH) -> str | None:
    """Return what is in force without a key, as words; None if that is nothing."""
    if language is Language.ENGLISH or not isinstance(spec.default, str):
        return None if spec.default is None else str(spec.default)

    from .keys_zh import DEFAULTS  # noqa: PLC0415

    return DEFAULTS.get(spec.default, spec.default)


def kind_in_words(spec: KeySpec, language: Language = Language.ENGLISH) -> str:
    """Return the JSON type of a key."""
    return phrase(spec.kind.value, language)


def name_of(feature: FeatureSpec, language: Language = Language.ENGLISH) -> str:
    """Return the name of a feature."""
    if language is Language.ENGLISH:
        return feature.name

    from .keys_zh import FEATURES as NAMES  # noqa: PLC0415

    return NAMES[feature.number]


def purpose_of(variable: str, language: Language = Language.ENGLISH) -> str:
    """Return what an environment variable does."""
    if language is Language.ENGLISH:
        return PURPOSES[variable]

    from .keys_zh import VARIABLES  # noqa: PLC0415

    return VARIABLES[variable]


def words_of(code: str, language: Language = Language.ENGLISH) -> Words:
    """Return the templates of a finding."""
    if language is Language.ENGLISH:
        return ENGLISH[code]

    from .catalog_zh import CHINESE  # noqa: PLC0415

    return CHINESE[code]


def phrase(english: str, language: Language) -> str:
    """Return a piece of a message in a language."""
    if language is Language.ENGLISH:
        return english

    from .catalog_zh import PHRASES  # noqa: PLC0415

    return PHRASES[english]
