-- Deletes a message.
DELETE FROM messages WHERE key = ?1
