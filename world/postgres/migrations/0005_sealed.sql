-- Payloads can be encrypted. A run keeps the key that it was born with; who sends to it without that key is refused.
ALTER TABLE {schema}.runs ADD COLUMN sealed text; -- ID of the key; null: plain
