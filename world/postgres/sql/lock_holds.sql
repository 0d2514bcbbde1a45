-- Who changes what is held, or moves runs for it, does so alone; nobody who reads waits.
LOCK TABLE {schema}.holds IN SHARE UPDATE EXCLUSIVE MODE
