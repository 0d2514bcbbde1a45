-- What a message carries.
INSERT INTO message_bodies (key, head, body, sum) VALUES (?1, ?2, ?3, ?4)
