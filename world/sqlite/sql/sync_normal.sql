-- The commits that follow do not; checkpoints do.
PRAGMA synchronous = NORMAL
