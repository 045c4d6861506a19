"""Train, validation and test parts of a table: every method, its settings, and splits that were stored."""
