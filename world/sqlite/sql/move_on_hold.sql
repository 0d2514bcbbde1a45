-- What somebody goes on with: whether it is held. By key.
UPDATE holds SET changed_us = ?2 WHERE workflow = ?1 AND state <> 1 RETURNING state = 0
