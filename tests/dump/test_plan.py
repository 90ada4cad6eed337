"""Which tensors a configuration chooses, decided without a model."""

from __future__ import annotations

import pytest

from aclasync.config import resolve_config
from aclasync.dump.plan import (
    Choice,
    GraphOperator,
    Watch,
    is_step_chosen,
    plan_dump,
    rules_of,
)
from aclasync.product import Product

CHAIN = (
    GraphOperator("conv", "Conv", ("x", "w", ""), ("a",)),
    GraphOperator("relu", "Relu", ("a",), ("b",)),
    GraphOperator("split", "Split", ("b",), ("c", "d")),
    GraphOperator("relu", "Relu", ("d",), ("e",)),
    GraphOperator("reduce", "HcomAllReduce", ("e",), ("f",)),
    GraphOperator("out", "Add", ("f", "c"), ("y",)),
)


@pytest.fixture
def settings(tmp_path):
    """Resolve the keys of a dump as a session would."""

    def resolve(**keys):
        source = {"dump": {"dump_path": str(tmp_path), **keys}}
        resolution = resolve_config(source, env={}, product=Product.ATLAS_A2)
        assert resolution.is_valid, resolution.findings
        return resolution.effective.dump.value

    return resolve


def names_of(plan):
    return [(CHAIN[c.operator].name, c.inputs, c.outputs) for c in plan.choices]


def test_empty_entry_chooses_every_output(settings):
    """The default mode is output."""
    plan = plan_dump(settings(dump_list=[{}]), {"m"}, CHAIN)
    assert [choice.operator for choice in plan.choices] == list(range(6))
    assert all(not choice.inputs for choice in plan.choices)
    assert plan.choices[2].outputs == (0, 1)
    assert plan.matches["$.dump.dump_list[0]"] == 6


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("input", ((0, 1), ())), ("output", ((), (0,))), ("all", ((0, 1), (0,)))],
)
def test_mode_takes_sides(settings, mode, expected):
    """An input that is left out has no place in any."""
    plan = plan_dump(settings(dump_list=[{"layer": ["conv"]}], dump_mode=mode), {"m"}, CHAIN)
    assert [(c.inputs, c.outputs) for c in plan.choices] == [expected]


def test_layers_of_one_name_are_all_taken(settings):
    """In the order of execution, whatever the order of the list."""
    plan = plan_dump(settings(dump_list=[{"layer": ["out", "relu", "nope"]}]), {"m"}, CHAIN)
    assert [choice.operator for choice in plan.choices] == [1, 3, 5]
    assert plan.matches["$.dump.dump_list[0].layer[1]"] == 2
    assert plan.matches["$.dump.dump_list[0].layer[2]"] == 0


def test_model_name_is_the_file_s_or_the_graph_s(settings):
    """Another model is left alone, and that is counted."""
    chosen = settings(dump_list=[{"model_name": "resnet"}])
    assert len(plan_dump(chosen, {"resnet", "main_graph"}, CHAIN).choices) == 6
    plan = plan_dump(chosen, {"bert"}, CHAIN)
    assert not plan.choices
    assert "$.dump.dump_list[0].model_name" not in plan.matches


def test_entries_add_up(settings):
    """An operator that two entries choose is one operator."""
    entries = [{"layer": ["conv"]}, {"model_name": "m", "layer": ["conv", "out"]}]
    plan = plan_dump(settings(dump_list=entries), {"m"}, CHAIN)
    assert [choice.operator for choice in plan.choices] == [0, 5]


def test_range_has_both_ends(settings):
    """From begin to end in the order of execution; beside layers it adds to them."""
    entry = {
        "model_name": "m",
        "layer": ["out"],
        "opname_range": [{"begin": "relu", "end": "split"}, {"begin": "no", "end": "out"}],
    }
    plan = plan_dump(settings(dump_list=[entry], dump_level="op"), {"m"}, CHAIN)
    assert [choice.operator for choice in plan.choices] == [1, 2, 5]
    assert plan.matches["$.dump.dump_list[0].opname_range[0]"] == 2
    assert plan.matches["$.dump.dump_list[0].opname_range[1]"] == 0


