DELETE FROM message_bodies WHERE key = ?1
