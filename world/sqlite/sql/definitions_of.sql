-- What the versions of a workflow say. By key.
SELECT version, says, worker FROM definitions WHERE workflow = ?1 ORDER BY version
