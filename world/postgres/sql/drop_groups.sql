-- Held groups without a head are none.
DELETE FROM {schema}.message_groups g USING unnest($1::integer[], $2::text[]) a(queue, grp)
WHERE g.queue = a.queue AND g.grp = a.grp AND NOT EXISTS (SELECT FROM {schema}.messages h WHERE h.key = g.head AND NOT h.dead)
