-- The one of a group that could be received waits, unless it is out or the first.
UPDATE messages SET ready_us = NULL WHERE queue = ?1 AND grp = ?2 AND NOT dead AND ready_us IS NOT NULL AND NOT held AND key > ?3