def test_blacklists_leave_out_operators_or_tensors(settings):
    """By type and by name; a position drops one tensor, no position the operator."""
    entry = {
        "optype_blacklist": [{"name": "Relu"}, {"name": "Split", "pos": ["output1", "input_0"]}],
        "opname_blacklist": [{"name": "out", "pos": ["input1", "workspace0"]}, {"name": "gone"}],
    }
    chosen = settings(dump_list=[entry], dump_level="op", dump_mode="all")
    plan = plan_dump(chosen, {"m"}, CHAIN)
    assert names_of(plan) == [
        ("conv", (0, 1), (0,)),
        ("split", (), (0,)),
        ("reduce", (0,), (0,)),
        ("out", (0,), (0,)),
    ]
    assert plan.matches["$.dump.dump_list[0].optype_blacklist[0]"] == 4
    assert plan.matches["$.dump.dump_list[0].optype_blacklist[1]"] == 2
    assert plan.matches["$.dump.dump_list[0].opname_blacklist[0]"] == 1
    assert plan.matches["$.dump.dump_list[0].opname_blacklist[1]"] == 0


def test_steps_are_numbers_and_ranges(settings):
    """Both ends count; without the key every step does."""
    chosen = settings(dump_list=[{}], dump_step="0|3-5")
    assert [s for s in range(8) if is_step_chosen(chosen, s)] == [0, 3, 4, 5]
    assert is_step_chosen(settings(dump_list=[{}]), 10**9)


def watches(settings, **entry):
    return plan_dump(settings(dump_scene="watcher", dump_list=[entry]), {"m"}, CHAIN)


def test_watched_outputs_follow_every_layer(settings):
    """When they are done, and after each layer that is done later."""
    plan = watches(settings, layer=["split", "out"], watcher_nodes=["conv"])
    assert plan.watches == (Watch(0, 0), Watch(0, 2), Watch(0, 5))
    assert not plan.choices


def test_without_layers_every_operator_is_one(settings):
    """But those between devices, after which nothing is written."""
    plan = watches(settings, watcher_nodes=["split"])
    assert plan.watches == (Watch(2, 2), Watch(2, 3), Watch(2, 5))


def test_layer_that_is_watched_is_written_once(settings):
    """Its own end is no end of a layer."""
    plan = watches(settings, layer=["split"], watcher_nodes=["split", "conv"])
    assert plan.watches == (Watch(0, 0), Watch(2, 2))


def test_collective_layer_writes_the_watched_ones_alone(settings):
    """Operators whose type begins with Hcom are no layers."""
    plan = watches(settings, layer=["reduce"], watcher_nodes=["conv"])
    assert plan.watches == (Watch(0, 0),)


def test_layer_before_the_watched_one_has_nothing_to_show(settings):
    """Its output is not there yet."""
    plan = watches(settings, layer=["conv"], watcher_nodes=["out", "nope"])
    assert plan.watches == (Watch(5, 5),)
    assert plan.matches["$.dump.dump_list[0].watcher_nodes[1]"] == 0


def test_every_rule_has_a_place_and_a_meaning(settings):
    """So that what matched nothing can be named."""
    entry = {
        "model_name": "m",
        "layer": ["a"],
        "optype_blacklist": [{"name": "Relu", "pos": ["input0"]}],
        "opname_range": [{"begin": "a", "end": "b"}],
    }
    rules = rules_of(settings(dump_list=[{}, entry], dump_level="op", dump_step="1|4-7"))
    assert [(rule.path, rule.says, rule.unit) for rule in rules] == [
        ("$.dump.dump_step", "1|4-7", "runs"),
        ("$.dump.dump_list[0]", "all operators", "operators"),
        ("$.dump.dump_list[1].model_name", "m", "models"),
        ("$.dump.dump_list[1].layer[0]", "a", "operators"),
        ("$.dump.dump_list[1].opname_range[0]", "a to b", "operators"),
        ("$.dump.dump_list[1].optype_blacklist[0]", "Relu input0", "tensors"),
    ]


def test_choice_without_tensors_is_none(settings):
    """An operator of which nothing is left is not written."""
    entry = {"layer": ["relu"], "opname_blacklist": [{"name": "relu"}]}
    plan = plan_dump(settings(dump_list=[entry], dump_level="op"), {"m"}, CHAIN)
    assert plan.choices == ()
    assert Choice(0) not in plan.choices
