-- Deletes what a message carries.
DELETE FROM message_bodies WHERE key = ?1
