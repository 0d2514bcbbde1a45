-- All runs of a workflow are marked that is held. By key.
UPDATE holds SET state = 1 WHERE workflow = ?1
