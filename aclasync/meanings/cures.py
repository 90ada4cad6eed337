"""What to do about a number of ACL, in English: by the number, else by its first digit."""

from __future__ import annotations

from collections.abc import Mapping

#: 1 the caller, 2 a resource, 3 the state of the business, 5 something inside.
BY_CLASS: Mapping[int, str] = {
    1: "correct the call: its arguments, its order, or the thread it is made on",
    2: "see what the device has left (npu-smi info), and give back what is no longer used",
    3: "wait and try again; the message says what it waits for",
    5: "read the device log (ASCEND_PROCESS_LOG_PATH) from the first ERROR line on; if the"
    " device itself is at fault, reset it and start a new process",
}

CURES: Mapping[int, str] = {
    100000: "run `aclasync check` on the file; if it is accepted, the process is bound to another"
    " configuration: give every session the same",
    100001: "open a session before the call, and keep it open for as long as you call",
    100002: "nothing is wrong: somebody was first. Count on it and give back your own reference;"
    " sessions do both",
    100003: "check the path, which starts at the working directory, and the file's permissions",
    100006: "run `aclasync check` on the file: every fault has its line; `--fix` repairs most",
    100009: "run `aclasync check` on the file; most often dump_path is missing or its folder is",
    100012: "convert the model again with the ATC of the CANN version that runs it",
    100013: "convert the model again with the ATC of the CANN version that runs it",
    100017: "compare the inputs' names, shapes and types with `model.inputs`",
    100018: "compare the outputs' sizes with `model.outputs`",
    100037: "call finalize once for each init that succeeded; a session never does it twice",
    100039: "take folders named devlib and stub out of LD_LIBRARY_PATH",
    148048: "write max_opqueue_num as a string of digits",
    148049: "source the set_env.sh of CANN, or set ASCEND_OPP_PATH to its opp folder",
    200001: "see which products have the call; `Product` says which one this is",
    200006: "see which products have the feature: `aclasync explain` lists them for each key",
    500000: "a callback's type takes one function (OTHER takes many): unregister the old one; on"
    " IPV350 read the log for the cause",
    500001: "run `aclasync check` on the file; if it is accepted, the exception's cause is the one"
    " that a callback raised",
    107000: "compare the arguments with their bounds; a stack size above the product's maximum"
    " comes up here, when a device is opened",
    107001: "choose a device below the count; ASCEND_RT_VISIBLE_DEVICES numbers them again from 0",
    107002: "make the call on the thread that owns the context: use `open_device`, which has one",
    107020: "raise the limit, or see in the log which operator hangs",
    107022: "wait until the abort is over, then start again with a new stream",
    207000: "remove the feature, or update the driver; `aclasync explain` says who has it",
    207001: "make batches smaller, or close models and sessions that are not used",
    207004: "see npu-smi info, and whether the container was given its devices",
    207006: "add the user to the group HwHiAiUser, or give the container its devices",
    207018: "make batches smaller, or close models and sessions that are not used",
    245000: "make batches smaller, or close models and sessions that are not used",
    507010: "reset the device and start a new process",
    507011: "read the device log; an exception dump (dump_scene) shows the operator's inputs",
    507014: "raise the operator's time limit, or look for an endless loop in a kernel of yours",
    507015: "switch an exception dump on (dump_scene aic_err_brief_dump) and run again",
    507016: "switch an exception dump on (dump_scene aic_err_brief_dump) and run again",
    507018: "read the device log; an operator without a kernel for AI Cores runs on the AI CPU",
    507034: "raise the operator's time limit, or look for an endless loop in a kernel of yours",
    507035: "switch an exception dump on (dump_scene aic_err_brief_dump) and run again",
    507046: "raise the timeout, or see in the log which operator hangs",
    507053: "move the work to another device and have this one looked at",
    507054: "move the work to another device and have this one looked at",
}
