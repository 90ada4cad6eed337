"""Commands speak the language of the locale, or the one that `--lang` names."""

from __future__ import annotations

import string

import pytest

from aclasync import AclCode
from aclasync.cli.words import ENGLISH
from aclasync.cli.words_zh import CHINESE
from aclasync.config.environment import PURPOSES
from aclasync.config.features import FEATURES
from aclasync.config.keys_zh import DEFAULTS, EFFECTS, VARIABLES
from aclasync.config.keys_zh import FEATURES as FEATURE_NAMES
from aclasync.config.lookup import KEYS, place_of
from aclasync.meanings import cures, cures_zh, meaning_of, numbers, numbers_zh


def fields_of(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_both_languages_have_all_the_words_of_the_commands():
    """With the same values in them."""
    assert set(ENGLISH) == set(CHINESE)
    for name, text in ENGLISH.items():
        assert fields_of(CHINESE[name]) == fields_of(text), name


def test_every_key_feature_and_variable_is_named_in_chinese():
    """And nothing that is none."""
    assert set(EFFECTS) == {place_of(key) for key in KEYS}
    assert set(FEATURE_NAMES) == {feature.number for feature in FEATURES}
    assert set(VARIABLES) == set(PURPOSES)
    worded = {key.default for key in KEYS if isinstance(key.default, str) and " " in key.default}
    assert set(DEFAULTS) >= {default for default in worded if "Nan" not in default}


def test_every_number_is_explained_in_both_languages():
    """Cause and cure."""
    assert set(numbers.MEANINGS) == set(numbers_zh.MEANINGS) == {int(code) for code in AclCode}
    assert set(cures.CURES) == set(cures_zh.CURES)
    assert set(cures.BY_CLASS) == set(cures_zh.BY_CLASS)
    for code in AclCode:
        meaning = meaning_of(code)
        assert meaning is not None
        assert meaning.cause
        assert meaning.cure or code == AclCode.SUCCESS


@pytest.mark.parametrize(
    ("arguments", "env"),
    [
        (["--lang", "zh"], {"LANG": "en_US.UTF-8"}),
        ([], {"LANG": "zh_CN.UTF-8"}),
        ([], {"LANG": "en_US.UTF-8", "LC_ALL": "zh_CN.UTF-8"}),
    ],
)
def test_check_and_doctor_speak_chinese(cli_here, arguments, env):
    """When the option or the locale says so."""
    env = {"LC_ALL": "", "LC_MESSAGES": "", **env}
    said = cli_here("check", "-", *arguments, stdin='{"err_msg_mode": 1}', env=env).stdout
    assert "必须是字符串" in said
    assert "错误 E302，ACL 返回 100000 INVALID_PARAM：请加上引号" in said
    assert "1 个错误，没有警告（ATLAS_A2）" in said
    said = cli_here("doctor", *arguments, env=env).stdout
    for heading in ("后端", "版本", "设备与日志", "环境变量"):
        assert heading in said

    assert "Versions" not in said


def test_refusal_is_told_in_chinese(cli_here):
    """With its call and its number."""
    env = {"ACLASYNC_BACKEND": "cann"}
    said = cli_here("doctor", "--lang", "zh", env=env).stdout
    assert "在这里打开会话会被拒绝" in said
    assert "错误码  500000 INTERNAL_ERROR" in said
    assert cli_here("explain", "xyzzy", "--lang", "zh").stderr.startswith("错误: 没有名为")


def test_option_wins_over_the_locale(cli_here):
    """For somebody who wants to paste it into an English issue."""
    env = {"LC_ALL": "zh_CN.UTF-8"}
    said = cli_here("check", "-", "--lang", "en", stdin="[]", env=env).stdout
    assert "the root is an array" in said
