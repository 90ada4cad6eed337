"""What to do about a number of ACL, in Simplified Chinese; the keys are those of `cures`."""

from __future__ import annotations

from collections.abc import Mapping

BY_CLASS: Mapping[int, str] = {
    1: "请改正该调用：参数、调用次序，或者所在的线程",
    2: "请查看设备还剩多少资源（npu-smi info），并归还不再使用的资源",
    3: "请等待后重试；错误信息说明在等待什么",
    5: "请从第一条 ERROR 开始读设备日志（ASCEND_PROCESS_LOG_PATH）；如果是设备本身的故障，请复位设备并启动新进程",
}

CURES: Mapping[int, str] = {
    100000: "请对该文件运行 `aclasync check`；如果它被接受，说明进程已绑定另一份配置：请让所有会话使用同一份",
    100001: "请在调用之前打开会话，并在调用期间保持打开",
    100002: "这不是错误：已经有人先初始化。请照常计数，并只归还自己的引用；会话会做到这两点",
    100003: "请检查路径（相对路径从工作目录算起）和文件权限",
    100006: "请对该文件运行 `aclasync check`：每个错误都有行号；`--fix` 可以修复大部分",
    100009: "请对该文件运行 `aclasync check`；最常见的是缺少 dump_path 或它的文件夹不存在",
    100012: "请用运行时所用 CANN 版本的 ATC 重新转换模型",
    100013: "请用运行时所用 CANN 版本的 ATC 重新转换模型",
    100017: "请将输入的名称、shape 和类型与 `model.inputs` 对照",
    100018: "请将输出的大小与 `model.outputs` 对照",
    100037: "每次成功的 init 只调用一次 finalize；会话不会重复调用",
    100039: "请从 LD_LIBRARY_PATH 中去掉名为 devlib 和 stub 的文件夹",
    148048: "请将 max_opqueue_num 写成数字字符串",
    148049: "请 source CANN 的 set_env.sh，或将 ASCEND_OPP_PATH 设为其 opp 文件夹",
    200001: "请查看哪些产品有该接口；`Product` 说明当前是哪一种",
    200006: "请查看哪些产品有该功能：`aclasync explain` 会列出每个键的产品",
    500000: "每种回调类型只能有一个函数（OTHER 不限）：请先注销旧的；在 IPV350 上请从日志中找原因",
    500001: "请对该文件运行 `aclasync check`；如果它被接受，异常的 cause 就是回调抛出的异常",
    107000: "请将参数与其范围对照；栈大小超过产品的最大值时，会在打开设备时返回它",
    107001: "请选择小于设备数的编号；ASCEND_RT_VISIBLE_DEVICES 会从 0 重新编号",
    107002: "请在拥有 context 的线程上调用：使用 `open_device`，它有自己的线程",
    107020: "请提高时限，或从日志中查看哪个算子卡住",
    107022: "请等待中止结束，然后用新的流重新开始",
    207000: "请去掉该功能，或升级驱动；`aclasync explain` 说明哪些产品有它",
    207001: "请减小 batch，或关闭不用的模型和会话",
    207004: "请查看 npu-smi info，以及容器是否获得了设备",
    207006: "请将用户加入 HwHiAiUser 组，或给容器分配设备",
    207018: "请减小 batch，或关闭不用的模型和会话",
    245000: "请减小 batch，或关闭不用的模型和会话",
    507010: "请复位设备并启动新进程",
    507011: "请读设备日志；异常 dump（dump_scene）会给出算子的输入",
    507014: "请提高算子时限，或检查自己的 kernel 中是否有死循环",
    507015: "请打开异常 dump（dump_scene aic_err_brief_dump）并重新运行",
    507016: "请打开异常 dump（dump_scene aic_err_brief_dump）并重新运行",
    507018: "请读设备日志；没有 AI Core kernel 的算子在 AI CPU 上运行",
    507034: "请提高算子时限，或检查自己的 kernel 中是否有死循环",
    507035: "请打开异常 dump（dump_scene aic_err_brief_dump）并重新运行",
    507046: "请提高超时，或从日志中查看哪个算子卡住",
    507053: "请将工作移到另一设备，并检修该设备",
    507054: "请将工作移到另一设备，并检修该设备",
}
