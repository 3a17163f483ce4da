"""Drawings as SVG coordinates."""
