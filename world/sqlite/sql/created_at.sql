-- When a run was created. By key.
SELECT created_us FROM runs WHERE key = ?1
