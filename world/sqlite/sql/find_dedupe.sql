-- The message that was sent with a dedupe ID, within its window.
SELECT message FROM dedupes WHERE queue = ?1 AND id = ?2 AND until_us > ?3
