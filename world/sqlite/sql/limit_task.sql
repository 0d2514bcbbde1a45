-- A task that was just created needs places. By key.
UPDATE tasks SET places = ?2, rates = ?3, asked_us = ?4 WHERE key = ?1
