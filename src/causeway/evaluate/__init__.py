"""Experiments that repeat what the papers measured, with the product's own code: numbers, figures, a report."""
