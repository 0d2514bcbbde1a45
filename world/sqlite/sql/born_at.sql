-- When a run was born. By key.
SELECT created_us FROM runs WHERE key = ?1
