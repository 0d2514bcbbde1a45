-- Asks the attached children of a run that are not over to end. Returns who was asked. Index awaits_waiter: coalesce keeps
-- the planner from index runs_parent, which has those that are over too.
WITH asked AS (
  INSERT INTO {schema}.inbox (run, delivery, cancel, payload, format, head, body, sum)
  SELECT DISTINCT ON (a.target) a.target, 'cancel/' || $2::text, true, false, $3::smallint, $4::text, $5::bytea,
    concat_ws(chr(31), $6::text, a.target, '', 'cancel/' || $2::text)
  FROM {schema}.awaits a JOIN {schema}.queue q ON q.run = a.target JOIN {schema}.runs r ON r.key = a.target
  WHERE a.waiter = $1::bigint AND coalesce(r.parent_run, '') = $2::text AND NOT r.detached
  ORDER BY a.target
  ON CONFLICT DO NOTHING RETURNING run)
SELECT r.id, q.owner IS NOT NULL FROM asked s JOIN {schema}.runs r ON r.key = s.run JOIN {schema}.queue q ON q.run = s.run
