-- A workflow is held no more. By key.
UPDATE holds SET state = 2, changed_us = ?2 WHERE workflow = ?1
