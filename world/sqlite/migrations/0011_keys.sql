-- Which encryption keys their IDs stand for: another key under the same ID is refused where it enters.
CREATE TABLE keys (
  id    TEXT PRIMARY KEY,
  print BLOB NOT NULL -- the key's fingerprint
) WITHOUT ROWID;

PRAGMA user_version = 11;
