"""The languages that findings and explanations are written in."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import final

# The strongest first, as gettext has them.
LOCALE_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")


@final
class Language(StrEnum):
    """A language; its value is its code in ISO 639-1."""

    ENGLISH = "en"
    #: Simplified.
    CHINESE = "zh"

    @classmethod
    def of_locale(cls, env: Mapping[str, str]) -> Language:
        """Return the language that the variables of a locale ask for; English unless Chinese."""
        locale = next((env[name] for name in LOCALE_VARIABLES if env.get(name)), "")
        return cls.CHINESE if locale.lower().startswith(cls.CHINESE.value) else cls.ENGLISH
