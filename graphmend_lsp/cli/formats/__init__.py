"""Findings in the forms that other tools read: one file a form."""
