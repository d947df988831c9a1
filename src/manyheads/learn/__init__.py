"""All that a lesson imports to show something: pictures, explorers, the experiment, quiz, flashcards, hints.

Names are loaded on first use, so that ``from manyheads import learn`` costs nothing.
"""

import importlib

_HOME = {
    "live": "mode",
    "demonstration": "mode",
    "running_example": "toy",
    "sentence": "toy",
    "flow_map": "flow",
    "HEAD_COLOURS": "palette",
    "plot_head": "heatmaps",
    "plot_heads": "heatmaps",
    "summary": "heatmaps",
    "train_heads": "experiment",
    "stored_sweep": "experiment",
    "stored_without_output": "experiment",
    "plot_sweep": "experiment",
    "real_heads": "real",
    "named_heads": "real",
    "pattern_scores": "real",
    "annotated_sentences": "real",
    "read_sentence": "trained",
    "attention_of": "trained",
    "trained_layer": "trained",
    "patient": "patients",
    "train_module": "practice",
    "split_picture": "split",
    "split_explorer": "split",
    "split_cells": "cells",
    "patterns_picture": "patterns",
    "patterns_explorer": "patterns",
    "trained_heads_explorer": "trained_heads",
    "masks_explorer": "masks",
    "one_or_many_explorer": "one_or_many",
    "mixing_explorer": "mixing",
    "mixing_picture": "mixing",
    "orientation_picture": "mixing",
    "ablation_picture": "mixing",
    "quiz": "questions",
    "flashcards": "cards",
    "hints": "help",
    "symptoms": "help",
    "mentor": "mentoring",
}

__all__ = list(_HOME)


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"manyheads.learn has no {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
