"""The clock of one life, the periodic jobs, and the times of the calendar."""
