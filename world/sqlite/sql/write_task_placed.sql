-- What a task has of its places, and from when on it can be claimed. By key.
UPDATE tasks SET has = ?2, parked_us = ?3, visible_us = ?4 WHERE key = ?1
