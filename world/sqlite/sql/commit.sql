-- Makes the group durable.
COMMIT
