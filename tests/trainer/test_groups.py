from __future__ import annotations

from hydra import initialize_config_module
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType

from trainer.command.groups import CONFIGS, group_choices


def test_the_folders_match_hydras_groups() -> None:
    with initialize_config_module(CONFIGS, version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
        groups = [group for group in loader.list_groups("") if group != "hydra"]
        for group in groups:
            groups += [f"{group}/{inner}" for inner in loader.list_groups(group)]
        told = {
            group: [
                choice
                for choice in loader.get_group_options(group, ObjectType.CONFIG)
                if not choice.endswith("_schema")
            ]
            for group in groups
            if not group.startswith("__")
        }
    assert dict(group_choices()) == {group: choices for group, choices in told.items() if choices}
    assert "paper" in group_choices()["machine/costs"]
