"""Statistical inference on arrays: intervals, contrasts, simultaneous levels and power, see docs/sure.md."""
