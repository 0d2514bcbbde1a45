-- A hook; a taken token fails. Index hooks_token.
INSERT INTO hooks (token, run, id, metadata, created_us) VALUES (?1, ?2, ?3, ?4, ?5)
