-- When a key of a rate is to be looked at again, and whether somebody stands in its line. By key.
UPDATE limit_keys SET late = ?2, due_us = ?3 WHERE key = ?1
