"""Metrics, data sets, evaluation."""
