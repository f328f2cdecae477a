"""Engines, a module each. The docstring of a module says how its engine is set; the report shows it."""
