-- By key.
DELETE FROM lapses WHERE due_us = ?1 AND run = ?2
