-- The outcome of a run. By key.
UPDATE runs SET status = ?2, version = ?3, output = ?4, error = ?5, ended_us = ?6, sweep_us = ?7, takes = ?8, end_sum = ?9, output_apart = ?10 WHERE key = ?1
