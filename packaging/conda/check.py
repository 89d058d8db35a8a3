# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Render the recipe for each platform, without building; needs the package py-rattler-build."""

from pathlib import Path

from rattler_build import JinjaConfig, PlatformConfig, RenderConfig, Stage0Recipe, VariantConfig

HERE = Path(__file__).resolve().parent
recipe = Stage0Recipe.from_file(HERE / "recipe.yaml")
for name in ("linux-64", "linux-aarch64", "osx-arm64"):
    platform = PlatformConfig(target_platform=name)
    variants = VariantConfig.from_file_with_context(HERE / "variants.yaml",
                                                    JinjaConfig(platform=platform))
    rendered = recipe.render(variants, RenderConfig(platform=platform))
    assert rendered, name
    print(f"{name}: {len(rendered)} package to build")
