-- Changes when another connection has written.
PRAGMA data_version
