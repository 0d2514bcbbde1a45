DELETE FROM messages WHERE key = ?1
