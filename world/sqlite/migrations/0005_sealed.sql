-- Payloads can be encrypted. A run keeps the key that it was born with; who sends to it without that key is refused.
ALTER TABLE runs ADD COLUMN sealed TEXT; -- ID of the key; null: plain

PRAGMA user_version = 5;
