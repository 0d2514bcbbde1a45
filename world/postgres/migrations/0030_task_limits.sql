-- Limits of tasks. A task whose attempts need places has them in its row, as a run has them in its row of the queue; see 0023 and
-- 0026. It keeps nothing between attempts. asked_at: when its step was asked for, and so where it stands in its first line. While it
-- stands in one (parked_at) it is visible to nobody: visible_at is far away. In lines, and in news, its number is 2^62 less than its
-- key, and so below 0, which no run's is.
ALTER TABLE {schema}.tasks ADD COLUMN places text[], ADD COLUMN has smallint, ADD COLUMN parked_at timestamptz, ADD COLUMN rates smallint,
  ADD COLUMN asked_at timestamptz;

-- Who needs places: runs, and tasks. All, and the one with a number, which is looked up by its key whatever the statistics say: with + 0 no index of
-- tasks that nobody holds is taken in the place of the keys'.
CREATE VIEW {schema}.limit_needs AS
SELECT run, owner, running, priority, places, keeps, has, parked_at FROM {schema}.queue WHERE places IS NOT NULL
UNION ALL
SELECT key - 4611686018427387904, worker, false, priority, places, 0::smallint, has, parked_at FROM {schema}.tasks WHERE places IS NOT NULL;
CREATE FUNCTION {schema}.limit_need(number bigint) RETURNS SETOF {schema}.limit_needs LANGUAGE sql STABLE AS $need$
SELECT q.run, q.owner, q.running, q.priority, q.places, q.keeps, q.has, q.parked_at FROM {schema}.queue q WHERE q.run = number AND q.places IS NOT NULL
UNION ALL
SELECT number, t.worker + 0, false, t.priority, t.places, 0::smallint, t.has, t.parked_at FROM {schema}.tasks t
WHERE t.key = CASE WHEN number < 0 THEN number + 4611686018427387904 END AND t.places IS NOT NULL
$need$;

-- What becomes of the places of a task is decided here, and not by who changes it: programs that know nothing of limits of tasks keep
-- to them, too. Who would claim one that lacks a place gets nothing: it stands in line from then on. Who claims one has paid its rates.
-- An attempt that has ended, whatever its outcome, gives back what it has; one whose worker died is in the same row with the same counts,
-- and keeps it. Who wakes one that stands in line changes nothing: it waits for no time.
CREATE FUNCTION {schema}.task_places() RETURNS trigger LANGUAGE plpgsql AS $places$
DECLARE
  needs integer := cardinality(OLD.places);
  place timestamptz;
BEGIN
  IF TG_OP = 'DELETE' THEN
    INSERT INTO {schema}.limit_news (key, kind) SELECT OLD.places[i], 0 FROM generate_series(1, OLD.has) i WHERE OLD.places[i] IS NOT NULL;
    RETURN NULL;
  END IF;
  IF OLD.worker IS NULL AND NEW.worker IS NOT NULL THEN
    IF OLD.has < needs THEN
      IF OLD.parked_at IS NULL AND OLD.places[OLD.has + 1] IS NOT NULL THEN
        place := CASE WHEN OLD.has = 0 THEN coalesce(OLD.asked_at, clock_timestamp()) ELSE clock_timestamp() END;
        UPDATE {schema}.tasks SET parked_at = place, visible_at = '9999-12-31T00:00:00Z' WHERE key = OLD.key;
        INSERT INTO {schema}.limit_news (key, kind, urgency, place, run) VALUES (OLD.places[OLD.has + 1], 2, 3 - OLD.priority, place, OLD.key - 4611686018427387904);
      END IF;
      RETURN NULL;
    END IF;
    IF OLD.rates > 0 THEN
      INSERT INTO {schema}.limit_news (key, kind) SELECT OLD.places[i], 0 FROM generate_series(needs - OLD.rates + 1, needs) i WHERE OLD.places[i] IS NOT NULL;
      NEW.has := greatest(needs - OLD.rates, 0);
    END IF;
  ELSIF OLD.worker IS NOT NULL AND NEW.worker IS NULL AND (NEW.failures <> OLD.failures OR NEW.abandoned <> OLD.abandoned) THEN
    INSERT INTO {schema}.limit_news (key, kind) SELECT OLD.places[i], 0 FROM generate_series(1, OLD.has) i WHERE OLD.places[i] IS NOT NULL;
    NEW.has := 0;
  ELSIF OLD.parked_at = NEW.parked_at THEN
    NEW.visible_at := OLD.visible_at;
  END IF;
  RETURN NEW;
END $places$;
CREATE TRIGGER task_changes BEFORE UPDATE ON {schema}.tasks FOR EACH ROW WHEN (OLD.places IS NOT NULL) EXECUTE FUNCTION {schema}.task_places();
CREATE TRIGGER task_ends AFTER DELETE ON {schema}.tasks FOR EACH ROW WHEN (OLD.places IS NOT NULL) EXECUTE FUNCTION {schema}.task_places();

-- A program that knows nothing of limits of tasks takes a task in line for a run that is gone, where it admits. It stays in line, and is
-- looked at again.
CREATE FUNCTION {schema}.task_stays() RETURNS trigger LANGUAGE plpgsql AS $stays$
BEGIN
  IF NOT EXISTS (SELECT FROM {schema}.tasks t WHERE t.key = OLD.run + 4611686018427387904 AND t.places IS NOT NULL AND t.worker + 0 IS NULL AND t.parked_at = OLD.place AND t.places[t.has + 1] = OLD.key) THEN
    RETURN OLD;
  END IF;
  IF TG_OP = 'DELETE' AND TG_TABLE_NAME = 'limit_line' THEN
    RETURN NULL;
  END IF;
  IF NOT EXISTS (SELECT FROM {schema}.limit_line l WHERE l.key = OLD.key AND l.urgency = OLD.urgency AND l.place = OLD.place AND l.run = OLD.run) THEN
    INSERT INTO {schema}.limit_line (key, urgency, place, run) VALUES (OLD.key, OLD.urgency, OLD.place, OLD.run);
    INSERT INTO {schema}.limit_news (key, kind) VALUES (OLD.key, 1);
  END IF;
  RETURN OLD;
END $stays$;
CREATE TRIGGER task_in_line BEFORE DELETE ON {schema}.limit_line FOR EACH ROW WHEN (OLD.run < 0) EXECUTE FUNCTION {schema}.task_stays();
CREATE TRIGGER task_in_news BEFORE DELETE ON {schema}.limit_news FOR EACH ROW WHEN (OLD.run < 0) EXECUTE FUNCTION {schema}.task_stays();

REVOKE ALL ON FUNCTION {schema}.task_places(), {schema}.task_stays() FROM PUBLIC;
