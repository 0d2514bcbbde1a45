-- What a message carries. What has its key, and is of no message, is of none that will come.
INSERT OR REPLACE INTO message_bodies (key, head, body, sum) VALUES (?1, ?2, ?3, ?4)
