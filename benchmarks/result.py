# SPDX-License-Identifier: Apache-2.0
"""The JSON object that a measurement prints."""

import dataclasses
import os
import resource
import statistics

import tensorflow as tf

import models
import sn_tf
from benchmarks import WARM_UP_STEPS, devices, workload


def describe(options):
    """The fields that say what was run."""
    found = models.entry(options.model)
    return {
        "model": options.model,
        "batch": options.batch,
        "image": options.image or found.image,
        "dtype": "float32",
        "optimizer": options.optimizer,
        "mode": options.mode,
        "policy": "liveness"
        if options.mode == "order"
        else (options.policy or "auto")
        if options.mode == "sn"
        else None,
        "tiers": options.tiers or "auto" if options.mode == "sn" else None,
        "budget_bytes": devices.budget_bytes(options) if options.budget else 0,
        "device": options.device,
        "fit": options.fit,
        "seed": options.seed,
        "cpus": os.cpu_count(),
        "tf_version": tf.__version__,
    }


def training_report():
    """The plan of the training step: the largest; None where there is none."""
    plans = sn_tf.report()
    return max(plans, key=lambda plan: plan.stock_peak_bytes, default=None)


def planned():
    """The fields that say what was planned; None where nothing was."""
    plan = training_report()
    return {
        name: getattr(plan, name, None)
        for name in (
            "floor_bytes",
            "planned_peak_bytes",
            "expected_peak_bytes",
            "min_budget_bytes",
            "feasible",
            "costs",
            "times",
            "step_seconds",
            "added_seconds",
            "stall_seconds",
            "ops",
        )
    } | {
        "swap_sizes": [
            action.bytes for action in plan.actions if action.action == "swap"
        ]
        if plan
        else []
    }


def traffic(seen):
    """The fields that say what moved, for each step after the warm-up.

    Args:
        seen: `sn_tf.stats()` before the first step and after each, or before
            and after all.
    """
    counted = len(seen) - 1 - WARM_UP_STEPS
    first, steps = (
        (seen[-1 - counted], counted) if counted > 0 else (seen[0], 1)
    )
    fields = (
        "swapped_out_bytes",
        "swapped_in_bytes",
        "evictions",
        "cache_hits",
        "cache_misses",
    )
    grown = {
        name: getattr(seen[-1], name) - getattr(first, name) for name in fields
    } | {"stall_seconds": _stalls(seen[-1]) - _stalls(first)}
    return {f"{name}_per_step": value / steps for name, value in grown.items()}


def _stalls(stats):
    """Seconds; a device with a link tells itself, of all copies over it."""
    return (stats.link or stats).stall_seconds


def measured(model, training, seen):
    """The fields that say what came of it.

    Args:
        model: The trained model.
        training: A `loops.Training`.
        seen: See `traffic`.
    """
    plan = training_report()
    counted = training.step_seconds[WARM_UP_STEPS:]
    before, after = seen[0], seen[-1]
    link = after.link.since(before.link) if after.link else None
    return planned() | {
        "layers": len(model.layers),
        "step_time_s": statistics.median(counted or training.step_seconds),
        "step_times_s": training.step_seconds,
        "peak_bytes": max(stats.peak_bytes for stats in seen),
        "step_peak_bytes": after.peak_bytes,
        "resident_bytes": plan.resident_bytes if plan else after.in_use_bytes,
        "to_device_bytes": link.to_device_bytes if link else None,
        "to_host_bytes": link.to_host_bytes if link else None,
        "loss": training.losses,
        "val_loss": training.validation_losses,
        "weights_sha256": workload.weights_sha256(model),
        **traffic(seen),
        "tier_stats": [dataclasses.asdict(tier) for tier in after.tiers],
        "recomputed_ops": plan.recomputed_ops if plan else 0,
        "plan_time_s": plan.plan_seconds if plan else 0.0,
        "rss_peak_bytes": rss_peak_bytes(),
    }


def rss_peak_bytes():
    """Most resident set size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def headline(error):
    """The line of a TensorFlow error that says what happened."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if "OOM" in line]
    return (telling or lines or [type(error).__name__])[0]


def summary(result):
    """A measurement for people."""
    if "error" in result:
        return f"{result['error']}: {result['message']}"

    def mega(name):
        value = result[name]
        return "-" if value is None else f"{value / 1e6:.1f} MB"

    budgeted = result["budget_bytes"] > 0
    lines = [
        f"{result['model']}, batch {result['batch']}, image "
        f"{result['image']}, {result['optimizer']}, mode {result['mode']}",
        f"  step time      {result['step_time_s']:.3f} s",
        f"  peak           {mega('peak_bytes')}",
        f"  budget         {mega('budget_bytes') if budgeted else 'none'}",
        f"  planned peak   {mega('planned_peak_bytes')}",
        f"  floor          {mega('floor_bytes')}",
        f"  resident       {mega('resident_bytes')}",
        f"  swapped out    {mega('swapped_out_bytes_per_step')} a step",
        f"  evictions      {result['evictions_per_step']:.0f} a step",
        f"  stalls         {result['stall_seconds_per_step']:.3f} s a step",
        f"  recomputed     {result['recomputed_ops']} ops",
        f"  last loss      {result['loss'][-1]!r}",
        f"  weights        {result['weights_sha256']}",
    ]
    return "\n".join(lines)
