-- Of these groups, those that are there and that nobody holds.
SELECT grp FROM {schema}.message_groups WHERE queue = $1 AND grp = ANY($2::text[]) ORDER BY grp FOR UPDATE SKIP LOCKED
