-- Locks the rows of groups, in order, and waits for who holds them.
SELECT g.grp FROM {schema}.message_groups g JOIN unnest($1::integer[], $2::text[]) a(queue, grp) ON g.queue = a.queue AND g.grp = a.grp ORDER BY g.queue, g.grp FOR UPDATE OF g
