-- What a wait that looks back matches, as its event has it: what is in arrays is in no hash. Null: it is not known, or has looked back.
ALTER TABLE {schema}.listens ADD COLUMN match text;
