-- Which encryption keys their IDs stand for: another key under the same ID is refused where it enters.
CREATE TABLE {schema}.keys (
  id    text  PRIMARY KEY,
  print bytea NOT NULL -- the key's fingerprint
);
