"""The plugin as OCRmyPDF finds it by entry point: the same hooks in a module of another name.

OCRmyPDF refuses to register one module twice, and people who have the package installed may still name it with
``--plugin sauvolanet.plugins.ocrmypdf``. Then this module steps back.
"""

from __future__ import annotations

import sys

import pluggy
from ocrmypdf import hookimpl

from . import ocrmypdf
from .ocrmypdf import add_options, check_options, filter_ocr_image, filter_page_image, register_options, validate

__all__ = ["add_options", "check_options", "filter_ocr_image", "filter_page_image", "initialize", "register_options",
           "validate"]  # fmt: skip


@hookimpl
def initialize(plugin_manager: pluggy.PluginManager) -> None:
    if plugin_manager.is_registered(ocrmypdf):
        plugin_manager.unregister(sys.modules[__name__])
