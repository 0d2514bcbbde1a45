-- Of held groups without a head the first that waits can be received. Index messages_group.
UPDATE {schema}.messages m SET visible_at = clock_timestamp() FROM unnest($1::integer[], $2::text[]) a(queue, grp)
WHERE m.key = (SELECT z.key FROM {schema}.messages z WHERE z.queue = a.queue AND z.grp = a.grp AND NOT z.dead ORDER BY z.key LIMIT 1) AND m.visible_at = 'infinity'
  AND NOT EXISTS (SELECT FROM {schema}.message_groups g JOIN {schema}.messages h ON h.key = g.head AND NOT h.dead WHERE g.queue = a.queue AND g.grp = a.grp)
