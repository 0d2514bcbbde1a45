-- What a wait that looks back matches, as its event has it: what is in arrays is in no hash. Null: it is not known, or has looked back.
ALTER TABLE listens ADD COLUMN match TEXT;

PRAGMA user_version = 24;
