-- Nobody sends until this transaction ends, and what was being sent is there.
LOCK TABLE {schema}.messages IN SHARE ROW EXCLUSIVE MODE
