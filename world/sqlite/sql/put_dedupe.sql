-- Notes the message that was sent with a dedupe ID.
INSERT INTO dedupes (queue, id, message, until_us) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (queue, id) DO UPDATE SET message = ?3, until_us = ?4
