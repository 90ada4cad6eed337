"""The shortest configuration of which each finding is said, for explanations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from attrs import field, frozen

from aclasync.product import Product

from .resolve import Resolution, resolve_config
from .source import ConfigText

_A2 = Product.ATLAS_A2


@final
@frozen
class Example:
    """A configuration, and what it must be judged for."""

    text: bytes
    product: Product = _A2
    env: Mapping[str, str] = field(factory=dict, hash=False)

    def resolve(self) -> Resolution:
        """Judge it, as a file of its own."""
        text = ConfigText("acl.json", self.text, is_file=True)
        return resolve_config(text, env=self.env, product=self.product)


def _dump(members: str, product: Product = _A2, **env: str) -> Example:
    return Example(f'{{"dump": {{"dump_path": "/dumps", {members}}}}}'.encode(), product, env)


def _item(members: str, level: str = "op") -> Example:
    return _dump(f'"dump_level": "{level}", "dump_list": [{{{members}}}]')


def _profiler(members: str) -> Example:
    return Example(f'{{"profiler": {{"switch": "on", {members}}}}}'.encode())


def _stack(members: str, product: Product = _A2) -> Example:
    return Example(f'{{"StackSize": {{{members}}}}}'.encode(), product)


#: Not of those on files, folders and mappings, which no text shows.
EXAMPLES: Mapping[str, Example] = {
    "E110": Example(b'{"a": ' * 11 + b"1" + b"}" * 11),
    "E112": Example(b'{"err_msg_mode": "\xff"}'),
    "E114": Example(b"\n"),
    "E120": Example(b'{"err_msg_mode": "1"} // per process'),
    "E121": Example(b'{"err_msg_mode": "1",}'),
    "E122": Example(b'{"err_msg_mode": "1" "max_opqueue_num": "100"}'),
    "E123": Example(b'{"err_msg_mode" "1"}'),
    "E124": Example(b"{'err_msg_mode': \"1\"}"),
    "E125": Example(b'{err_msg_mode: "1"}'),
    "E126": Example(b'{"acl_graph": None}'),
    "E127": Example(b'{"StackSize": {"aicore_stack_size": 0x8000}}'),
    "E128": Example(b'{"StackSize": {"aicore_stack_size": 1e400}}'),
    "E129": Example(b'{"err_msg_mode": "1}'),
    "E130": Example(b'{"err_msg_mode": "1\t"}'),
    "E131": Example(b'{"dump": {"dump_path": "C:\\dumps"}}'),
    "E132": Example(b'{"dump": {"dump_path": "\\ud83d"}}'),
    "E133": Example(b'{"err_msg_mode": "1"'),
    "E134": Example(b'{"err_msg_mode": "1"}}'),
    "E135": Example(b'{"err_msg_mode": "1"} {}'),
    "E136": Example('{"err_msg_mode":\u00a0"1"}'.encode()),
    "E137": Example(b'{"err_msg_mode":: "1"}'),
    "E139": Example(b'{"err_msg_mode": }'),
    "E200": Example(b'{"dump": []}'),
    "E201": _dump('"dump_mode": ""'),
    "E202": _dump('"dump_mode": "Output"'),
    "E203": _dump('"dump_kernel_data": "printf,"'),
    "E210": _dump('"dump_scene": "watcher", "dump_debug": "on"'),
    "E211": Example(b'{"dump": {"dump_debug": "on"}}'),
    "E212": Example(b'{"dump": {"dump_path": "", "dump_debug": "on"}}'),
    "E218": Example(b'{"dump": {"dump_path": "192.168.1.2:/my dumps", "dump_debug": "on"}}'),
    "E220": _dump('"dump_debug": "on", "dump_op_switch": "on"'),
    "E221": _dump('"dump_op_switch": "on", "dump_step": "5-3"'),
    "E230": _item('"layer": []'),
    "E231": _dump('"dump_scene": "watcher", "dump_list": [{}]'),
    "E232": _dump(
        '"dump_scene": "watcher", "dump_list": [{"watcher_nodes": ["n"], "model_name": "m"}]'
    ),
    "E233": _item('"watcher_nodes": ["n"]'),
    "E235": _item('"optype_blacklist": [{"name": "Cast"}]', "all"),
    "E236": _item('"opname_range": [{"begin": "a", "end": "b"}]'),
    "E237": _item('"model_name": "m", "opname_range": [{"begin": "a"}]'),
    "E240": _dump('"dump_op_switch": "on", "dump_data": "stats", "dump_stats": []'),
    "E241": _dump('"dump_op_switch": "on", "dump_stats": ["Max"]'),
    "E250": _dump('"dump_scene": "aic_err_detail_dump"', Product.ATLAS_TRAINING),
    "E301": Example(b'{"err_msg_mode": "2"}'),
    "E302": Example(b'{"err_msg_mode": 1}'),
    "E310": Example(b'{"defaultDevice": {"default_device": "npu0"}}'),
    "E311": Example(b'{"defaultDevice": {"default_device": 0}}'),
    "E320": _stack('"aicore_stack_size": "64K"'),
    "E330": Example(b'{"simd_printf_fifo_size_per_core": "1048576"}'),
    "E331": Example(b'{"simd_printf_fifo_size_per_core": 512}'),
    "E340": Example(b'{"acl_graph": {"event_mode": "1"}}', Product.ATLAS_TRAINING),
    "E341": Example(b'{"acl_graph": {"event_mode": 1}}'),
    "E400": Example(b'{"profiler": "on"}'),
    "E401": _profiler('"device_id": "0"'),
    "E402": _profiler('"l2": true'),
    "E403": _profiler('"l2": "yes"'),
    "E405": _profiler('"output": "/a;b"'),
    "E406": _profiler('"storage_limit": "500"'),
    "E407": _profiler('"optype": "Conv2D"'),
    "W001": Example(b'{"err_msg_mod": "1"}'),
    "W002": Example(b'{"err_msg_mode": "0", "err_msg_mode": "1"}'),
    "W003": Example(b"[]"),
    "W004": Example(b""),
    "W005": Example(b"{}\0"),
    "W010": Example(b'{"StackSize": 65536}'),
    "W011": _stack('"simt_stack_size": 256'),
    "W012": _stack('"aicore_stack_size": 40000'),
    "W013": _stack('"aicore_stack_size": 1024'),
    "W014": _stack('"aicore_stack_size": 1048576'),
    "W015": _stack('"aicore_stack_size": -1'),
    "W016": _stack('"aicore_stack_size": 65536.5'),
    "W018": _stack('"aicore_stack_size": 65536', Product.ATLAS_TRAINING),
    "W020": Example(b'{"profiler": {"switch": "on"}, "dump": {"dump_scene": "lite_exception"}}'),
    "W021": Example(b'{"max_opqueue_num": 10000}'),
    "W022": Example(b'{"dump": {"dump_path": "/dumps"}}'),
    "W023": _dump('"dump_op_switch": "on", "dump_list": [{"layer": []}]'),
    "W024": _dump('"dump_debug": "on", "dump_step": "1"'),
    "W025": _dump('"dump_op_switch": "on", "dump_path": "192.168.1.2:/dumps"'),
    "W026": _dump('"dump_scene": "lite_exception"', NPU_COLLECT_PATH="/collected"),
    "W027": _dump('"dump_scene": "aic_err_detail_dump"'),
    "W029": Example(b'{"dump": {"dump_scene": "lite_exception", "dump_kernel_data": "all"}}'),
    "W030": Example(b'{"defaultDevice": {"default_device": "4294967296"}}'),
    "W031": _profiler('"hccl": "on"'),
    "W034": _dump('"dump_scene": "watcher"'),
    "W040": Example(b"{}", env={"ASCEND_LOG_DEVICE_FLUSH_TIMEOUT": "2s"}),
    "W041": Example(b"{}", env={"ASCEND_RT_VISIBLE_DEVICES": "1,0"}),
    "W043": Example(b"{}", env={"PROFILER_SAMPLECONFIG": '{"l2": 1}'}),
    "W042": _dump('"dump_op_switch": "on", "dump_path": "192.168.1.2:"'),
    "I002": _stack('"aicore_stack_size": 65536'),
    "I004": Example(b'{"dump": {"dump_path": "dumps", "dump_op_switch": "on"}}'),
}
