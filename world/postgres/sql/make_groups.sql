-- Of these groups, those that were not there.
INSERT INTO {schema}.message_groups (queue, grp, head)
SELECT $1, o.grp, 0 FROM unnest($2::text[]) o(grp) WHERE NOT EXISTS (SELECT FROM {schema}.message_groups g WHERE g.queue = $1 AND g.grp = o.grp) ORDER BY o.grp
ON CONFLICT DO NOTHING RETURNING grp
